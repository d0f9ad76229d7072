"""kill -9 at random instants of OTLP load, with jobs and compaction at work; what must hold afterwards.

`test_crash.py` does it 20 times, `deploy/dev/soak` as often as one likes.
"""

import json
import random
import time

from support.balance import Balance
from support.load import SPANS_A_REQUEST, Load, run_of_spans
from support.readers import span_ids
from support.spans import request

# Jobs and upkeep at work all the time, which in earnest they are every few minutes.
CONFIG = """
[jobs]
every = "1s"
[upkeep]
every = "1s"
keep_versions = "1h"
"""
# One more than it takes for files to be merged.
SMALL_FILES = 9


class Crashes:
    """Kills, what was acknowledged before them, and what was sent without an answer."""

    def __init__(self, plimsoll, seed):
        self.plimsoll = plimsoll
        plimsoll.config(CONFIG)
        self.random = random.Random(seed)
        self.books = Balance()
        self.acknowledged, self.unanswered = set(), set()
        self.kills = 0

    def run(self, kills, report=lambda _: None):
        """Kills a loaded server so often, then gives one the time to store what they left; `report` is told after
        each kill."""
        with self.books:
            for _ in range(kills):
                self._kill()
                report(self)
            with self.plimsoll.serve("--stop-seconds", 180) as server:
                self.books.watch(server)
                server.terminate(timeout=240)
        assert "left_in_journal=0" in server.said()

    def _small_files(self):
        """Commits of one small file each, so that there is always something to merge."""
        names = []
        for number in range(SMALL_FILES):
            spans = run_of_spans("crash")
            self.acknowledged |= {span.span_id.hex() for span in spans}
            names.append(self.plimsoll.folder / f"{number}.pb")
            names[-1].write_bytes(request(spans).SerializeToString())
        self.plimsoll.run("ingest", *names)

    def _kill(self):
        self._small_files()
        with self.plimsoll.serve() as server:
            load = Load(self.books.watch(server), pause=0.02)
            # From before the first flush to after the second.
            early = self.random.random() < 0.7
            time.sleep(self.random.uniform(0.2, 2.0) if early else self.random.uniform(4.5, 6.5))
            server.kill()
            load.join()
        self.kills += 1
        self.acknowledged |= load.acknowledged
        self.unanswered |= load.unanswered

    def compactions(self):
        """Commits of `spans` that took files away."""
        log = self.plimsoll.lake / "spans" / "_delta_log"
        commits = [[json.loads(line) for line in file.read_text().splitlines()] for file in log.glob("*.json")]
        return sum(any("remove" in action for action in commit) for commit in commits)

    def verify(self):
        """No acknowledged span is missing and no span, acknowledged or not, is there twice; figures of it."""
        for rows in span_ids(self.plimsoll.lake):
            stored = set(rows)
            assert not self.acknowledged - stored, "acknowledged and lost"
            assert len(rows) == len(stored), "stored twice"
            assert stored <= self.acknowledged | self.unanswered, "stored and never sent"
        self.plimsoll.run("profile")
        runs = self.plimsoll.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
        assert runs["runs"] * (SPANS_A_REQUEST - 1) == runs["calls"], "a request is stored whole or not at all"
        assert runs["runs"] * SPANS_A_REQUEST == len(stored)
        self.plimsoll.run("check")
        return {
            "kills": self.kills,
            "spans acknowledged": len(self.acknowledged),
            "spans without an answer": len(self.unanswered),
            "spans stored": len(stored),
            "compactions": self.compactions(),
            "samples of the books": self.books.samples,
            "MiB of memory at most": round(self.books.peak_bytes / (1 << 20)),
        }
