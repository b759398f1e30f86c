#!/usr/bin/env python3
"""Grid Engine, PBS and LSF that lie: qsub, qstat, bjobs and so on, each a link to this file.

$FAKE_SYSTEM is gridengine, pbs or lsf, $FAKE_BATCH its folder. `faults` in it has a line for each
thing that goes wrong, taken from the top: `COMMAND FAULT [TIMES]`. A command looks at the first line
with its name; it is gone when it has happened TIMES times (1).

    fail       exit status 1, and `words` of the fault's line: `qsub fail 1 no suitable queues`
    garbage    prints what no batch system prints, exit status 0
    hang       never ends; one that submits does so first
    late       fails as if nobody answered in time, but a job is submitted all the same
    lost       shows no job

Jobs start at once, on as many nodes of two slots as they need, unless `waits` is there, which holds
the reason. `JOB.state` holds how a job is, and can be written by a test: `waits REASON`, `runs`,
`stuck REASON`, `over STATUS`, `cancelled`, `timed-out`.
"""

import contextlib
import fcntl
import fnmatch
import os
import pathlib
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(os.environ["FAKE_BATCH"])
SYSTEM = os.environ["FAKE_SYSTEM"]
SLOTS = 2
# What makes a job's whole id of its number.
SUFFIX = ".fake" if SYSTEM == "pbs" else ""
ENDS = ("over", "cancelled", "timed-out")


def fault(command):
    """What goes wrong with this command now, and in which words; the line is used up."""
    file = FOLDER / "faults"
    if not file.exists():
        return None, ""
    with file.open("r+") as lines:
        fcntl.flock(lines, fcntl.LOCK_EX)
        kept = lines.read().splitlines()
        for index, line in enumerate(kept):
            name, what, *rest = line.split(maxsplit=3)
            if name == command:
                left = int(rest[0]) - 1 if rest else 0
                words = rest[1] if len(rest) > 1 else "cannot reach the master"
                kept[index : index + 1] = [f"{name} {what} {left} {words}"] if left else []
                lines.seek(0)
                lines.truncate()
                lines.write("".join(one + "\n" for one in kept))
                return what, words
    return None, ""


def state(job):
    """A word and what is behind it."""
    try:
        word, _, rest = (FOLDER / f"{job}.state").read_text().strip().partition(" ")
    except OSError:
        word, rest = "waits", ""
    return word, rest


def say_state(job, text):
    """In one step: a reader sees the old or the new."""
    new = FOLDER / f"{job}.new{os.getpid()}"
    new.write_text(text)
    new.rename(FOLDER / f"{job}.state")


def known(what):
    """Jobs by number: their names, and the number that a variable brings."""
    if what == "lost":
        return {}
    files = sorted(FOLDER.glob("*.job"), key=lambda file: int(file.stem))
    return {int(file.stem): file.read_text().splitlines()[:2] for file in files}


def options(flags, valued):
    """The options of a command that knows these, and its other words."""
    found, rest, words = {}, [], iter(sys.argv[1:])
    for word in words:
        if word in valued:
            found.setdefault(word, []).append(next(words))
        elif word in flags:
            found[word] = []
        elif word.startswith("-"):
            sys.exit(f"{sys.argv[0]}: no such option: {word}")
        else:
            rest.append(word)
    return found, rest


def submit(what, name, slots, variable="", is_named=True):
    """Starts a job that reads its script here: its number."""
    if not is_named:
        sys.exit("a job without a name cannot be found again")
    script = sys.stdin.read()
    with (FOLDER / "count").open("a+") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.write("x")
        count.flush()
        job = count.tell()
        (FOLDER / f"{job}.script").write_text(script)
        (FOLDER / f"{job}.written").write_text(f"{name}\n{variable}\n")
        (FOLDER / f"{job}.written").rename(FOLDER / f"{job}.job")
    if os.fork() == 0:
        os.setsid()
        quiet = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        run(job, slots)
    if what == "hang":
        time.sleep(1000)
    if what == "late":
        sys.exit("the request timed out")
    return job


def surroundings(job, slots):
    """What the script finds of its nodes."""
    nodes = [(f"n{at + 1}", min(SLOTS, slots - at * SLOTS)) for at in range(-(-slots // SLOTS))]
    file = FOLDER / f"{job}.nodes"
    if SYSTEM == "gridengine":
        lines = [f"{host} {count} main.q@{host} UNDEFINED\n" for host, count in nodes]
        file.write_text("".join(lines))
        return {"PE_HOSTFILE": str(file), "JOB_ID": str(job)}
    if SYSTEM == "pbs":
        file.write_text("".join(f"{host}\n" * count for host, count in nodes))
        return {"PBS_NODEFILE": str(file), "PBS_JOBID": f"{job}{SUFFIX}"}
    hosts = " ".join(f"{host} {count}" for host, count in nodes)
    return {"LSB_MCPU_HOSTS": hosts, "LSB_JOBID": str(job)}


def run(job, slots):
    """The node's part: runs the script, and writes down how it ended."""
    if (FOLDER / "waits").exists():
        say_state(job, f"waits {(FOLDER / 'waits').read_text().strip()}")
    while (FOLDER / "waits").exists() and state(job)[0] == "waits":
        time.sleep(0.05)
    if state(job)[0] != "waits":
        os._exit(0)
    process = subprocess.Popen(
        ["/bin/sh", FOLDER / f"{job}.script"],
        env={**os.environ, **surroundings(job, slots)},
        start_new_session=True,
    )
    (FOLDER / f"{job}.group").write_text(str(process.pid))
    say_state(job, "runs")
    status = process.wait()
    if state(job)[0] not in ENDS:
        say_state(job, f"over {128 - status if status < 0 else status}")
    os._exit(0)


def end(job):
    """Cancels one; whether there was anything to cancel."""
    if state(job)[0] in ENDS:
        return False
    say_state(job, "cancelled")
    with contextlib.suppress(OSError):
        os.killpg(int((FOLDER / f"{job}.group").read_text()), signal.SIGKILL)
    return True


def ran(job):
    return (FOLDER / f"{job}.group").exists()


class GridEngine:
    def qsub(self, what):
        given, rest = options(
            ["-terse", "-V"],
            ["-N", "-S", "-r", "-w", "-j", "-o", "-e", "-pe", "-l", "-q", "-P", "-ac"],
        )
        # An environment has a name and a number of slots.
        slots = int(rest.pop()) if "-pe" in given else 1
        if rest or given["-w"] != ["e"] or given["-r"] != ["n"]:
            sys.exit(f"qsub: Unknown option {rest}")
        job = submit(what, given["-N"][0], slots)
        print("Your job has been welcomed" if what == "garbage" else job)

    def qstat(self, what):
        given, rest = options(["-xml", "-r"], ["-u", "-j", "-s"])
        jobs = {job: one for job, one in known(what).items() if state(job)[0] not in ENDS}
        if "-j" in given:
            return self.tell(jobs, given["-j"][0])
        if "-r" in given:
            for job, (name, _) in jobs.items():
                if state(job)[0] in ("waits", "stuck"):
                    print(f"{job:7} 0.5 {name[:10]} me qw 11/26/2026 18:17:23\n")
                    print(f"       Full jobname:     {name}")
            return None
        if "-xml" not in given:
            return None
        print("<?xml version='1.0'?>\n<job_info>\n  <queue_info>")
        for job, (name, _) in jobs.items():
            letters = {"waits": "qw", "runs": "r", "stuck": "Eqw"}.get(state(job)[0], "")
            print(
                f'<job_list state="x">\n<JB_job_number>{job}</JB_job_number>\n'
                f"<JB_name>{name}</JB_name>\n<state>{letters}</state>\n</job_list>"
            )
        return print("  </queue_info>\n</job_info>")

    def tell(self, jobs, wanted):
        found = [
            job
            for job, (name, _) in jobs.items()
            if str(job) == wanted or fnmatch.fnmatch(name, wanted)
        ]
        if not found:
            sys.exit(f"Following jobs do not exist: \n{wanted}")
        for job in found:
            word, reason = state(job)
            print(f"==========\njob_number:                 {job}")
            if word == "stuck":
                print(f"error reason          1:      {reason}")
            print(f"scheduling info:            {reason}")

    def qdel(self, what):
        _, rest = options([], [])
        ended = [
            job
            for job, (name, _) in known(what).items()
            for wanted in rest
            if (str(job) == wanted or fnmatch.fnmatch(name, wanted)) and end(job)
        ]
        if not ended:
            sys.exit(f"The job {rest[0]} of user(s) me does not exist")

    def qacct(self, what):
        given, _ = options([], ["-j"])
        job = given["-j"][0]
        word, status = state(job)
        if what == "lost" or word not in ENDS or not ran(job):
            sys.exit(f"error: job id {job} not found")
        ends = {"cancelled": "100 : assumedly after job", "timed-out": "37  : limit"}
        failed = ends.get(word, "0")
        print(f"jobnumber    {job}\nfailed       {failed}\nexit_status  {status or 137}")

    def qrsh(self, _):
        assert sys.argv[1:3] == ["-inherit", "-nostdin"] and len(sys.argv) == 5, sys.argv
        remote(["/bin/sh", "-c", sys.argv[4]])


class Pbs:
    def qsub(self, what):
        given, rest = options(["-V"], ["-N", "-S", "-r", "-j", "-o", "-v", "-l", "-q", "-A"])
        name = given["-N"][0]
        if rest or len(name) > 15 or not name[0].isalpha():
            sys.exit(f"qsub: illegal -N value {name} {rest}")
        select = next(wish for wish in given["-l"] if wish.startswith("select="))
        chunks, processors = select.removeprefix("select=").split(":")[:2]
        slots = int(chunks) * int(processors.removeprefix("ncpus="))
        job = submit(what, name, slots, given["-v"][0])
        print("Your job has been welcomed" if what == "garbage" else f"{job}{SUFFIX}")

    def qselect(self, what):
        given, rest = options(["-x"], ["-N", "-s"])
        assert not rest, rest
        for job, (name, _) in known(what).items():
            word = state(job)[0]
            is_meant = "-x" in given or word not in ENDS
            if "-s" in given:
                is_meant = word == "waits"
            if is_meant and name == given["-N"][0]:
                print(f"{job}{SUFFIX}")

    def qstat(self, what):
        _, rest = options(["-x", "-f"], [])
        jobs = known(what)
        for whole in rest:
            job = int(whole.removesuffix(SUFFIX))
            if job not in jobs:
                sys.exit(f"qstat: Unknown Job Id {whole}")
            word, more = state(job)
            letter = {"waits": "Q", "runs": "R", "stuck": "H"}.get(word, "F")
            lines = [f"Job_Name = {jobs[job][0]}", f"job_state = {letter}"]
            lines += [f"Variable_List = PBS_O_HOME=/home/me,\n\t{jobs[job][1]}"]
            lines += {
                "waits": [f"comment = Not Running: {more}"] if more else [],
                "over": [f"Exit_status = {more}", "substate = 92"],
                "cancelled": ["Exit_status = 265", "substate = 91"],
                "timed-out": [
                    "Exit_status = 271",
                    "resources_used.walltime = 00:01:03",
                    "Resource_List.walltime = 00:01:00",
                ],
            }.get(word, [])
            print(f"Job Id: {whole}\n    " + "\n    ".join(lines) + "\n")

    def qdel(self, what):
        _, rest = options([], [])
        ended = [end(int(whole.removesuffix(SUFFIX))) for whole in rest if known(what)]
        if not all(ended):
            sys.exit("qdel: Job has finished")

    def pbs_tmrsh(self, _):
        remote(sys.argv[2:])


class Lsf:
    def bsub(self, what):
        valued = ["-J", "-n", "-o", "-e", "-R", "-gpu", "-M", "-W", "-q", "-P"]
        given, rest = options(["-rn"], valued)
        assert not rest, rest
        job = submit(what, given["-J"][0], int(given["-n"][0]))
        print("welcome" if what == "garbage" else f"Job <{job}> is submitted to queue <normal>.")

    def found(self, what, given, rest):
        return [
            job
            for job, (name, _) in known(what).items()
            if str(job) in rest or ("-J" in given and fnmatch.fnmatch(name, given["-J"][0]))
        ]

    def bjobs(self, what):
        given, rest = options(["-a", "-p", "-noheader"], ["-J", "-o"])
        found = self.found(what, given, rest)
        if "-p" in given:
            found = [job for job in found if state(job)[0] == "waits"]
        if not found:
            print("No matching job found", file=sys.stderr)
            sys.exit(255)
        for job in found:
            word, more = state(job)
            name = known(what)[job][0]
            stat, code, why, pends = {
                "waits": ("PEND", "-", "-", f"{more};" if more else "-"),
                "runs": ("RUN", "-", "-", "-"),
                "stuck": ("PSUSP", "-", "-", more),
                "over": ("DONE", "-", "-", "-") if more == "0" else ("EXIT", more, "-", "-"),
                "cancelled": ("EXIT", "130", "TERM_OWNER: job killed by owner", "-"),
                "timed-out": ("EXIT", "140", "TERM_RUNLIMIT: job killed after its limit", "-"),
            }.get(word, ("UNKWN", "-", "-", "-"))
            is_short = given["-o"] == ["jobid"]
            print(job if is_short else f"{job}|{stat}|{name}|{code}|{why}|{pends}")

    def bkill(self, what):
        given, rest = options([], ["-J", "-stat"])
        found = self.found(what, given, rest)
        if "-stat" in given:
            found = [job for job in found if state(job)[0] == "waits"]
        if not [job for job in found if end(job)]:
            print("No matching job found", file=sys.stderr)
            sys.exit(255)

    def bhist(self, what):
        _, rest = options(["-l"], ["-n"])
        word, status = state(rest[-1])
        if what == "lost" or word != "over":
            print("No matching job found", file=sys.stderr)
            sys.exit(255)
        print(
            "Tue Jan  1: Done successfully."
            if status == "0"
            else f"Tue Jan  1: Exited with exit code\n            {status}."
        )

    def blaunch(self, _):
        assert sys.argv[1] == "-no-shell", sys.argv
        remote(sys.argv[3:])


def remote(words):
    """Runs something on another node; it ends with the job."""
    sys.exit(subprocess.run(words, stdin=subprocess.DEVNULL).returncode)


def main():
    """Each command is logged with what went wrong, for those who look for the reason of a
    failure."""
    command = pathlib.Path(sys.argv[0]).name
    submits = command in ("qsub", "bsub")
    what, words = fault(command)
    with (FOLDER / "log").open("a") as log:
        log.write(f"{command} {what} {sys.argv[1:]}\n")
    if what == "fail":
        sys.exit(words)
    if what == "garbage" and not submits:
        return print("Segmentation fault\n\x07\x1b[2J{}\n7|8")
    if what == "hang" and not submits:
        time.sleep(1000)
    system = {"gridengine": GridEngine, "pbs": Pbs, "lsf": Lsf}[SYSTEM]()
    return getattr(system, command)(what)


if __name__ == "__main__":
    main()
