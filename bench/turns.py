# Takes turns between programs, and makes of their times ratios with nulls and intervals.
"""Every round runs the anchor (the raw program) and then all others once; the anchor runs once more
at the end. So each run of another program lies between two of the anchor, and its ratio is the mean
of the two over it. The null is the same figure for the anchor itself: a run in the middle against
the means of its neighbours. It is what the machine's noise alone gives: where a figure's interval
does not leave the null's, nothing was shown."""

import statistics
from pathlib import Path
from typing import NamedTuple

# Runs before the first that counts: memory is touched, executables are started, links have learnt
# their speed.
WARM = 2


class Figure(NamedTuple):
    """A median, and the interval in which the middle half of the rounds lie."""

    median: float
    low: float
    high: float


def figure(values):
    if len(values) == 1:
        return Figure(values[0], values[0], values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(statistics.median(values), low, high)


class Turns:
    """What the rounds gave: one value more of the anchor than of the others."""

    def __init__(self, rounds, anchor, others, warm=WARM):
        # Where hardly anything is measured, hardly anything needs to be warm.
        for _ in range(min(warm, rounds - 1)):
            for one in (anchor, *others.values()):
                one()
        self.anchors, self.values = [anchor()], {name: [] for name in others}
        for _ in range(rounds):
            for name, one in others.items():
                self.values[name].append(one())
            self.anchors.append(anchor())

    def around(self):
        """The anchor at the time of each round."""
        return [(before + after) / 2 for before, after in zip(self.anchors, self.anchors[1:])]

    def over_anchor(self, name):
        """Each round's value over the anchor's."""
        return figure([value / anchor for value, anchor in zip(self.values[name], self.around())])

    def anchor_over(self, name):
        """The anchor's over each round's value: a speed, where the values are times."""
        return figure([anchor / value for value, anchor in zip(self.values[name], self.around())])

    def ratio(self, name, other):
        """One over another in the same round."""
        return figure(
            [mine / theirs for mine, theirs in zip(self.values[name], self.values[other])]
        )

    def anchor(self):
        return figure(self.anchors)

    def absolute(self, name, unit=1.0):
        return figure([value * unit for value in self.values[name]])

    def null(self):
        triples = zip(self.anchors, self.anchors[1:], self.anchors[2:])
        return figure([(before + after) / 2 / middle for before, middle, after in triples])


def counts_cpu():
    """Whether the kernel does so; some are built without."""
    return Path("/proc/self/schedstat").exists()


def cpu_seconds(*children):
    """Time on a processor of these programs and all that came from them. The kernel counts it in
    nanoseconds here, and in hundredths of a second in /proc/PID/stat."""
    total = 0
    for child in children:
        for pid in child.pids():
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    total += int(task.read_text().split()[0])
                except OSError:
                    pass
    return total / 1e9


def cpu_of(action, *children):
    """A function that does this and gives the processor time that it took these programs."""

    def measured():
        before = cpu_seconds(*children)
        action()
        return cpu_seconds(*children) - before

    return measured


def heading():
    print(f"{'':<80} {'figure':>7} {'middle half':>15} {'null':>6} {'middle half':>13}  wanted")


def row(text, value, null, want):
    """One line of the table."""
    noise = f"{null.median:6.2f} {interval(null):>13}" if null else f"{'–':>6} {'':>13}"
    print(
        f"{text:<80} {value.median:7.2f} {interval(value):>15} {noise}  {want}".rstrip(), flush=True
    )


def interval(value):
    return f"[{value.low:.2f} {value.high:.2f}]"
