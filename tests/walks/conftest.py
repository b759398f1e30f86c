"""What the walks share: the words of a page, so that page and walk cannot drift apart, and a folder
whose processes are gone when its walk has ended."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
# `pages` reads the pages, and `walking` stands beside this file.
sys.path[:0] = [str(HERE), str(HERE.parent / "readme")]

import walking  # noqa: E402


@pytest.fixture
def place():
    """A user's own folder, home and all."""
    with walking.Place() as place:
        yield place


@pytest.fixture(autouse=True)
def no_server_of_the_developer(monkeypatch):
    """Nor any other variable that says which server to take."""
    for name in [name for name in os.environ if name.startswith("FARCALL_")]:
        if name != "FARCALL_STAGE":
            monkeypatch.delenv(name)
