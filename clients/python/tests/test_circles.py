"""Functions whose calls wait for them: what would wait for ever is refused, and all else ends."""

import threading
from concurrent.futures import Future

import pytest

import farcall

SOURCE = """
Module circles;
Define twice(IN double x, OUT double *y, f(IN double x, OUT double *y)) { f(x, y); *y *= 2; }
DefClass Cell {
    DefMethod ask(IN double x, OUT double *y, f(IN double x, OUT double *y)) { f(x, y); }
    DefMethod tell(IN double x, OUT double *y) { *y = x + 1; }
}
"""
# Longer than anything here takes, and shorter than for ever.
PATIENCE = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    source = tmp_path_factory.mktemp("circles") / "circles.idl"
    source.write_text(SOURCE)
    with farcall.connect(files=[source]) as one:
        yield one


def all_at_once(*work):
    """Does all of that in threads; a result, or what was raised, for each."""
    ends = [Future() for _ in work]
    for one, end in zip(work, ends):
        threading.Thread(target=settle, args=(end, one), daemon=True).start()
    return [end.exception(PATIENCE) or end.result() for end in ends]


def settle(end, work):
    try:
        end.set_result(work())
    except Exception as error:
        end.set_exception(error)


def test_the_object_that_waits_for_the_function_takes_no_call_of_it(server):
    with server.Cell() as one, server.Cell() as two:
        (failed,) = all_at_once(lambda: one.ask(1.0, lambda x: one.tell(x).y))
        assert isinstance(failed.__cause__, farcall.InvalidArgument) and "the same object" in str(
            failed
        )
        # Nor through another, but the other takes any.
        through = lambda x: two.ask(x, lambda x: one.tell(x).y).y
        (failed,) = all_at_once(lambda: one.ask(1.0, through))
        assert "the same object" in str(failed)
        assert all_at_once(lambda: one.ask(1.0, lambda x: two.tell(x).y).y) == [2.0]


def test_two_objects_do_not_wait_for_each_other(server):
    both = threading.Barrier(2)

    def meet(mine, other):
        def function(x):
            both.wait(PATIENCE)
            return other.tell(x).y

        return mine.ask(1.0, function).y

    with server.Cell() as one, server.Cell() as two:
        ends = all_at_once(lambda: meet(one, two), lambda: meet(two, one))
        failed = [end for end in ends if isinstance(end, farcall.RoutineFailed)]
        # Whoever came last is refused, and the other goes on when that has ended.
        assert len(failed) == 1 and 2.0 in ends
        assert (
            isinstance(failed[0].__cause__, farcall.InvalidArgument)
            and failed[0].__cause__.retryable
        )


def test_functions_call_routines_that_call_functions(server):
    def deep(levels):
        return (lambda x: server.twice(x, deep(levels - 1)).y) if levels else (lambda x: x)

    assert all_at_once(lambda: server.twice(1.0, deep(7)).y) == [2.0**8]
    (failed,) = all_at_once(lambda: server.twice(1.0, deep(200)).y)
    assert isinstance(failed, farcall.RoutineFailed) and "every executable is waiting" in str(
        failed
    )
    # More at a time than there are places.
    work = [lambda: server.twice(1.0, deep(1)).y] * 100
    assert all_at_once(*work) == [4.0] * 100
