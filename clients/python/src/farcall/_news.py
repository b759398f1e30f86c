"""What is told of a call while it is running: its place in the queue, its begin, and what the
routine prints."""

from __future__ import annotations

import codecs
import inspect
from dataclasses import dataclass
from typing import Any, Callable, Optional, Type, Union

from . import _errors
from ._bars import Bar
from ._library import OK, PENDING, error_place, ffi, lib, taken
from ._printable import printable_output
from ._waiting import Waiting, is_shown

_STREAMS = {lib.FARCALL_NEWS_STDOUT: "stdout", lib.FARCALL_NEWS_STDERR: "stderr"}


class Printed(str):
    """What a routine printed: text, cut anywhere, with the stream that it was printed to."""

    stream: str = "stdout"
    """`stdout` or `stderr`."""

    def __new__(cls: Type[Printed], text: str, stream: str) -> Printed:
        """Text of one of the streams."""
        made = super().__new__(cls, text)
        made.stream = stream
        return made


@dataclass(frozen=True)
class Progress:
    """How a call is doing."""

    state: str
    """`queued` or `running`."""
    before: int = 0
    """Calls that are before it in the queue."""
    done: Optional[float] = None
    """The part that is done, from 0 to 1, if the routine says so."""
    text: str = ""
    """A word of the routine on it; while it is queued, what it waits for, such as a job of Slurm's,
    and where that stands."""


class Listener:
    """Takes the news of one call to those who want them."""

    def __init__(self, routine: str, on_output: Any, progress: Any) -> None:
        self._output = _hearer(routine, "on_output", on_output)
        self._shown: Optional[Union[Bar, Waiting]] = None
        if progress is True:
            self._shown = Bar(routine)
        elif progress is None and routine and is_shown():
            self._shown = Waiting(routine)
        heard = None if progress is False else self._shown or progress
        self._progress: Optional[Callable[[Progress], Any]] = _hearer(
            routine, "progress", heard, writes=False
        )
        output = lib.FARCALL_WANT_OUTPUT if self._output is not None else 0
        # Bits of enum farcall_wanted; 0 if nobody wants anything.
        self.wanted = int(output | (lib.FARCALL_WANT_PROGRESS if self._progress is not None else 0))
        self._state = "queued"
        # Bytes of a character may come in two pieces.
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {kind: decoder("replace") for kind in _STREAMS}

    def deafen(self) -> None:
        """Nobody wants anything any more; what still comes is taken all the same."""
        self._output = self._progress = None

    def close(self, ended_well: bool) -> None:
        """The call is over."""
        if self._shown is not None:
            self._shown.close(ended_well)

    def take(self, call: Any, seconds: float) -> Optional[bool]:
        """Waits for the next news and passes them on: True when the call is over, None if there are
        none by then."""
        news, error = ffi.new("farcall_news *"), error_place()
        status = lib.farcall_call_news(call[0], seconds, news, error)
        if status == PENDING:
            return None
        if status != OK:
            # The connection is gone. The outcome of the call says so, too.
            taken(status, error)
            return True
        self._pass_on(news)
        return bool(news.kind == lib.FARCALL_NEWS_OVER)

    def _pass_on(self, news: Any) -> None:
        if news.kind in _STREAMS:
            self._print(news.kind, bytes(ffi.buffer(news.text, news.bytes)))
        elif news.kind == lib.FARCALL_NEWS_QUEUED:
            self._tell(Progress("queued", before=news.before))
        elif news.kind == lib.FARCALL_NEWS_STARTED:
            self._state = "running"
            self._tell(Progress("running"))
        elif news.kind == lib.FARCALL_NEWS_PROGRESS:
            text = bytes(ffi.buffer(news.text, news.bytes)).decode(errors="replace")
            # Before a routine begins, its server says what the call waits for.
            self._tell(
                Progress(
                    self._state, done=news.done if self._state == "running" else None, text=text
                )
            )
        elif news.kind == lib.FARCALL_NEWS_OVER:
            for kind in _STREAMS:
                self._print(kind, b"", final=True)

    def _print(self, kind: int, said: bytes, final: bool = False) -> None:
        text = self._decoders[kind].decode(said, final)
        if text and self._output is not None:
            self._output(Printed(text, _STREAMS[kind]))

    def _tell(self, progress: Progress) -> None:
        if self._progress is not None:
            self._progress(progress)


def _is_terminal(file: Any) -> bool:
    """Whether what is written there could command something."""
    try:
        return bool(file.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def _hearer(routine: str, option: str, given: Any, writes: bool = True) -> Any:
    """What is called with news: a function, or the `write` of a file."""
    if inspect.iscoroutinefunction(given):
        message, advice = (
            f"{option} is a coroutine function, which would never be awaited",
            "give a function that starts a task",
        )
        raise _errors.make(_errors.WrongType, "call", message, advice, routine=routine)
    if given is None or callable(given):
        return given
    write = getattr(given, "write", None)
    if writes and callable(write):
        return (lambda said: write(printable_output(said))) if _is_terminal(given) else write
    advice = (
        "give a function of one argument"
        + ("" if writes else ", or True for a bar")
        + (", or a text file such as sys.stderr" if writes else "")
    )
    message = f"{option} is of type {type(given).__name__}, which cannot be called"
    raise _errors.make(_errors.WrongType, "call", message, advice, routine=routine)


# Of calls that nobody wants news of.
SILENT = Listener("", None, None)
