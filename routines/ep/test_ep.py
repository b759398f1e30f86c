"""EP by remote calls: the official sums of classes S and W, and that a sweep of blocks is cut as
one likes.

Classes A and B take 5 and 20 s of a core: `python routines/ep/ep_classes.py A B` computes and
checks them.
"""

import json
import pathlib

import pytest

OFFICIAL = json.loads((pathlib.Path(__file__).parent / "verify.json").read_text())


@pytest.fixture(scope="module")
def ep(serve):
    return serve("ep/ep.idl").ep.ep


@pytest.mark.parametrize("letter, blocks", [("S", 2), ("W", 3)])
def test_official_sums(ep, letter, blocks):
    wanted = OFFICIAL["classes"][letter]
    pairs = 1 << wanted["m"]
    size = -(-pairs // blocks)
    calls = [ep.submit(wanted["m"], first=k * size, count=size) for k in range(blocks)]
    results = [call.result(300) for call in calls]
    for name in ("sx", "sy"):
        assert sum(r[name] for r in results) == pytest.approx(
            wanted[name], rel=OFFICIAL["relative_tolerance"]
        )
    # pi/4 of all pairs lie in the circle.
    assert sum(r.q.sum() for r in results) / pairs == pytest.approx(0.785398, abs=5e-4)


def test_what_is_no_block(ep):
    import farcall

    # Nothing to compute, a begin behind the end: zero, as the kernel has it. Sizes without meaning
    # are refused.
    assert ep(10, first=5, count=0).sx == 0 and ep(10, first=1 << 10, count=1).sx == 0
    for wrong in ({"m": -1}, {"m": 45}, {"m": 10, "first": -1}, {"m": 10, "count": -1}):
        with pytest.raises(farcall.Error):
            ep(**wrong)
