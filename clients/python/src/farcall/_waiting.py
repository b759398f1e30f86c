"""A line on standard error for calls that wait in the queue of their server: where somebody looks,
and only when they have waited for a second."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Dict, Optional, Tuple

from ._bars import is_notebook, is_terminal, write
from ._printable import printable_line

# A call that waits for less than this is soon over.
_QUIET_SECONDS = 1.0
# Many calls that wait say so no more often.
_PAUSE_SECONDS = 10.0
_LOOK_SECONDS = 0.25


class Waiting:
    """What is shown of one call: nothing, if it does not wait for long."""

    def __init__(self, routine: str) -> None:
        self.routine = routine
        self.since = time.monotonic()
        self.words = ""
        self.is_told = False

    def __call__(self, progress: Any) -> None:
        """What the server tells of the call."""
        if progress.state != "queued":
            return _queue.leave(self)
        self.words = progress.text or _place(progress.before)
        _queue.enter(self)

    def close(self, _: bool) -> None:
        """The call has ended."""
        _queue.leave(self)

    def line(self, others: int) -> str:
        """What is said of it, and of others that wait behind it."""
        more = f" ({others} more of this program wait)" if others else ""
        return printable_line(f"farcall: {self.routine} {self.words}{more}") + "\n"


def _place(before: int) -> str:
    if before == 0:
        return "waits in the queue: it is the next"
    return f"waits in the queue: {before} call{'s' if before > 1 else ''} before it"


class _Queue:
    """The calls of this program that wait, and the thread that looks after them while there are
    any."""

    def __init__(self) -> None:
        # Re-entrant: garbage may be collected, and calls ended with it, while it is held.
        self._lock = threading.RLock()
        self._waiting: Dict[int, Waiting] = {}
        self._thread: Optional[threading.Thread] = None
        self._told_at = -_PAUSE_SECONDS

    def enter(self, one: Waiting) -> None:
        """A call waits."""
        with self._lock:
            self._waiting[id(one)] = one
            # After a fork, that of the parent is not alive.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="farcall waiting", daemon=True
                )
                self._thread.start()

    def leave(self, one: Waiting) -> None:
        """It does not any more."""
        with self._lock:
            self._waiting.pop(id(one), None)

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                line = self._due(time.monotonic())
            if line:
                write(line)

    def _due(self, now: float) -> str:
        """What is to be said now."""
        first = next(iter(self._waiting.values()))
        is_early = now - first.since < _QUIET_SECONDS or now - self._told_at < _PAUSE_SECONDS
        if is_early or first.is_told:
            return ""
        first.is_told, self._told_at = True, now
        return first.line(len(self._waiting) - 1)


_queue = _Queue()
# Where somebody was looked for last, and whether there is one: asking costs a system call.
_asked: Tuple[Any, bool] = (None, False)


def is_shown() -> bool:
    """Whether somebody looks at standard error, or $FARCALL_PROGRESS says so: as for bars."""
    global _asked
    stream = sys.stderr
    known, answer = _asked
    if stream is not known or stream is None:
        forbidden = os.environ.get("FARCALL_PROGRESS") == "0"
        answer = is_terminal() or is_notebook() and not forbidden
        _asked = (stream, answer)
    return answer
