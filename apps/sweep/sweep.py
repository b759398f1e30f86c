"""The parameter sweep of Ninf-G2 (section 4.3) from Python: `sweep.py [--calls N] [--handles N]
[--server ADDRESS] …`.

An array of handles is N processes on the server that one request starts. Each is given a call, and
the next one when its result is there. What is lost with a process or with the server is called
again, if the routine may run twice; every other failure is reported.
"""

import argparse
import collections
import math
import queue
import sys
import time

import farcall
import numpy as np

PARAMETERS, FIELDS = 448, 51200
# Parameters are multiples of 1 / STEPS, so that sums are exact.
STEPS = 512
WHOLE = FIELDS - FIELDS % PARAMETERS
# What each result must be, less what its parameters add; and room for the difference.
COUNT, REST = np.arange(FIELDS, dtype=float), np.empty(FIELDS)
TRIES_MAX = 4
RETRY_S = 0.5
WIDTH = 40


class Bar:
    """How far it is, on a terminal, ten times a second."""

    def __init__(self, total, is_shown):
        self.total, self.is_shown, self.begin, self.last = total, is_shown, time.monotonic(), 0.0

    def show(self, ended, running, is_end=False):
        now = time.monotonic()
        if self.is_shown and (is_end or now - self.last >= 0.1):
            self.last = now
            filled = ended * WIDTH // max(self.total, 1)
            line = (
                f"\r[{'#' * filled}{'-' * (WIDTH - filled)}] {ended} of {self.total}, {running} "
                f"running, {now - self.begin:.1f} s "
            )
            print(line, end="\n" if is_end else "", file=sys.stderr, flush=True)


def is_right(fields, parameters):
    """Whether element k is parameters[k % PARAMETERS] + k, for all k."""
    np.subtract(fields, COUNT, out=REST)
    return bool(
        (REST[:WHOLE].reshape(-1, PARAMETERS) == parameters).all()
        and (REST[WHOLE:] == parameters[: FIELDS - WHOLE]).all()
    )


class Sweep:
    """Calls 0 to `calls` - 1, each at most TRIES_MAX times."""

    def __init__(self, options):
        self.options = options
        self.routine = "sweep/simulate_once" if options.once else "sweep/simulate"
        self.waiting = collections.deque(range(options.calls))
        self.tries = collections.Counter()
        self.ended = queue.SimpleQueue()
        self.server, self.held, self.idle, self.missing = None, [], [], options.handles
        self.failed = {}
        self.done = self.running = self.repeated = self.lost = 0

    def hold(self, wait):
        """Has the server hold the processes that are missing, in one request."""
        if self.server is None:
            self.server = farcall.connect(self.options.server)
        held = self.server[self.routine].hold(self.missing, wait=wait)
        self.idle += held
        self.held.append(held)
        self.missing = 0

    def close(self):
        """Ends all processes, and waits until they have ended."""
        for held in self.held if self.server else ():
            held.close()

    def give_up(self, server):
        """The server is gone, and its processes with it; nothing is to be done with those that are
        idle."""
        if server is self.server:
            self.server = None
            self.lost += len(self.idle)
            self.missing += len(self.idle)
            self.idle.clear()
            self.held.clear()
            server.close()

    def start(self):
        """Gives an idle process the next call; its end is told by the connection's thread, in
        `ended`."""
        number, handle, server = self.waiting.popleft(), self.idle.pop(), self.server
        parameters = number + np.arange(PARAMETERS) / STEPS
        self.tries[number] += 1
        self.running += 1
        call = handle.submit(self.options.seconds, parameters)
        call.add_done_callback(
            lambda call: self.ended.put((number, handle, server, parameters, call))
        )

    def collect(self):
        """Takes what the next call to end has brought."""
        number, handle, server, parameters, call = self.ended.get()
        self.running -= 1
        error = call.exception()
        if error is not None:
            self.lost += 1
            self.missing += 1
            self.judge(number, error)
            if isinstance(error, ConnectionError):
                self.give_up(server)
        elif is_right(call.result().fields, parameters):
            self.done += 1
            self.idle.append(handle)
        else:
            self.failed[number] = "its result is wrong"
            self.idle.append(handle)

    def judge(self, number, error):
        """What becomes of a call that has ended badly: again, if that can help and does no harm."""
        is_passing = isinstance(
            error,
            (ConnectionError, farcall.RoutineCrashed, farcall.NotFound, farcall.LimitExceeded),
        )
        is_harmless = error.retryable or not self.options.once
        if is_passing and is_harmless and self.tries[number] < TRIES_MAX:
            self.repeated += not error.retryable
            self.waiting.append(number)
        else:
            self.failed[number] = str(error)

    def revive(self):
        """Makes again what was lost. Tries for as long as we are patient, if there is nothing else
        to do."""
        until = time.monotonic() + self.options.patience
        while self.missing:
            try:
                return self.hold(wait=False)
            except farcall.Error as error:
                if isinstance(error, ConnectionError) and self.server is not None:
                    self.give_up(self.server)
                if self.idle or self.running:
                    return None
                if time.monotonic() > until:
                    self.failed.update((number, str(error)) for number in self.waiting)
                    return self.waiting.clear()
                time.sleep(RETRY_S)

    def begin(self):
        """The first processes; a server may still be ending those of the program before."""
        until = time.monotonic() + self.options.patience
        while True:
            try:
                return self.hold(wait=True)
            except farcall.LimitExceeded as error:
                if not error.retryable or time.monotonic() > until:
                    raise
                time.sleep(RETRY_S)

    def run(self, bar):
        """The master's loop: whoever is idle gets a call, whoever ends is looked at, what is lost
        is made again."""
        while self.waiting or self.running:
            while self.idle and self.waiting:
                self.start()
            bar.show(self.done + len(self.failed), self.running)
            if self.running:
                self.collect()
            if self.waiting and self.missing:
                self.revive()
        bar.show(self.done + len(self.failed), 0, is_end=True)


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--calls", type=int, default=1000, help="how many calls (%(default)s)")
    parser.add_argument(
        "--handles", type=int, default=200, help="processes on the server (%(default)s)"
    )
    parser.add_argument(
        "--server", help="unix:PATH, ssh://HOST, tls://HOST:PORT (default: $FARCALL_SERVER)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="how long a simulation takes (%(default)s)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        help="seconds to wait for a server that is gone (%(default)s)",
    )
    parser.add_argument(
        "--once", action="store_true", help="call the routine that must not run twice"
    )
    parser.add_argument("--quiet", action="store_true", help="no bar")
    options = parser.parse_args(arguments)
    if options.calls < 0 or options.handles < 1 or not options.seconds >= 0:
        parser.error("--calls and --seconds are at least 0, --handles is at least 1")
    return options


def main(arguments=None):
    options = read_options(arguments)
    sweep, begin = Sweep(options), time.monotonic()
    sweep.begin()
    ready = time.monotonic()
    sweep.run(Bar(options.calls, sys.stderr.isatty() and not options.quiet))
    end = time.monotonic()
    sweep.close()
    for number, why in sorted(sweep.failed.items()):
        print(f"sweep: call {number} failed: {why}", file=sys.stderr)
    ideal = math.ceil(options.calls / options.handles) * options.seconds
    print(
        f"calls {options.calls} handles {options.handles} done {sweep.done} failed "
        f"{len(sweep.failed)} "
        f"repeated {sweep.repeated} lost-handles {sweep.lost}"
    )
    print(
        f"ready {ready - begin:.3f} s, calls {end - ready:.3f} s, ideal {ideal:.3f} s: efficiency "
        f"{100 * ideal / max(end - ready, 1e-9):.1f} %, with the start of the handles "
        f"{100 * ideal / max(end - begin, 1e-9):.1f} %"
    )
    return bool(sweep.failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except farcall.Error as error:
        sys.exit(f"sweep: {error}")
