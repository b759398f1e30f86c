"""Finds libfarcall and speaks to it: the foreign functions, and errors turned into exceptions."""

from __future__ import annotations

import functools
import os
import pathlib
import queue
import threading
from typing import Any, Callable, Iterator, NoReturn, Optional

import cffi
import numpy as np

from . import _errors

# Bound to the major version of the C interface: another one would be another library.
LIBRARY_NAME = "libfarcall.so.0"
# Signals are handled between slices of waiting: this long may an interrupt take to be noticed.
SLICE_SECONDS = 0.05

_PACKAGE = pathlib.Path(__file__).resolve().parent
# What a wheel carries, laid out like a prefix: bin, lib, include, share.
BUNDLE = _PACKAGE / "_bundle"


def _stage() -> Optional[pathlib.Path]:
    """Where a build stages what it made: $FARCALL_STAGE, or build/ of the checkout that this file
    lies in."""
    named = os.environ.get("FARCALL_STAGE")
    if named:
        return pathlib.Path(named)
    # src/farcall -> clients/python -> the root.
    root = _PACKAGE.parents[3] if len(_PACKAGE.parents) > 3 else None
    return root / "build" if root and (root / "clients/python/pyproject.toml").exists() else None


def _places(folder: str, name: str) -> Iterator[pathlib.Path]:
    yield BUNDLE / folder / name
    stage = _stage()
    if stage is not None:
        yield stage / folder / name


def find(variable: str, folder: str, name: str) -> str:
    """The file that `variable` names, or the first of the package's, the stage's and the system's
    own (a bare name)."""
    named = os.environ.get(variable)
    if named:
        return named
    return next((str(place) for place in _places(folder, name) if place.exists()), name)


def _load() -> Any:
    path = find("FARCALL_LIBRARY", "lib", LIBRARY_NAME)
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(
            f"farcall: cannot load {path}: {error}; install the farcall wheel, or name the library "
            "in FARCALL_LIBRARY"
        ) from error


ffi: Any = cffi.FFI()
ffi.cdef((_PACKAGE / "_cdef.h").read_text(encoding="utf-8"))
ffi.cdef("void free(void *);")
lib: Any = _load()
OK: int = lib.FARCALL_OK
PENDING: int = lib.FARCALL_PENDING

# Types that are asked for again and again.
_PLACE, _ERROR_PLACE = ffi.typeof("farcall_place *"), ffi.typeof("farcall_error **")

# At most so long a fork waits until another thread has parsed a declaration.
_FORK_SECONDS = 5


class _Fork:
    """Keeps cffi's lock through a fork. Without that, a child that is forked while another thread
    parses a declaration for the first time has the lock for ever, held by nobody."""

    def __init__(self) -> None:
        self._is_held = False

    def before(self) -> None:
        """In the thread that forks."""
        self._is_held = ffi._lock.acquire(timeout=_FORK_SECONDS)

    def in_parent(self) -> None:
        """Others parse again."""
        if self._is_held:
            ffi._lock.release()

    def in_child(self) -> None:
        """There are no others; a lock that was not available is held by a thread that is not
        here."""
        ffi._lock = threading.Lock()


_fork = _Fork()
os.register_at_fork(
    before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child
)


def text(pointer: Any) -> Optional[str]:
    """C text as str; None for NULL."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else None


def fail(status: int, place: Any) -> NoReturn:
    """Raises what a failed function left in its place for the error."""
    raise taken(status, place)


def taken(status: int, place: Any) -> _errors.Error:
    """The exception for an error object, which is freed."""
    error = place[0]
    if not error:
        return _errors.class_of(status)(f"status {status} without an error object")
    try:
        kind = _errors.class_of(lib.farcall_error_kind(error))
        return kind(
            text(lib.farcall_error_message(error)) or "",
            operation=text(lib.farcall_error_operation(error)) or "",
            advice=text(lib.farcall_error_advice(error)),
            retryable=bool(lib.farcall_error_retryable(error)),
            began=bool(lib.farcall_error_began(error)),
        )
    finally:
        lib.farcall_error_free(error)


def check(status: int, place: Any) -> int:
    """Passes FARCALL_OK and FARCALL_PENDING on, and raises everything else."""
    if status > OK:
        fail(status, place)
    return status


def wait_for(waiting: Callable[[float], int], place: Any, between: Callable[[], object]) -> None:
    """Waits for what a function of the core waits for that takes seconds: in slices, so that
    signals are handled. `between` two slices raises when nobody is to wait any longer."""
    while check(waiting(SLICE_SECONDS), place) == PENDING:
        between()


def interruptible(waiting: Callable[..., int], *arguments: Any, used: Any) -> int:
    """What a function of the core gives that waits in one piece; `used` is the memory that its
    arguments point to. Signals are handled meanwhile: after an interrupt it ends by itself, and
    what it made goes with its place."""
    if threading.current_thread() is not threading.main_thread():
        return waiting(*arguments)
    status: queue.SimpleQueue[int] = queue.SimpleQueue()

    def run(_: Any = used) -> None:
        status.put(waiting(*arguments))

    threading.Thread(target=run, name="farcall connects", daemon=True).start()
    return status.get()


def error_place() -> Any:
    """A place for an error object."""
    return ffi.new(_ERROR_PLACE)


def handle_place(kind: str, free: Any, used: Any = None) -> Any:
    """A place for a handle of the core, which is freed with the last reference to its place. `used`
    lives as long.

    The place and not the handle, because an interrupt may come as soon as the core has filled it.
    No Python runs at its end: what an interrupt raised there would be printed, and forgotten. After
    a fork the child has copies of the handles, but not the threads and locks that their objects
    rely on, and frees none.

    The collector of cycles calls destructors before anything else, in any order, and finalizers of
    the program that use the place may follow. An array is what it does not look into: the
    destructor behind it waits for the last reference.
    """
    owner = ffi.new(_PLACE)
    owner.free, owner.process = _freeing(free), os.getpid()
    clear = lib.farcall_place_clear
    if used is not None:
        clear = functools.partial(clear)
        clear.used = used
    hidden = np.frombuffer(ffi.buffer(ffi.gc(owner, clear)), np.uint8)
    return ffi.from_buffer(_array_of(kind), hidden)


def pointer_to(place: Any) -> Any:
    """What `farcall_place_clear` takes of a place for a handle; it keeps nothing alive."""
    return ffi.cast("void *", place)


@functools.lru_cache(maxsize=None)
def _freeing(function: Any) -> Any:
    return ffi.cast("void (*)(void *)", function)


@functools.lru_cache(maxsize=None)
def _array_of(kind: str) -> Any:
    """The type of an array, for the type of a pointer to its elements."""
    return ffi.typeof(f"{kind[:-1]}[]")


def kept(pointer: Any, *objects: Any) -> Any:
    """A pointer that keeps objects alive, and runs no Python at its end."""
    return ffi.gc(pointer, {None: objects}.get)


def kept_buffer(data: Any, count: int, place: Any) -> Any:
    """Bytes from an address on, as a buffer that keeps the handle of their memory."""
    # The pointer keeps the handle's place, the buffer the pointer, and an array the buffer.
    return ffi.buffer(kept(ffi.cast("char *", data), place), count)
