"""How a program comes to a server: one that runs, one that ssh begins, or one of its own."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _errors
from ._addresses import Own, address_of, is_list
from ._connection import (
    SERVER_VARIABLE,
    open_connection,
    open_private,
    open_when_it_listens,
)
from ._library import find
from ._server import PathLike, Server

# What a server on a host that ssh reaches can be started with.
FAR_SETTINGS = (
    "config",
    "account",
    "partition",
    "time_limit",
    "memory",
    "gpus",
    "load",
    "source",
    "python",
)


@_errors.ends_here
def connect(
    address: Union[None, str, Sequence[str]] = None,
    *,
    files: Sequence[PathLike] = (),
    token_file: Optional[PathLike] = None,
    timeout: float = 30.0,
    heartbeat: Optional[float] = None,
    reconnect: Optional[float] = None,
    program: Optional[PathLike] = None,
    arguments: Sequence[str] = (),
    **settings: Any,
) -> Server:
    """Connects to a server.

    Without an address to the one that $FARCALL_SERVER names. If there is none, or with `files`, a
    private server is started: a `farcall serve` child that ends with the connection.

    A list of addresses is used as one server, without a service that knows them: each call runs
    where it is predicted to end first. "here" in it is this host.

    Args:
        address: "unix:PATH", "ssh://HOST", "tls://HOST:PORT" or "farcall://HOST:PORT"; "HOST" or
            "USER@HOST" is a host by ssh, as for `farcall connect`. A Unix socket that is not there
            is waited for, for 2 s: its server may be about to listen. Several addresses are a list,
            or a str with blanks between.
        files: interface files and Python files that the server publishes; a private server without
            any publishes what Farcall comes with. Of a list, "here" publishes them.
        token_file: the file with the token of a TCP server, $FARCALL_TOKEN_FILE by default; over
            TLS the file with your certificate, or a directory with one for each authority,
            $FARCALL_CREDENTIALS by default.
        timeout: seconds that connecting may take, a private server may take to listen, and each
            look-up of a routine later on.
        heartbeat: seconds without a sign of life, while somebody waits, after which the server is
            taken for lost: at least 1, $FARCALL_HEARTBEAT or 30 by default; 0: never. Any traffic
            counts.
        reconnect: seconds for which calls wait when a connection over TCP or TLS is lost and is
            made again: then they go on, and none runs twice. $FARCALL_RECONNECT or 30 by default;
            0: they end at once.
        program: the `farcall` program for a private server.
        arguments: more arguments of `farcall serve` for a private server.
        settings: what a server on a host that ssh reaches is started with, and later ones: config
            (a file), account, partition, time_limit ("2h"), memory ("8G"), gpus, load (modules),
            source (a script there) and python. "" takes one back.

    Raises:
        Unreachable, PermissionDenied, VersionMismatch, TimedOut: the server cannot be used.
        InvalidSource, Unavailable: a private server cannot start; the message has what it said.
    """
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    far, token = far_settings(**settings), _path(token_file)
    given = _one_text(address)
    named = bool(os.environ.get(SERVER_VARIABLE)) and not files
    if address is None and not named:
        if far is not None:
            message = "account, partition and the other settings are for a host that ssh reaches"
            advice = 'give its address, such as "HOST/slurm", or pass them in arguments='
            raise _errors.make(_errors.InvalidArgument, "connect", message, advice)
        return _private(files, program, arguments, (token, timeout, heartbeat, reconnect))
    if is_list(os.environ.get(SERVER_VARIABLE, "") if given is None else given):
        own = _own(files, program, arguments)
        return Server(open_connection(given, token, timeout, heartbeat, reconnect, far, own))
    if program or arguments:
        raise _private_alone(given)
    # The core takes the variable's by itself, and says so when it cannot connect.
    server = Server(open_when_it_listens(given, token, timeout, heartbeat, reconnect, far))
    for file in files:
        server.publish(file)
    return server


def _one_text(address: Union[None, str, Sequence[str]]) -> Optional[str]:
    """As the core takes it: addresses with blanks between."""
    if address is None:
        return None
    if isinstance(address, (list, tuple)):
        addresses = [str(one) for one in address]
        for one in addresses:
            if len(addresses) > 1 and (not one or one.split() != [one]):
                message = f"{one!r} in the list of addresses is empty, or has blanks"
                raise _errors.make(_errors.InvalidArgument, "connect", message, "write an address")
        if not addresses:
            message, advice = "the list has no address", 'list some, such as ["ssh://HOST", "here"]'
            raise _errors.make(_errors.InvalidArgument, "connect", message, advice)
        return " ".join(addresses)
    return address_of(str(address))


def far_settings(**given: Any) -> Optional[str]:
    """What a server elsewhere is told, as the core reads it: a line for each; None for nothing."""
    lines = []
    for name, value in given.items():
        if name not in FAR_SETTINGS:
            near = get_close_matches(name, FAR_SETTINGS, 1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise TypeError(f"connect() got an unexpected keyword argument {name!r}{hint}")
        many = value if isinstance(value, (list, tuple)) else [value]
        for one in many:
            if one is None:
                continue
            if isinstance(one, bool) or not isinstance(one, (str, int, np.integer, os.PathLike)):
                message = f"{name} is {one!r}"
                raise _errors.make(_errors.WrongType, "connect", message, "give a str or a number")
            text_of_it = os.fspath(one) if isinstance(one, os.PathLike) else str(one)
            if "\n" in text_of_it:
                message = f"{name} has several lines"
                raise _errors.make(_errors.InvalidArgument, "connect", message, "give one line")
            lines.append(f"{name.replace('_', '-')}={text_of_it}")
    return "\n".join(lines) or None


def _private(
    files: Sequence[PathLike],
    program: Optional[PathLike],
    arguments: Sequence[str],
    options: Any,
) -> Server:
    """A server of this program's own."""
    return Server(open_private(*_own(files, program, arguments), *options))


def _own(files: Sequence[PathLike], program: Optional[PathLike], arguments: Sequence[str]) -> Own:
    """How it is started."""
    paths = [os.fspath(one) for one in files]
    if "--python" not in arguments:
        # This interpreter has farcall, for one; and what is published later may be Python's, too.
        arguments = ["--python", sys.executable, *arguments]
    return paths, _path(program) or find("FARCALL_PROGRAM", "bin", "farcall"), arguments


def _private_alone(address: Optional[str]) -> _errors.Error:
    message = "program and arguments are for a private server, and an address names another"
    advice = (
        f"unset {SERVER_VARIABLE}, or leave them out"
        if address is None
        else "leave out the address, or them"
    )
    return _errors.make(_errors.InvalidArgument, "connect", message, advice)


def _path(given: Union[None, PathLike]) -> Optional[str]:
    return None if given is None else os.fspath(given)
