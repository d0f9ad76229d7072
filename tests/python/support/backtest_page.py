"""docs/backtest.md, from what `plimsoll backtest` prints.

Figures come from scores alone; the prose says what they mean, and must hold for whatever they are.
"""

# What a plan should reach, without headroom.
GOAL_COVERED = 0.99
GOAL_OVER = 1.5
# Where it is not reached: what cannot be known from the trace.
NOTES = {
    "AzureLLMInferenceTrace_conv": (
        "an hour without a rhythm. Its load grows by 70 % within ten minutes, then halves, and nothing in the minutes"
        " before tells of either: plans made before the growth miss its minutes. All that came after it is within the"
        " need of the third plan, made seven minutes after the first"
    ),
    "synthetic_trace": (
        "seventeen minutes in which the cache fills, so that demand falls to a twentieth; how far it will fall is not"
        " in the minutes before, and a plan that holds the level asks for too much. No window is missed"
    ),
    "deepseek-r1": (
        "one day of ten clients, most of whom send for a part of it only. The first plans are made in the quiet of"
        " the eighth hour, at a thirtieth of the evening's peak, when those who make it have not been seen yet. No"
        " method can know of them; P95 comes nearer, since it goes by the busiest minute of all the history"
    ),
}
HEADER = (
    "| trace | limit | requests | windows | covered: replay | covered: P95 | over-provision: replay"
    " | over-provision: P95 | throttled: replay | throttled: P95 |\n|---|---|--:|--:|--:|--:|--:|--:|---|---|"
)
BEGINNING = """# Do such plans hold?

A plan is worth what it would have been worth. `plimsoll backtest` makes ten plans from the first part of a history and
holds each against all that came after it. This page is what it prints for public traces and for the example company;
`tests/python/test_backtest.py` makes it, and fails when it no longer holds.

```sh
plimsoll backtest trace.csv requests.jsonl servegen/ lake/    # --format json for scripts
```

* **windows**: whole minutes behind the plans, over all ten. No less than a third of the history lies before the first.
* **covered**: those whose demand is within the need. Headroom, 35 % unless a policy says otherwise, is not counted.
* **over-provision**: need over the largest minute that came, the median of the ten plans. 1.00 is a perfect forecast;
  below it the largest minutes are the ones that are not covered.
* **throttled**: operations that a limit of the need would have refused at first, by tier, when the rest of the trace
  is replayed against it.
* **replay** is the need of a plan, **P95** the figure that people can check by hand: P95 draw of a request times the
  requests of the busy minute.

## Public traces

What a limit counts here is input that no cache served and output, by the UTC minute. All requests are of tier 0: a
plan may let none be throttled.

"""
GOAL = """
A plan should cover 99 % of the minutes at 1.5 times the largest of them or less. By replay {met} of {all} traces are
covered so: {names}. By P95 {p95}. Where the P95 need covers more, it asks for more: {times} times the largest minute in
the median of the traces, against {replay_times} by replay.

## What cannot be known

"""
METHOD = """
## How these plans are made

A trace of requests has no calendar, no workflows and no runs of several calls, so a plan goes by its peaks:

1. The history is cut into stretches alike, days where it has four of them, else eighths. Each is told by its largest
   minute.
2. A level follows the logs of these peaks by a share of each surprise; every share counts for as much as the peaks
   speak for it. What is left unexplained, with the planner's prior of 25 % for events, gives a Student-t
   ([`rates/peaks.rs`](../crates/plan/src/rates/peaks.rs)). The coming peak is what three of four stretches halfway
   through the rest stay below: headroom is for the fourth.
3. The five largest past peaks, half an hour to each side, are replayed as they were recorded, each at the size of the
   coming one, and the need is the smallest limit that serves all of them within the targets of the policy. It is the
   planner's search, with its precision and its targets.

A plan of a lake knows more, and goes another way: rates by the hour of the week, events of the calendar, runs with
their steps drawn as unevenly as they arrived. So a lake is held against the planner's own needs, made at each instant
from what lay before it. Of the spec the dates of events count, and not the rates that somebody wrote beside them, who
may have known how it went.

Nothing was set for one trace. Also tried, and worse: the largest peak seen (asks for two to three times what came where
load falls), one share of surprises fitted to each history (a few peaks fit anything), a damped trend of the level
(overshoots on the long traces), runs drawn anew with bursts of a gamma law (an hour that is on or off has no such tail,
and asks for four times its largest minute), the busiest hour as a whole (a client that sends large requests for ten
minutes is lost in it), and P80 or P90 for P75 (above 1.5 on two of the traces that now meet the goal). Six to ten
stretches for eight, or a prior twice as strong or as weak, change few figures by more than a tenth.

ServeGen publishes rates, not requests. They are made from its rates, its law of the gaps between them and its counts of
tokens by client; traces of more than a million are made at lower rates, the same for all clients and with the same law,
which makes them more uneven than they were. What is held in a cache is not known for Azure and ServeGen; Mooncake's
block hashes tell it, and here a prefix stays for the whole trace.

## The example company

Ten weeks of `plimsoll demo` at a tenth of its size, held against the planner's own needs, pool by pool and limit by
limit.

"""
ENDING = """
How to read it:

* Most minutes of a company are quiet, so nearly all are covered by any plan: here over-provision says more. Below 1 the
  largest minutes of the coming weeks pass the need: an ordinary hour is planned by its mean, and what lies between it
  and the largest minute of a month is left to headroom. The coming peak of the traces above would close that gap; the
  plan does not use it yet.
* Where both figures are the same, the P95 of the busy minutes of the history asks for more than the mean of any hour,
  and a plan takes it as it is: there is nothing to replay.
* Where a provider's refusals tell that its buckets hold no more than flows in within seconds, a limit has to serve the
  seconds. Such a need lies far above the largest minute, and is what keeps operations from being throttled: compare
  the last two columns.
* The launch of 1 October is a date without a past. Plans made before it assume 1.8 times the busy hour; it was eight.
"""


def percent(share, digits=2):
    """A share in per cent."""
    return f"{100 * share:.{digits}f} %"


def covered(score):
    """Share of windows within the need."""
    return score["covered"] / score["windows"]


def met(score):
    """Whether a plan reached what it should."""
    return covered(score) >= GOAL_COVERED and score["over_provision"] <= GOAL_OVER


def ratio(score):
    """Need over the largest window."""
    return "-" if score["over_provision"] is None else f"{score['over_provision']:.2f}"


def tiers(score):
    """Shares throttled, by tier."""
    shares = [f"{tier['tier']}: {percent(tier['throttled_share'], 3)}" for tier in score["tiers"]]
    return ", ".join(shares)


def median(values):
    """The middle one, or between the two."""
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def table(scores):
    """A row per trace and limit, both methods side by side."""
    rows = [HEADER]
    for (trace, dimension), of in scores.items():
        replay, p95 = of["replay"], of["p95"]
        requests = f"{replay['requests']:,}"
        if replay["requests"] < replay["of"]:
            requests += f" for {replay['of']:,}"
        cells = [trace, dimension.removesuffix("_per_min"), requests, f"{replay['windows']:,}"]
        cells += [percent(covered(replay)), percent(covered(p95)), ratio(replay), ratio(p95), tiers(replay), tiers(p95)]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def goal(scores):
    """How many reached it."""
    reached = [trace for (trace, _), of in scores.items() if met(of["replay"])]
    by_p95 = sum(met(of["p95"]) for of in scores.values())
    over = {method: median([of[method]["over_provision"] for of in scores.values()]) for method in ("replay", "p95")}
    return GOAL.format(
        met=len(reached),
        all=len(scores),
        names=", ".join(reached),
        p95="none is" if by_p95 == 0 else f"{by_p95} is" if by_p95 == 1 else f"{by_p95} are",
        times=f"{over['p95']:.1f}",
        replay_times=f"{over['replay']:.1f}",
    )


def unknown(scores):
    """What was missed, and why."""
    lines = []
    for (trace, _), of in scores.items():
        if not met(of["replay"]):
            figures = f"{percent(covered(of['replay']))} at {ratio(of['replay'])}"
            lines.append(f"* **{trace}** ({figures}): {NOTES[trace]}.")
    return "\n".join(lines) + "\n"


def page(public, pools):
    """The page."""
    return BEGINNING + table(public) + goal(public) + unknown(public) + METHOD + table(pools) + ENDING
