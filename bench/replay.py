"""Replay beside SimPy: the same station with slots, random arrivals and exponential calls, in calls per CPU-second.

`cargo build --release -p plimsoll-replay --example station`, then `python bench/replay.py`. Each is one process that
draws its own arrivals; what is counted is its whole processor time, start included. Both mean waits stand beside the
closed form (Erlang C), since speed is worth nothing where the answer differs.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SLOTS, LOAD = 16, 0.85


def erlang_c(servers, offered):
    """The probability that a call waits."""
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = offered * blocked / (server + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def station(calls, seed):
    """SimPy's own way to write the station; prints how many calls came, and their mean wait in seconds."""
    import simpy

    draw = random.Random(seed)
    world = simpy.Environment()
    slots = simpy.Resource(world, capacity=SLOTS)
    waits = []

    def call():
        wanted = world.now
        with slots.request() as slot:
            yield slot
            waits.append(world.now - wanted)
            yield world.timeout(draw.expovariate(1.0))

    def arrive():
        for _ in range(calls):
            yield world.timeout(draw.expovariate(SLOTS * LOAD))
            world.process(call())

    world.process(arrive())
    world.run()
    print(len(waits), sum(waits) / len(waits))


def measured(line):
    """Calls, mean wait and CPU-seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    calls, wait = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(calls), float(wait), used


def main():
    """Runs both, one after the other, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2_000_000, help="calls for replay; SimPy gets a tenth")
    parser.add_argument("--simpy", type=int, metavar="CALLS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.simpy:
        return station(given.simpy, seed=1)
    binary = TARGET / "release" / "examples" / "station"
    ours = measured([binary, str(given.calls), str(SLOTS), str(LOAD), "1"])
    theirs = measured([sys.executable, __file__, "--simpy", str(given.calls // 10)])
    wait = erlang_c(SLOTS, SLOTS * LOAD) / (SLOTS - SLOTS * LOAD)
    print(f"{SLOTS} slots at {LOAD:.0%}: mean wait by Erlang C {wait:.4f} s")
    for name, (calls, mean, used) in {"replay": ours, "SimPy": theirs}.items():
        print(f"{name}: {calls:,} calls, mean wait {mean:.4f} s, {calls / used:,.0f} calls per CPU-second")
    print(f"ratio: {ours[0] / ours[2] / (theirs[0] / theirs[2]):,.0f}")
    return None


if __name__ == "__main__":
    main()
