"""The two long trials, as `deploy/dev/soak` starts them: figures every minute, a summary, and a plain verdict."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from support.command import Plimsoll
from support.crashes import Crashes
from support.kafka import Kafka, fresh
from support.storm import Storm


def told(trial, figures):
    """Prints figures on one line, with the time."""
    print(
        time.strftime("%H:%M:%S"), trial, ", ".join(f"{name} {value:,}" for name, value in figures.items()), flush=True
    )


def storm(plimsoll, minutes, seed, rate):
    """SDK, collector, three brokers, two `serve`: killed for so many minutes."""
    kafka = Kafka(os.environ["KAFKA_BOOTSTRAP"])
    trial = Storm(kafka, kafka.create(fresh("soak"), 6), fresh("soak"), plimsoll, seed, rate)

    def minute(trial):
        states = list(trial.books.last.values())
        told(
            "kafka",
            {
                "spans sent": len(trial.agents.sent),
                "kills of serve": trial.kills,
                "kills of a broker": trial.broker_kills,
                "moves of partitions": trial.moves,
                "in flight": sum(state.get("in_flight", 0) for state in states),
                "MiB of memory at most": trial.books.peak_bytes >> 20,
            },
        )

    trial.run(minutes * 60, report=minute)
    plimsoll.run("profile")
    plimsoll.run("check")
    return trial.verify()


def crashes(plimsoll, kills, seed):
    """A `serve` under OTLP load with jobs and upkeep, killed so often."""
    trial = Crashes(plimsoll, seed)
    due = time.monotonic() + 60

    def each(trial):
        nonlocal due
        if time.monotonic() >= due:
            due += 60
            figures = {"kills": trial.kills, "spans acknowledged": len(trial.acknowledged)}
            told("otlp", {**figures, "MiB of memory at most": trial.books.peak_bytes >> 20})

    trial.run(kills, each)
    return trial.verify()


def main():
    """Runs what was asked for."""
    options = argparse.ArgumentParser(prog="soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=30, help="of kills between Kafka and the lake; 0 for none")
    options.add_argument("--kills", type=int, default=300, help="under OTLP load, with jobs and upkeep; 0 for none")
    options.add_argument("--rate", type=float, default=25, help="runs of ten spans a second that the SDK sends")
    options.add_argument("--seed", type=int, default=2026, help="who is killed when")
    chosen = options.parse_args()
    binary = Path(os.environ["PLIMSOLL_BIN"]).resolve()
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-soak-"))
    trials = []
    if chosen.minutes > 0:
        trials.append(("kafka", lambda lake: storm(lake, chosen.minutes, chosen.seed, chosen.rate)))
    if chosen.kills > 0:
        trials.append(("otlp", lambda lake: crashes(lake, chosen.kills, chosen.seed)))
    print(f"seed {chosen.seed}; lakes and logs in {folder}, kept if something is wrong", flush=True)
    for name, trial in trials:
        (folder / name).mkdir()
        started = time.monotonic()
        figures = trial(Plimsoll(binary, folder / name))
        told(name, {"PASSED, minutes": round((time.monotonic() - started) / 60, 1), **figures})
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
