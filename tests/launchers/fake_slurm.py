#!/usr/bin/env python3
"""A Slurm that lies: sbatch, squeue, scancel, scontrol, sacct, sacctmgr and srun, each a link to
this file.

$FAKE_SLURM is its folder. `faults` in it has a line for each thing that goes wrong, taken from the
top: `COMMAND FAULT [TIMES]`. A command looks at the first line with its name; it is gone when it
has happened TIMES times (1).

    fail       exit status 1: the controller cannot be reached       late     so, but a job is submitted all the same
    garbage    prints what no Slurm prints, exit status 0            hang     never ends; sbatch submits a job first
    invalid    squeue: fields are INVALID                            lost     squeue: shows no job
    forget     squeue, scontrol, sacct: know no job

Jobs start at once, on as many nodes of two tasks as they need, unless `waits` is there, which holds
the reason. `JOB.state` holds what a job is said to be, and can be written by a test; that a job
ends is written there, too. `partition` is the line of `scontrol show partition`: a job of more
tasks than its TotalCPUs waits for ever, as PartitionConfig.
"""

import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(os.environ["FAKE_SLURM"])
TASKS = 2


def options():
    """Options with a value, and what is none."""
    found, rest = {}, []
    for word in sys.argv[1:]:
        name, is_given, value = word.partition("=")
        if not word.startswith("--") or rest:
            rest.append(word)
        else:
            found[name[2:]] = value if is_given else True
    return found, rest


def fault(command):
    """What goes wrong with this command now; the line is used up."""
    file = FOLDER / "faults"
    if not file.exists():
        return None
    with file.open("r+") as lines:
        fcntl.flock(lines, fcntl.LOCK_EX)
        kept = lines.read().splitlines()
        for index, line in enumerate(kept):
            name, what, *times = line.split()
            if name == command:
                left = int(times[0]) - 1 if times else 0
                kept[index : index + 1] = [f"{name} {what} {left}"] if left else []
                lines.seek(0)
                lines.truncate()
                lines.write("".join(one + "\n" for one in kept))
                return what
    return None


def unreachable():
    """As Slurm says it when its controller is busy or away."""
    sys.exit("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")


def known(what):
    """Jobs by id: what `sbatch` was given, and how they are."""
    if what in ("forget", "lost"):
        return {}
    jobs = {}
    for file in sorted(FOLDER.glob("*.job"), key=lambda file: int(file.stem)):
        name, comment, tasks = file.read_text().split("\n")[:3]
        jobs[file.stem] = {
            "name": name,
            "comment": comment,
            "tasks": int(tasks),
            "state": state(file.stem),
        }
    return jobs


def state(job):
    """`STATE REASON [EXIT CODE]` of a job."""
    try:
        return (FOLDER / f"{job}.state").read_text().strip()
    except OSError:
        return (
            f"PENDING {(FOLDER / 'waits').read_text().strip()}"
            if (FOLDER / "waits").exists()
            else "PENDING None"
        )


def say_state(job, text):
    """In one step: whoever reads sees the old or the new."""
    new = FOLDER / f"{job}.new{os.getpid()}"
    new.write_text(text)
    new.rename(FOLDER / f"{job}.state")


def sbatch(what):
    """Only as the launcher uses it: a script from standard input, and all options in one word
    each."""
    given, rest = options()
    if rest or "job-name" not in given:
        sys.exit(f"sbatch: error: a script file is given: {rest}")
    if what == "fail":
        sys.exit(
            "sbatch: error: Batch job submission failed: Invalid account or account/partition "
            "combination specified"
        )
    script = sys.stdin.read()
    with (FOLDER / "count").open("a+") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.write("x")
        count.flush()
        job = str(count.tell())
        (FOLDER / f"{job}.job.new").write_text(
            f"{given['job-name']}\n{given['comment']}\n{given['ntasks']}\n"
        )
        (FOLDER / f"{job}.job.new").rename(FOLDER / f"{job}.job")
    if os.fork() == 0:
        os.setsid()
        run(job, script, given)
    if what == "hang":
        time.sleep(1000)
    if what == "late":
        sys.exit(
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
        )
    print("lua: welcome" if what == "garbage" else job)


def processors():
    """Of the partition."""
    file = FOLDER / "partition"
    said = re.search(r"TotalCPUs=(\d+)", file.read_text()) if file.exists() else None
    return int(said[1]) if said else sys.maxsize


def run(job, script, given):
    """The node's part: runs the script, and writes down how it ended."""
    for name, place in ((1, "output"), (2, "error")):
        os.dup2(
            os.open(given.get(place, "/dev/null"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            name,
        )
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    if int(given["ntasks"]) > processors():
        say_state(job, "PENDING PartitionConfig")
    while ((FOLDER / "waits").exists() or int(given["ntasks"]) > processors()) and state(
        job
    ).startswith("PENDING"):
        time.sleep(0.05)
    if state(job).startswith("CANCELLED"):
        os._exit(0)
    tasks, nodes = int(given["ntasks"]), -(-int(given["ntasks"]) // TASKS)
    layout = (
        f"{TASKS}(x{nodes})"
        if tasks % TASKS == 0
        else f"{TASKS}(x{nodes - 1}),{tasks % TASKS}"
        if nodes > 1
        else f"{tasks}"
    )
    variables = {
        "SLURM_JOB_ID": job,
        "SLURM_NTASKS": str(tasks),
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_TASKS_PER_NODE": layout,
        "SLURM_JOB_ACCOUNT": given.get("account", "nobody"),
        "SLURM_JOB_PARTITION": given.get("partition", "main"),
    }
    # All tasks of a node see its GPUs; a test may say which these are.
    gpus = int(given.get("gpus-per-task", "0")) * -(-tasks // nodes)
    if gpus and "CUDA_VISIBLE_DEVICES" not in os.environ:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(gpus)))
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        env={**os.environ, **variables},
        start_new_session=True,
        cwd=given.get("chdir") or None,
    )
    (FOLDER / f"{job}.group").write_text(str(process.pid))
    say_state(job, "RUNNING None")
    status = process.wait()
    if not state(job).startswith(("CANCELLED", "PREEMPTED", "TIMEOUT", "NODE_FAIL")):
        say_state(job, f"FAILED NonZeroExitCode {status}:0" if status else "COMPLETED None")
    os._exit(0)


def srun(what):
    """One copy for each node; it gives its own process group to all of them."""
    given, words = options()
    count = int(given.get("nodes", "1"))
    nodes = [int(given.get("relative", "0")) + index for index in range(count)]
    variables = [
        {**os.environ, "SLURM_NODEID": str(node), "SLURMD_NODENAME": f"n{node + 1}"}
        for node in nodes
    ]
    copies = [subprocess.Popen(words, env=one) for one in variables]
    sys.exit(max(copy.wait() for copy in copies))


def squeue(what):
    """With the formats of the launcher alone; any other is a mistake of the launcher."""
    given, _ = options()
    if "steps" in given:
        return
    for job, one in known(what).items():
        if given.get("name", one["name"]) != one["name"]:
            continue
        word, reason = (one["state"].split() + ["None"])[:2]
        cells = (
            [job, word, "1", one["comment"], "N/A", reason]
            if "T" in given["format"]
            else [job, "main"]
        )
        if "T" not in given["format"] and word != "PENDING":
            continue
        print("|".join(["INVALID"] * len(cells) if what == "invalid" and job == "1" else cells))


def scancel(what):
    """By ids, or by the name of all jobs, or of those in one state."""
    given, rest = options()
    states = [given["state"]] if "state" in given else ["PENDING", "RUNNING"]
    for job, one in known(what).items():
        if (job in rest or given.get("name") == one["name"]) and one["state"].split()[0] in states:
            say_state(job, "CANCELLED None")
            if (FOLDER / f"{job}.group").exists():
                os.killpg(int((FOLDER / f"{job}.group").read_text()), signal.SIGKILL)


def scontrol(what):
    """`update` of a comment, `show job`, and `show partition` where a test wrote one down."""
    _, words = options()
    if words == ["show", "partition"]:
        file = FOLDER / "partition"
        return print(file.read_text() if file.exists() else "No partitions in the system")
    if words[0] == "update":
        job = words[1].partition("=")[2]
        name, _, tasks = (FOLDER / f"{job}.job").read_text().split("\n")[:3]
        (FOLDER / f"{job}.job").write_text(f"{name}\n{words[2].partition('=')[2]}\n{tasks}\n")
        return
    job = known(what).get(words[-1]) or sys.exit("slurm_load_jobs error: Invalid job id specified")
    word, reason, code = (job["state"].split() + ["None", "0:0"])[:3]
    print(
        f"JobId={words[-1]} JobName=x JobState={word} Reason={reason} ExitCode={code} "
        "RunTime=00:00:01"
    )


def sacct(what):
    """The site's memory; it has no exit codes here."""
    given, _ = options()
    job = known(what).get(given["jobs"])
    if job:
        print(f"{job['state'].split()[0]}|0:0")


def sacctmgr(what):
    """Nobody keeps accounts here."""
    sys.exit("You are not running a supported accounting_storage plugin")


def main():
    """Each command is logged with what went wrong, for whoever looks for the reason of a
    failure."""
    command = pathlib.Path(sys.argv[0]).name
    if "--version" in sys.argv:
        return print("slurm 22.05.8")
    what = fault(command)
    with (FOLDER / "log").open("a") as log:
        log.write(f"{command} {what} {sys.argv[1:]}\n")
    if what == "garbage" and command != "sbatch":
        return print("Segmentation fault|||\n\x07\x1b[2J{}\n7|8")
    if what == "fail" and command != "sbatch":
        unreachable()
    if what == "hang" and command != "sbatch":
        time.sleep(1000)
    globals()[command](what)


main()
