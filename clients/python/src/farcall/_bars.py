"""Progress as a person sees it: a bar in a notebook's cell, or a line of the terminal that
changes."""

from __future__ import annotations

import html
import os
import shutil
import sys
import time
from typing import Any, Optional

from ._printable import printable_line

# A bar is drawn no more often than this: a terminal on the other side of the world has to follow.
_DRAW_EVERY_SECONDS = 0.05
_BAR_MIN, _BAR_MAX = 10, 40


class Bar:
    """What `progress=True` shows of a call. It says nothing where nobody looks."""

    def __init__(self, routine: str) -> None:
        self._name = routine.rpartition("/")[2]
        self._cell = _cell()
        self._draws = self._cell is not None or is_terminal()
        self._begun = time.monotonic()
        self._drawn_at: Optional[float] = None
        # Columns of the line that stands there now.
        self._columns = 0
        self._last = (0.0, "")

    def __call__(self, progress: Any) -> None:
        """What the server tells of the call."""
        waits = progress.state == "queued" and bool(progress.text)
        # What it waited for is not what it does.
        begins = progress.state == "running" and progress.done is None and self._last[1] != ""
        if not (self._draws and (waits or begins or progress.done is not None)):
            return
        self._last = (progress.done or 0.0, progress.text)
        now = time.monotonic()
        if self._drawn_at is None or now - self._drawn_at >= _DRAW_EVERY_SECONDS:
            self._drawn_at = now
            self._draw()

    def close(self, ended_well: bool) -> None:
        """The call is over: what stands there stays."""
        if self._drawn_at is None:
            return
        if ended_well:
            self._last = (1.0, self._last[1])
        self._draw()
        self._drawn_at = None
        if self._cell is None:
            write("\n")

    def _draw(self) -> None:
        done, words = self._last
        if self._cell is not None:
            self._cell.show(page(self._name, done, words))
            return
        line = line_of(
            self._name,
            done,
            printable_line(words),
            time.monotonic() - self._begun,
            shutil.get_terminal_size().columns - 1,
        )
        write("\r" + line.ljust(self._columns))
        self._columns = len(line)


class _Cell:
    """The output of a notebook's cell, which is replaced."""

    def __init__(self, display: Any, kind: Any) -> None:
        self._display, self._kind = display, kind
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Replaces what it shows."""
        if self._handle is None:
            self._handle = self._display(self._kind(text), display_id=True)
        else:
            self._handle.update(self._kind(text))


def is_notebook() -> bool:
    """Whether this runs in a notebook. IPython is not loaded for this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # A terminal's IPython has no kernel.
    return getattr(shell, "kernel", None) is not None


def _cell() -> Optional[_Cell]:
    """Where a notebook shows things; None outside of one."""
    if not is_notebook():
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

    return _Cell(display, HTML)


def is_terminal() -> bool:
    """Whether somebody looks at standard error, or $FARCALL_PROGRESS says so: 1 or 0."""
    forced = os.environ.get("FARCALL_PROGRESS")
    if forced in ("0", "1"):
        return forced == "1"
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # There is none, or it is closed.
        return False


def write(text: str) -> None:
    """Writes to standard error, if there is one."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        # Who closed it does not want to know.
        pass


def line_of(name: str, done: float, words: str, seconds: float, columns: int) -> str:
    """The line, which never wraps: `heat  45 % [#########-----------] 12 s left, step 9 of 20`."""
    percent = f"{name} {done * 100:3.0f} %"
    left = f"{seconds / done * (1 - done):.0f} s left" if 0 < done < 1 and seconds > 1 else ""
    said = ", ".join(one for one in (left, words) if one)
    width = min(columns - len(percent) - len(said) - 4, _BAR_MAX)
    if width < _BAR_MIN:
        return f"{percent} {said}"[: max(columns, 0)]
    full = int(done * width)
    return f"{percent} [{'#' * full}{'-' * (width - full)}] {said}".rstrip()


def page(name: str, done: float, words: str) -> str:
    """The same for a notebook."""
    said = html.escape(f"{name} {done * 100:.0f} % {words}".rstrip())
    return (
        f'<progress value="{done:.4f}" max="1" style="width: 20em; vertical-align: '
        f'middle"></progress> {said}'
    )
