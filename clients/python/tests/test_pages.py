"""Pages in HTML, as notebooks ask for them; none of IPython's is needed."""

import html.parser

import numpy as np
import pytest

A, B = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])


class Balance(html.parser.HTMLParser):
    """Fails on tags that do not match; collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"


def shown(thing):
    page = thing._repr_html_()
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return page, parser.text


def test_a_server_shows_its_catalogue(server):
    page, text = shown(server)
    assert (
        server.address in text
        and "lapack" in text
        and "Solves A*X = B" in text
        and "greet(name) ->" in text
    )
    assert page.count("<tr>") == len(server.routines()) + page.count("<table")


def test_a_module_shows_its_routines(server):
    page, text = shown(server.lapack)
    assert "dgesv(a, b" in text and "square(" not in text and page.count("<table") == 1


def test_a_routine_shows_its_parameters(server):
    page, text = shown(server.dgesv)
    assert (
        "lapack/dgesv" in text
        and "(n, nrhs), by columns" in text
        and "float64" in text
        and "inout" in text
    )
    assert "in: right-hand sides; out: solution X" in text
    assert "lambda_" in shown(server.clash)[1]
    # What an interface says is text: descriptions and signatures cannot bring markup along.
    page, text = shown(server.quoted)
    assert "<b>bold</b> & <script>" in text and "<script" not in page and "&lt;script&gt;" in page
    assert "<i>x</i>" in text and "<i>" not in page


def test_futures_show_their_state(server, farcall):
    running = server.pause.submit(30)
    assert "behaviour/pause" in shown(running)[1] and "under way" in shown(running)[1]
    running.cancel()
    assert "cancelled" in shown(running)[1]
    done, failed = server.dgesv.submit(A, B), server.dgesv.submit(A, B, nn="<b>")
    done.result(30)
    assert "done" in shown(done)[1] and "Results(a=float64[2, 2]" in shown(done)[1]
    page, text = shown(failed)
    assert "failed: WrongType" in text and 'takes no argument "nn"' in text and "<b>&" not in page
    assert "waits to be sent" in shown(farcall.CallFuture())[1]


def test_pages_raise_nothing_when_the_server_is_gone(private):
    # Known before, or not.
    assert "square" in shown(private)[1]
    module, routine = private.behaviour, private.square
    private.close()
    private._connection._listed = None
    assert "closed" in shown(private)[1]
    assert "behaviour" in shown(module)[1] and "square" in shown(routine)[1]


def test_a_notebook_finds_pages_and_nothing_else(server):
    for thing in (server, server.lapack, server.dgesv):
        for probe in (
            "_repr_png_",
            "_repr_mimebundle_",
            "_ipython_display_",
            "_ipython_canary_method_should_not_exist_",
        ):
            with pytest.raises(AttributeError):
                getattr(thing, probe)
