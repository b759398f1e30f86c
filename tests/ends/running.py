"""What the tests of ends share: servers of their own, commands with the time that they take, and
what is late tried again."""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STAGE = pathlib.Path(os.environ.get("FARCALL_STAGE", ROOT / "build"))
FARCALL = str(STAGE / "bin/farcall")
IDL = str(HERE / "ends.idl")
# The time limit that everything is given, and what it may take beyond that.
LIMIT, GRACE = 2.0, 1.0
SINK_LIMIT = 1.0
# Tries for what is late, each alone.
TRIES = 3
# More than so many, with so many at a time, are no accident.
LATE_MAX = 8
# Entries at a time.
SIDE_BY_SIDE = 48
# Seconds after which something hangs, or a server must have come up.
HANGS, COMES = 10, 60
ID = "00112233445566778899aabbccddeeff"


def environment(folder, **more):
    """A user of its own: no server, no configuration."""
    known = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("FARCALL_", "XDG_", "SSH_"))
    }
    for name in ("home", "run", "state", "cache", "config"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    known.update(HOME=str(folder / "home"), FARCALL_STAGE=str(STAGE), TERM="xterm")
    known.update(
        {f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("state", "cache", "config")}
    )
    known.update(XDG_RUNTIME_DIR=str(folder / "run"), TMPDIR=str(folder))
    known["LD_LIBRARY_PATH"] = str(STAGE / "lib")
    known.update(more)
    return known


class Server:
    """A server of this test's own."""

    def __init__(self, folder, *arguments, outputs=None, files=(IDL,), **more):
        self.path = str(folder / "s.sock")
        self.environment = environment(folder, **more)
        out = outputs or (folder / "out").open("wb")
        errors = outputs or (folder / "err").open("wb")
        command = [FARCALL, "serve", "--listen", f"unix:{self.path}", *arguments, *files]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )

    def await_start(self):
        """Waits until it serves."""
        end = time.monotonic() + COMES
        while time.monotonic() < end and self.process.poll() is None:
            if (
                subprocess.run(
                    [FARCALL, "ls", "--server", f"unix:{self.path}"],
                    capture_output=True,
                    env=self.environment,
                ).returncode
                == 0
            ):
                return self
            time.sleep(0.05)
        raise AssertionError(f"no server: {self.process.poll()}")

    def end(self):
        """Ends it, whatever it does."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
        self.process.wait(10)

    def ends_within(self, seconds):
        """Seconds until it has ended by itself; None if it does not."""
        begin = time.monotonic()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - begin


def check_all(entries, attempt, limit=LIMIT):
    """Tries all entries, named by the keys of a dictionary, side by side. `attempt` gives seconds
    and how each ended. What is late is tried again with fewer beside it, and at last alone: where
    other programs compute, so many at a time are late together."""
    outcomes = tried(entries, attempt, SIDE_BY_SIDE)
    late = late_of(outcomes, limit)
    if len(late) > LATE_MAX:
        outcomes |= tried({name: entries[name] for name in late}, attempt, LATE_MAX)
        late = late_of(outcomes, limit)
    for _ in range(TRIES - 1 if len(late) <= LATE_MAX else 0):
        outcomes |= tried({name: entries[name] for name in late}, attempt, 1)
        late = late_of(outcomes, limit)
    words = "\n".join(
        f"  {name}: {seconds and round(seconds, 2)} s: {ended}"
        for name, (seconds, ended) in sorted(late.items())
    )
    assert not late, f"later than {limit + GRACE} s:\n{words}"
    return outcomes


def tried(entries, attempt, side_by_side):
    """What came of these, so many at a time."""
    with concurrent.futures.ThreadPoolExecutor(side_by_side) as threads:
        return dict(zip(entries, threads.map(attempt, entries.values())))


def late_of(outcomes, limit):
    """Those that took longer than this and some grace, or hang."""
    return {
        name: (seconds, ended)
        for name, (seconds, ended) in outcomes.items()
        if seconds is None or seconds > limit + GRACE
    }


def timed(command, known, stdin=subprocess.DEVNULL, folder=None, outputs=None):
    """Seconds that a command takes, and how it ended; None for one that hangs. All that it started
    ends with it."""
    out = outputs if outputs is not None else subprocess.PIPE
    begin = time.monotonic()
    process = subprocess.Popen(
        command, env=known, cwd=folder, stdin=stdin, stdout=out, stderr=out, start_new_session=True
    )
    try:
        if outputs is None:
            said = b"".join(process.communicate(timeout=HANGS))
        else:
            said = process.wait(HANGS) and b""
        seconds = time.monotonic() - begin
    except subprocess.TimeoutExpired:
        seconds, said = None, b"it hangs"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return seconds, f"{process.returncode} {(said or b'').decode(errors='replace')[-1200:]}"
