"""Two objects on a server, each with a state of its own. Usage: rod.py"""

import pathlib

import farcall

with farcall.connect(files=[pathlib.Path(__file__).with_name("rod.idl")]) as server:
    with server.Rod(101) as warm, server.Rod(101, hot=1000.0) as hot:
        # Both work at the same time; the calls on one object go in their order.
        calls = [rod.step.submit(1000) for rod in (warm, hot)]
        for call in calls:
            call.result()
        print(round(warm.get(101).t.max(), 3), round(hot.get(101).t.max(), 3))
