# The flows of a plan in SimGrid, model CM02: what ours are compared with.
"""Usage: simgrid_flows.py PLAN.toml

Prints when each flow ends, one a line, in the order of the plan. Links are what `farcall-sim flows`
takes them for: all of their rate is for data, no flow has less than its share because of its window,
and acknowledgements take nothing.
"""

import sys
import tomllib

from simgrid import Actor, Engine, Host, LinkInRoute, Mailbox, NetZone, this_actor

SETTINGS = (
    "network/model:CM02",
    "network/crosstraffic:0",
    "network/TCP-gamma:1e15",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
)


def send(number, flow):
    this_actor.sleep_until(flow["begins_s"])
    Mailbox.by_name(str(number)).put(number, round(flow["bytes"]))


def receive(number, ends):
    Mailbox.by_name(str(number)).get()
    ends[number] = Engine.clock


def main():
    with open(sys.argv[1], "rb") as file:
        plan = tomllib.load(file)
    engine = Engine(["flows", "--log=root.thres:error", *(f"--cfg={one}" for one in SETTINGS)])
    zone = NetZone.create_full_zone("all")
    links = {
        name: zone.create_link(name, link["bytes_per_s"]).set_latency(link["latency_s"]).seal()
        for name, link in plan["link"].items()
    }
    # A pair of hosts for each flow: routes are by hosts.
    ends = [None] * len(plan["flow"])
    hosts = []
    for number, flow in enumerate(plan["flow"]):
        pair = [zone.create_host(f"{end}{number}", 1e9).seal() for end in "ab"]
        route = [LinkInRoute(links[name]) for name in flow["links"]]
        zone.add_route(pair[0].netpoint, pair[1].netpoint, None, None, route, True)
        hosts.append(pair)
    zone.seal()
    for number, flow in enumerate(plan["flow"]):
        Actor.create(f"send{number}", hosts[number][0], send, number, flow)
        Actor.create(f"receive{number}", hosts[number][1], receive, number, ends)
    engine.run()
    for end in ends:
        print(end)


main()
