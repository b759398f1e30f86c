# Clients of the Ninf paper's model (section 4.1): each calls a routine again and again, after every
# interval with some probability.
"""Usage: callers.py ADDRESS SETTINGS

SETTINGS is JSON: `routine` ("lapack/dgesv", "ep/ep", or one with the arguments of dgesv), `n`,
`clients`, `calls` of all of them together, `interval_s`, `probability`, `seed`. Each client has its
own connection and thread. Prints one line of JSON for each call, in the order of their ends: what
the client's clock said at its submission and completion, what the server says of it, and where it
ran; or its error.
"""

import itertools
import json
import random
import sys
import threading
import time

import equations
import farcall


class Crowd:
    """All clients, and what came of their calls."""

    def __init__(self, address, settings):
        self.address, self.settings = address, settings
        self.lock = threading.Lock()
        self.numbers = itertools.count()
        self.begun = threading.Barrier(settings["clients"])

    def client(self, number):
        chance = random.Random(f"{self.settings['seed']} {number}")
        with farcall.connect(self.address) as server:
            routine = server[self.settings["routine"]]
            arguments = self.arguments()
            routine(*arguments)
            self.begun.wait()
            while next(self.numbers) < self.settings["calls"]:
                time.sleep(self.settings["interval_s"])
                while chance.random() >= self.settings["probability"]:
                    time.sleep(self.settings["interval_s"])
                self.call(number, routine, arguments)

    def arguments(self):
        n = self.settings["n"]
        if self.settings["routine"].endswith("/ep"):
            return (n,)
        return equations.make(n)

    def call(self, number, routine, arguments):
        told = {"client": number, "submit": time.monotonic()}
        try:
            result = routine(*arguments)
            told["server"] = getattr(result, "server", self.address)
            times = result.times
            told.update(queued=times.queued, started=times.started, finished=times.finished)
        except farcall.Error as error:
            told["error"] = str(error)
        told["complete"] = time.monotonic()
        with self.lock:
            print(json.dumps(told), flush=True)


def main():
    settings = json.loads(sys.argv[2])
    crowd = Crowd(sys.argv[1], settings)
    threads = [
        threading.Thread(target=crowd.client, args=(number,), daemon=True)
        for number in range(settings["clients"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
