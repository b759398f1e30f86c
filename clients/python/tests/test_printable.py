"""Text of others is shown, never obeyed: the vectors of the specification, and where Python shows
such text itself."""

import json
import pathlib
import sys

import pytest

from farcall import _bars, _news
from farcall._printable import _LINE, printable, printable_line, printable_output

VECTORS = pathlib.Path(__file__).parents[3] / "spec" / "vectors" / "printable.txt"


def vectors():
    lines = VECTORS.read_text(encoding="ascii").splitlines()
    return [
        [json.loads(cell) for cell in line.split("\t")]
        for line in lines
        if line and not line.startswith("#")
    ]


def test_texts_of_others_are_spelled_as_the_vectors_say():
    assert len(vectors()) > 20
    for text, line, lines, _ in vectors():
        assert (printable_line(text), printable(text)) == (line, lines)
        assert printable(line) == line


def test_whatever_unicode_calls_a_control_or_a_format_is_spelled_or_seen():
    import unicodedata

    # Numbers' and verses' signs of Arabic, Syriac, Kaithi and Egyptian are of that category, and
    # seen.
    seen = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13440),
    }
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp") and code not in seen:
            assert _LINE.fullmatch(chr(code)), hex(code)


def test_halves_of_pairs_and_returns():
    assert printable_line("\udc9b\ud800") == "\\u{dc9b}\\u{d800}"
    assert printable_output("1 %\r2 %\n\x1b[2J") == "1 %\r2 %\n\\x1b[2J"


def test_bars_show_words_on_their_line():
    for done in (0.0, 0.5, 1.0):
        line = _bars.line_of("heat", done, printable_line("\x1b]0;x\x07\n\u202e"), 2.0, 100)
        assert not _LINE.search(line) and "\\x1b]0;x" in line


class _Terminal:
    def __init__(self, is_terminal):
        self.text, self.is_terminal = "", is_terminal

    def write(self, text):
        self.text += text

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_routines_print_commands_no_terminal(is_terminal):
    file = _Terminal(is_terminal)
    _news._hearer("routine", "output", file)(_news.Printed("a\x1b[2Jb\r\n", "stdout"))
    assert file.text == ("a\\x1b[2Jb\r\n" if is_terminal else "a\x1b[2Jb\r\n")
