"""Task farming: a routine called once for each element of iterables or stacked arrays, as many calls
running as there is room for, and the core told of many at a time."""

from __future__ import annotations

import asyncio
import collections
import operator
import threading
from typing import TYPE_CHECKING, Any, Deque, Dict, Tuple

import numpy as np

from . import _errors
from ._bars import Bar
from ._elements import Elements
from ._farm import Farm
from ._interface import option_name
from ._library import SLICE_SECONDS
from ._news import Progress
from ._results import Results

if TYPE_CHECKING:
    from ._routine import Routine

# Elements that are running, or wait for their turn, where nothing else is said: more than the
# processors of a large site.
WINDOW = 1024
# Bytes of their arrays, where nothing else is said; but never fewer elements than that.
_BYTES_MAX = 256 << 20
_ELEMENTS_MIN = 16
# Options of its own.
_OPTIONS = ("order", "window", "progress", "errors")
# Options of calls that say something of one call alone.
_OF_ONE_CALL = {
    "out": "take the results from what map gives",
    "inplace": "take the results from what map gives",
    "on_output": "use submit for calls whose output is wanted",
}


class _Raised:
    """What is raised in place of a result."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Map:
    """The results of `Server.map`: an iterator, and for `async for`.

    Nothing is called before the first result is asked for. A program that asks for no more (`break`, an
    exception, `close`) has the calls that run cancelled, unless they have `keep`.
    """

    def __init__(self, routine: Routine, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        self._routine = routine
        own, call, rest = _parted(routine, named)
        self._is_ordered = _flag(routine, "order", own.get("order", True))
        errors = own.get("errors", "raise")
        if errors not in ("raise", "return"):
            message = f'errors={errors!r} is neither "raise" nor "return"'
            raise _wrong(routine, message, "give one of them")
        self._raises = errors == "raise"
        self._elements = Elements(routine, arguments, rest)
        self._farm = Farm(routine, self._elements, call)
        window = _window(routine, own.get("window"))
        self._window = window or WINDOW
        self._bytes_max = None if window else _BYTES_MAX
        self._ready: Deque[Any] = collections.deque()
        # Outcomes whose turn has not come, by element.
        self._early: Dict[int, Any] = {}
        # Elements whose calls were begun, and those whose outcome is among what is ready.
        self._begun = self._passed = 0
        self._is_over = False
        # Another thread may close it; re-entrant, for the reasons of `Waiter`.
        self._lock = threading.RLock()
        self._bar = _bar(routine, own.get("progress", False))

    def __repr__(self) -> str:
        given, count = self._passed - len(self._ready), self._elements.count
        of = "" if count is None else f" of {count}"
        closed = ", closed" if self._is_over and not self._ready else ""
        return f"<farcall.Map of {self._routine.name}: {given}{of} done{closed}>"

    def __iter__(self) -> Map:
        return self

    def __next__(self) -> Results:
        ready = self._ready
        try:
            while not ready:
                if self._is_over:
                    raise StopIteration
                self._advance()
            one: Any = ready.popleft()
            if type(one) is not _Raised:
                return one  # type: ignore[no-any-return]
            raise _errors.shortened(one.error)
        except StopIteration:
            raise
        except BaseException:
            __tracebackhide__ = True
            self.close()
            raise

    def __aiter__(self) -> Map:
        return self

    async def __anext__(self) -> Results:
        while not self._ready and not self._is_over:
            step = asyncio.get_running_loop().run_in_executor(None, self._advance)
            try:
                await asyncio.shield(step)
            except BaseException:
                # The thread ends its wait before the farm goes.
                self._is_over = True
                step.add_done_callback(lambda _: self.close())
                raise
        try:
            return self.__next__()
        except StopIteration:
            raise StopAsyncIteration from None

    def close(self) -> None:
        """Cancels the calls that run, unless they have `keep`; there are no more
        results."""
        self._is_over = True
        with self._lock:
            self._ready.clear()
            self._early.clear()
            self._farm.close()
            self._show(is_over=True)

    def __enter__(self) -> Map:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # How it goes on.

    def _advance(self) -> None:
        """Starts calls as far as there is room, and takes outcomes; waits for one if there is nothing
        to start."""
        with self._lock:
            if not self._is_over:
                self._go_on()

    def _go_on(self) -> None:
        farm, elements = self._farm, self._elements
        farm.check()
        if not farm.waiting and not elements.ended:
            room = self._room()
            if room > 0:
                farm.add(self._begun, *elements.read(room))
                self._begun = farm.begun
        farm.start()
        if farm.is_idle and elements.ended:
            self._end()
            return
        has_more = not farm.waiting and not elements.ended and self._room() > 0
        for element, outcome in farm.take(0.0 if has_more else SLICE_SECONDS):
            self._pass(element, outcome)
        self._show()

    def _room(self) -> int:
        """Elements that may be read."""
        window, bytes_each = self._window, self._farm.bytes_each
        if self._bytes_max is not None and bytes_each:
            window = min(window, max(self._bytes_max // bytes_each, _ELEMENTS_MIN))
        return window - (self._begun - self._passed)

    def _pass(self, element: int, outcome: Any) -> None:
        """An outcome is there: it is given when its turn comes."""
        if isinstance(outcome, BaseException):
            outcome.element = element  # type: ignore[attr-defined]
            if self._raises or not isinstance(outcome, Exception):
                outcome = _Raised(outcome)
        if not self._is_ordered:
            self._ready.append(outcome)
            self._passed += 1
            return
        if element != self._passed:
            self._early[element] = outcome
            return
        early = self._early
        while True:
            self._ready.append(outcome)
            self._passed += 1
            if self._passed not in early:
                return
            outcome = early.pop(self._passed)

    def _end(self) -> None:
        """There are no more."""
        self._is_over = True
        if self._elements.raised is not None:
            self._ready.append(_Raised(self._elements.raised))
        self._farm.close()
        self._show(is_over=True)

    def _show(self, is_over: bool = False) -> None:
        if self._bar is None:
            return
        count = self._elements.count
        words = f"{self._passed} of {count}" if count is not None else str(self._passed)
        done = self._passed / count if count else 0.0
        self._bar(Progress("running", 0, done, words))
        if is_over:
            if isinstance(self._bar, Bar):
                self._bar.close(self._passed == count)
            self._bar = None


# Options.


def _wrong(routine: Routine, message: str, advice: str) -> _errors.Error:
    return _errors.make(_errors.WrongType, "map", message, advice, routine=routine.name)


def _parted(
    routine: Routine, named: Dict[str, Any]
) -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any]]:
    """Options of map, options of each call, and arguments."""
    names = routine._interface.names
    own_names = {option_name(option, names): option for option in _OPTIONS}
    own: Dict[str, Any] = {}
    call: Dict[str, Any] = {}
    rest: Dict[str, Any] = {}
    for name, value in named.items():
        option = routine._options.get(name)
        if name in own_names:
            own[own_names[name]] = value
        elif option in _OF_ONE_CALL:
            raise _wrong(routine, f"map takes no {option}=", _OF_ONE_CALL[option])
        elif option is not None:
            call[name] = value
        else:
            rest[name] = value
    return own, call, rest


def _flag(routine: Routine, option: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong(routine, f"{option}={value!r} is neither True nor False", "give one of them")
    return bool(value)


def _window(routine: Routine, given: Any) -> int:
    """Elements that run at a time; 0 where nothing is said."""
    if given is None:
        return 0
    advice = "give a whole number above 0, or None"
    try:
        count = operator.index(given)
    except TypeError:
        raise _wrong(routine, f"window={given!r} is not an integer", advice) from None
    if isinstance(given, (bool, np.bool_)) or not 0 < count < 1 << 32:
        kind = _errors.InvalidArgument
        raise _errors.make(kind, "map", f"window={given}", advice, routine=routine.name)
    return count


def _bar(routine: Routine, given: Any) -> Any:
    if given is None or given is False:
        return None
    if given is True:
        return Bar(routine.name)
    if not callable(given):
        advice = "give True, False, or a function that takes a farcall.Progress"
        raise _wrong(routine, f"progress={given!r} is no function", advice)
    return given
