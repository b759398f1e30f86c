"""Texts of a fixed length, as Fortran and structs have them."""

import os
import subprocess
import sys

import numpy as np
import pytest

TEXTS = """
Module texts;
Struct row { double wavelength; char name[8]; char mark; int tags[2]; }
Define lines(IN int n, OUT row out[n])
{
    for (int i = 0; i < n; i++) {
        out[i].wavelength = 656.28 + i;
        memcpy(out[i].name, i ? "HBETA\\0\\0\\0" : "HALPHA  ", 8);
        out[i].mark = 'a' + i;
    }
}
Define longest(IN int n, IN row in[n], OUT char name[8]) { memcpy(name, in[n - 1].name, 8); }
Define title(OUT char text[12]) { memcpy(text, "run-v3      ", 12); }
Define echo(IN char name[8], OUT char said[8]) { memcpy(said, name, 8); }
Define measured(IN char text[n], IN int n, OUT int bytes) { *bytes = n; }
Define names(IN int n, IN char in[n][6], OUT char out[n][6]) { memcpy(out, in, 6 * n); }
Define columns(IN int n, IN char in[6][n] column, OUT char out[6][n] column)
{ memcpy(out, in, 6 * n); }
Define damaged(OUT char text[2]) { text[0] = '\\xff'; text[1] = '\\xfe'; }
Define extended(INOUT char text[n], IN int n) { strncat(text, "+x", n - strlen(text) - 1); }
Define umlaut(OUT char text[2]) { memcpy(text, "\\xc3\\xa4", 2); }
"""


@pytest.fixture(scope="module")
def texts(farcall, tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.idl"
    file.write_text(TEXTS)
    with farcall.connect(files=[file], timeout=60) as server:
        yield server


def test_texts_of_structs_are_texts(texts):
    out = texts.lines(2).out
    assert out["name"].dtype == np.dtype("S8") and out["name"].tolist() == [b"HALPHA  ", b"HBETA"]
    assert out["mark"].tolist() == [b"a", b"b"] and out["tags"].shape == (2, 2)
    assert texts.longest(out).name == "HBETA"
    row = (1.0, "GAMMA", "g", (1, 2))
    assert texts.longest([row]).name == "GAMMA"
    assert texts.longest(np.array([row], out.dtype)).name == "GAMMA"


def test_text_results_are_texts(texts):
    r = texts.title()
    assert r.text == "run-v3      " and str(r.text) == r.text and f"{r.text.strip()}" == "run-v3"
    assert texts.umlaut().text == "ä" and texts.damaged().text == b"\xff\xfe"


def test_shorter_texts_are_filled_up_with_blanks(texts, farcall):
    assert texts.echo("COPPER").said == "COPPER  " and texts.echo(b"").said == " " * 8
    assert texts.echo("COPPER12").said == "COPPER12" and texts.echo("ä").said == "ä      "
    assert texts.echo(np.frombuffer(b"COPPER12", "S1")).said == "COPPER12"
    with pytest.raises(farcall.InvalidArgument, match="name"):
        texts.echo("COPPER123")
    assert texts.measured("COPPER").bytes == 6, "a size that is an argument is the text's"


def test_arrays_of_texts(texts, farcall):
    given = ["ab", "COPPER", ""]
    out = texts.names(given).out
    assert out.dtype == np.dtype("S6") and out.tolist() == [b"ab    ", b"COPPER", b"      "]
    for same in (np.array(given), np.array(given, "S6").astype("S7").astype("U6"), tuple(given)):
        assert texts.names(same).out.tolist() == out.tolist()
    narrow = np.array([b"ab", b"c"])
    assert texts.names(narrow).out.tolist() == [b"ab    ", b"c     "]
    exact = np.array([b"ab", b"COPPER"], "S6")
    assert texts.names(exact).out.tolist() == [b"ab", b"COPPER"], "bytes that say their length stay"
    letters = exact.view("S1").reshape(2, 6)
    assert texts.names(letters).out.tolist() == [b"ab", b"COPPER"]
    with pytest.raises(farcall.InvalidArgument):
        texts.names(["SEVEN77"])
    assert texts.columns(given).out.tolist() == out.tolist(), "as Fortran lays them"
    assert texts.columns(exact).out.tolist() == [b"ab", b"COPPER"]
    assert texts.columns(np.asfortranarray(letters.T)).out.tolist() == [b"ab", b"COPPER"]
    assert texts.columns(letters[:0].T).out.size == 0
    with pytest.raises(farcall.WrongType, match="wants characters"):
        texts.names(np.zeros((2, 6)))


def test_a_text_has_the_room_that_is_given_for_it(texts, farcall):
    assert texts.extended("", n=8).text == "+x" and texts.extended(b"ab", n=8).text == "ab+x"
    assert texts.extended("abcdefg", n=8).text == "abcdefg"
    assert texts.extended(np.zeros(8, "S1")).text == "+x"
    with pytest.raises(farcall.InvalidArgument, match="text has 9 elements|text"):
        texts.extended("abcdefghi", n=8)
    with pytest.raises(farcall.Error):
        texts.extended("a", n=2**31 - 1)
    words = [sys.executable, "-m", "farcall", "call", "extended", "ab", "n=8"]
    environment = {**os.environ, "FARCALL_SERVER": texts.address}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert 'text = "ab+x"' in done.stdout, done.stderr
