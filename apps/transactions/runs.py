# How far a transaction is, and where its calls ran: as a line, as text, and as a figure.
"""`follow` shows the progress of a transaction, `Told` reads its timeline, `text` and `draw` show that.
A timeline tells of the last run of each call. So that the figure shows what a killed server was doing,
take a timeline before it is killed, too."""

import collections
import contextlib
import sys
from typing import NamedTuple

import farcall

COLUMNS = 76
# By routine, in the order in which they are met.
COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")


def follow(server, t, part=1.0):
    """Waits until this part of the calls have returned, and says how far they are: in place where
    somebody looks, else at each quarter."""
    shown, looks = -1, sys.stdout.isatty()
    while True:
        (now,) = [one for one in server.transactions() if one.id == t.id]
        quarter = 4 * now.returned // max(1, now.calls)
        if looks or quarter > shown:
            end = "\r" if looks else "\n"
            print(f"  {now.returned:4} of {now.calls} calls have returned", end=end, flush=True)
            shown = quarter
        if now.returned >= part * now.calls:
            break
        # Raises what the first call failed with, if one did.
        with contextlib.suppress(farcall.TimedOut):
            t.wait(timeout=0.05)
    if looks:
        print()


class Run(NamedTuple):
    """One run of a call. Times are seconds since the transaction began."""

    call: int
    routine: str
    server: str
    begun: float
    ended: float
    # It was lost with its server, and there is another run of the same call.
    is_lost: bool
    # It made again what another run had lost.
    is_again: bool


class Told:
    """Where the calls of a transaction ran. `before` is the timeline that was taken just before
    `killed`, a server's address, was killed; `names` says what servers are called."""

    def __init__(self, timeline, before=(), killed=None, names=None):
        times = [one for row in before for one in (row.opened, row.begun, row.ended) if one]
        self.killed_at = max(times, default=0.0) if killed else None
        opened = {row.call: row.attempts for row in timeline}
        lost = [
            row for row in before if row.server == killed and opened[row.call] > row.attempts > 0
        ]
        # Also those that began there after `before`.
        again = {row.call for row in timeline if row.attempts > 1}
        self.names = dict(names or {})
        self.killed = self._name(killed) if killed else None
        self.runs = [
            Run(
                row.call, row.routine, self.killed, row.begun,
                self.killed_at if row.ended is None else row.ended, True, False,
            )
            for row in lost
            if row.begun is not None
        ]  # fmt: skip
        self.runs += [
            Run(
                row.call, row.routine, self._name(row.server), row.begun, row.ended,
                False, row.call in again,
            )
            for row in timeline
            if row.state == "returned"
        ]  # fmt: skip
        self.runs.sort(key=lambda run: run.begun)
        self.runs += self._cut_off(lost)
        self.calls, self.lost, self.again = len(timeline), len(lost), len(again)

    def _cut_off(self, lost):
        """Runs that had not ended. A server says only at its end when a call began: as many as ran there
        at a time are taken to have begun, those first that were opened first, when the ones before
        them ended."""
        lanes = self.lanes().get(self.killed, [])
        began = sorted((row for row in lost if row.begun is None), key=lambda row: row.opened)
        return [
            Run(row.call, row.routine, self.killed, lane[-1].ended, self.killed_at, True, False)
            for lane, row in zip(lanes, began)
        ]

    def _name(self, address):
        return self.names.setdefault(address, f"server {1 + len(self.names)}")

    def routines(self):
        """By name, since which of them begins first differs from run to run."""
        return sorted({run.routine for run in self.runs})

    def lanes(self):
        """By server: lanes of runs that do not overlap in time."""
        found = collections.defaultdict(list)
        for run in self.runs:
            free = found[run.server]
            lane = next((one for one in free if one[-1].ended <= run.begun), None)
            if lane is None:
                free.append([run])
            else:
                lane.append(run)
        return dict(sorted(found.items()))

    def last(self):
        return max((run.ended for run in self.runs), default=0.0)


def text(told):
    """A line for each call that a server runs at a time. A letter stands for a routine, a small one
    for what was lost with its server; X is where the server was killed."""
    scale = (COLUMNS - 1) / (told.last() or 1.0)
    letters = {one: one.rpartition("/")[2][0].upper() for one in told.routines()}
    width = max(map(len, told.names.values()), default=0)
    lines = []
    for server, lanes in told.lanes().items():
        for number, lane in enumerate(lanes):
            cells = [" "] * (COLUMNS + 1)
            for run in lane:
                letter = letters[run.routine]
                first, last = int(run.begun * scale), int(run.ended * scale)
                for at in range(first, max(first + 1, last)):
                    cells[at] = letter.lower() if run.is_lost else letter
            if server == told.killed:
                cells[int(told.killed_at * scale)] = "X"
            name = server if number == 0 else ""
            lines.append(f"  {name:{width}} |{''.join(cells).rstrip()}")
    clock = f"{told.last():.2f} s"
    lines.append(f"  {'':{width}} 0 s{clock:>{COLUMNS - 2}}")
    named = ", ".join(f"{letter} {routine}" for routine, letter in letters.items())
    lost = "; x (small): lost with its server; X: it was killed" if told.killed else ""
    return "\n".join([*lines, f"  {named}{lost}"]) + "\n"


def draw(parts, path):
    """A figure of several transactions, (title, Told): a bar for each run, in the row of its
    server. Needs Matplotlib; the name of the file says which kind it is."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(11, 0.5 + 3.0 * len(parts)))
    for at, (title, told) in enumerate(parts):
        axes = figure.add_subplot(len(parts), 1, 1 + at)
        colors = dict(zip(told.routines(), COLORS * len(told.routines())))
        lanes = told.lanes()
        rows = list(reversed(lanes))
        for server, found in lanes.items():
            for number, lane in enumerate(found):
                y = rows.index(server) - 0.4 + 0.8 * (number + 0.5) / len(found)
                for run in lane:
                    _bar(axes, run, y, 0.7 / len(found), colors[run.routine])
        if told.killed:
            axes.axvline(told.killed_at, color="black", linestyle="--")
            axes.annotate(f"{told.killed} is killed", (told.killed_at, len(rows) - 0.45))
        axes.set(yticks=range(len(rows)), yticklabels=rows, xlabel="seconds", title=title)
        handles = [Patch(color=color, label=name) for name, color in colors.items()]
        if told.killed:
            handles.append(
                Patch(facecolor="white", edgecolor="black", hatch="///", label="lost with it")
            )
            handles.append(Patch(facecolor="white", edgecolor="black", label="ran again"))
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _bar(axes, run, y, height, color):
    axes.barh(
        y,
        run.ended - run.begun,
        height,
        run.begun,
        color="white" if run.is_lost else color,
        edgecolor=color if run.is_lost else "black" if run.is_again else "white",
        hatch="///" if run.is_lost else None,
        linewidth=1.2 if run.is_again else 0.5,
    )
