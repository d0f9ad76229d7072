//! What one limit of one pool needs: the instant that binds, the figures at it, and what follows.
//!
//! Instants are compared by their percentile floors, which cost nothing; the one that binds, and the
//! one that asks for most, are then replayed, and what replay shows is the need. Leaves the rounding to
//! what is granted to `pools`, since limits of one pool are often raised together. The invariants: the row's figures all belong to the one instant that it names, and a
//! quota is never decreased.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::cheaper::max_tokens;
use crate::context::{Context, PlanError, PoolId, mean};
use crate::deadline::{Deadline, Lead};
use crate::demand::{Counted, Demand, Draws, Kind, Part, explain};
use crate::inputs::inputs;
use crate::pattern::patterns_told;
use crate::quantity::Quantity;
use crate::rates::{Rates, occurrences};
use crate::replayed::replayed;
use crate::timeline::Timeline;
use crate::windows::EventWindows;
use crate::{CheaperFix, DimensionPlan, PoolMeasured, ReplayPlan};

/// A dimension's row, with what later steps build on.
#[derive(Debug)]
pub(crate) struct Needed {
    pub(crate) plan: DimensionPlan,
    /// The demand at the instant that binds; `None` where there is no data.
    pub(crate) demand: Option<Demand>,
    /// The instant that binds; `None` for the busy minutes of the history.
    pub(crate) at: Option<Timestamp>,
    /// Most that any instant of the horizon needs above its limit, with the instant.
    pub(crate) largest: Option<(u64, Timestamp)>,
    /// The larger floor over all instants, for the coincidence factor: of the sum, and the sum of
    /// each workflow's own.
    pub(crate) peaks: (Quantity, Quantity),
    /// What setting `max_tokens` frees at that instant.
    pub(crate) fixes: Vec<CheaperFix>,
}

/// A limit by day: what is granted today and effective-dated.
pub(crate) type LimitOn<'l> = &'l dyn Fn(Date) -> Option<u64>;

/// One instant's demand, with the limit that is in force then.
#[derive(Clone)]
struct Candidate<'t> {
    at: Timestamp,
    occurrence: Option<&'t EventWindows>,
    demand: &'t Demand,
    rates: Option<&'t Rates<'t>>,
    limit: Option<u64>,
    /// Percentile floor with headroom.
    p95_need: u64,
    /// The same, until a replay tells better.
    need: u64,
    replay: Option<ReplayPlan>,
}

impl Candidate<'_> {
    fn exceeds(&self) -> bool {
        self.limit.is_some_and(|limit| self.need > limit)
    }

    /// What was looked at, in words.
    fn told(&self, context: &Context<'_>) -> String {
        let local = context.local(self.at);
        match (self.occurrence, self.rates) {
            (Some(occurrence), _) => {
                format!("{} of {}, looked at {local}", occurrence.event, occurrence.occurrence)
            }
            (None, Some(_)) => format!("the ordinary hour at {local}"),
            (None, None) => format!("{} of the busy minutes of the history", context.percentile_name()),
        }
    }

    /// The candidate with the need that a replay of it shows, where one can be made.
    fn replayed(&self, context: &Context<'_>, pool: &PoolId, counted: &Counted) -> Self {
        let mut shown = self.clone();
        if !context.input.quick
            && let Some(replay) = self.rates.and_then(|rates| replayed(context, pool, counted, rates))
        {
            shown.need = by_replay(&replay, &self.demand.margin(context), self.p95_need, || {
                self.was_throttled(context)
            });
            shown.replay = Some(replay);
        }
        shown
    }

    /// Whether a limit refused anything in the past occurrences of its event.
    fn was_throttled(&self, context: &Context<'_>) -> bool {
        self.occurrence.is_some_and(|occurrence| was_throttled(context, self.demand, &occurrence.event))
    }

    /// Whether both look at the same rates, so that one replay tells of both.
    fn same_rates(&self, other: &Self) -> bool {
        match (self.rates, other.rates) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }

    /// Whether its need is the larger share of its limit; where no limit above zero is known, the need itself
    /// counts.
    fn is_tighter_than(&self, other: &Self) -> bool {
        let limit = |of: &Self| u128::from(of.limit.filter(|limit| *limit > 0).unwrap_or(1));
        u128::from(self.need) * limit(other) > u128::from(other.need) * limit(self)
    }
}

/// Works out one dimension of one pool.
pub(crate) fn need(
    context: &Context<'_>,
    timeline: &Timeline<'_>,
    pool: &PoolId,
    counted: &Counted,
    limit_on: LimitOn<'_>,
    lead: &Lead,
) -> Result<Needed, PlanError> {
    let priced = |demand: Demand| {
        let need = (&demand.floor * &demand.margin(context)).ceil();
        (demand, need)
    };
    let draws = Draws::new(context, pool, counted);
    let by_state: Vec<Option<(Demand, u64)>> =
        timeline.states.iter().map(|rates| Some(priced(draws.at(rates)?))).collect();
    let busy_minute =
        context.pool_measured(pool).and_then(|measured| busy_minutes(context, measured, counted)).map(priced);
    let mut limits = BTreeMap::<Date, Option<u64>>::new();
    let mut limit_at = |at: Timestamp| {
        let day = context.input.calendar.local_date(at);
        *limits.entry(day).or_insert_with(|| limit_on(day))
    };
    let candidate = |at, occurrence, (demand, need), rates, limit| {
        let (demand, need): (&_, &u64) = (demand, need);
        Candidate { at, occurrence, demand, rates, limit, p95_need: *need, need: *need, replay: None }
    };
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for moment in &timeline.moments {
        let Some((demand, need)) = by_state.get(moment.state).and_then(Option::as_ref) else { continue };
        let occurrence = moment.occurrence.and_then(|index| context.windows.coming.get(index));
        // An event concerns a limit only where a workflow that it moves draws on it.
        let moves = |event: &EventWindows| {
            demand.parts.iter().any(|part| event.workflows.contains_key(&part.workflow))
        };
        if occurrence.is_some_and(|event| !moves(event)) {
            continue;
        }
        let (rates, limit) = (timeline.states.get(moment.state), limit_at(moment.at));
        candidates.push(candidate(moment.at, occurrence, (demand, need), rates, limit));
    }
    if let Some((demand, need)) = &busy_minute {
        candidates.push(candidate(context.input.as_of, None, (demand, need), None, limit_on(context.today)));
    }
    let peaks = peaks(&by_state);
    let Some(chosen) = choose(&candidates) else {
        return Ok(Needed {
            plan: no_data(
                &counted.dimension,
                counted.window_s,
                limit_on(context.today),
                "no run that draws on this was measured, or its rate is not known: no figure",
            ),
            demand: None,
            at: None,
            largest: None,
            peaks,
            fixes: Vec::new(),
        });
    };
    let largest =
        candidates.iter().filter(|candidate| candidate.exceeds()).max_by_key(|candidate| candidate.need);
    let shown = chosen.replayed(context, pool, counted);
    let largest = largest
        .map(|largest| match largest.same_rates(chosen) {
            true => Candidate { need: shown.need, ..largest.clone() },
            false => largest.replayed(context, pool, counted),
        })
        .filter(Candidate::exceeds);
    let tighter = tightest(&mut candidates.iter()).filter(|tighter| tighter.is_tighter_than(chosen));
    let chosen = &shown;
    let mut plan = row(context, counted, chosen);
    plan.derivation = derivation(context, pool, counted, chosen, &plan);
    plan.inputs = inputs(context, pool, counted, chosen.demand, chosen.rates, chosen.limit);
    if let Some(tighter) = tighter {
        let (percentile, needs) = (context.percentile_name(), Quantity::from(tighter.p95_need));
        plan.derivation
            .push(format!("tighter still by its {percentile}: {} needs {needs}", tighter.told(context)));
    }
    decide(context, chosen, lead, &mut plan)?;
    let mut largest = largest.map(|candidate| (candidate.need, candidate.at));
    let fixes = max_tokens(context, pool, counted, chosen.demand, chosen.rates);
    fix_first(context, &mut plan, &mut largest, chosen, &fixes);
    if let Some((most, at)) = largest.filter(|(most, _)| *most > chosen.need) {
        let day = context.input.calendar.local_date(at);
        plan.largest_need = Some(most);
        plan.derivation.push(format!(
            "the largest need of the horizon is {} on {day}; the request covers it",
            Quantity::from(most)
        ));
    }
    Ok(Needed {
        plan,
        demand: Some(chosen.demand.clone()),
        at: chosen.rates.map(|_| chosen.at),
        largest,
        peaks,
        fixes,
    })
}

/// The first event that needs more than its limit; else the tightest ordinary instant that does; else
/// the tightest instant of events; else of all.
fn choose<'c, 't>(candidates: &'c [Candidate<'t>]) -> Option<&'c Candidate<'t>> {
    let events = || candidates.iter().filter(|candidate| candidate.occurrence.is_some());
    events()
        .find(|candidate| candidate.exceeds())
        .and_then(|first| {
            // The first occurrence that needs it is shown at its own tightest instant.
            let same = |candidate: &&Candidate<'t>| candidate.occurrence == first.occurrence;
            tightest(&mut events().filter(same))
        })
        .or_else(|| tightest(&mut candidates.iter().filter(|candidate| candidate.exceeds())))
        .or_else(|| tightest(&mut events()))
        .or_else(|| tightest(&mut candidates.iter()))
}

/// The earliest of the tightest candidates.
fn tightest<'c, 't: 'c>(of: &mut dyn Iterator<Item = &'c Candidate<'t>>) -> Option<&'c Candidate<'t>> {
    of.fold(None, |best: Option<&Candidate<'t>>, candidate| match best {
        Some(best) if !candidate.is_tighter_than(best) => Some(best),
        _ => Some(candidate),
    })
}

/// The policy's percentile over the busy minutes of the history: sustained use, as it was measured.
pub(crate) fn busy_minutes(context: &Context<'_>, pool: &PoolMeasured, counted: &Counted) -> Option<Demand> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let stat = |stage: &str| pool.per_minute.get(&format!("{stage}.{measure}")).filter(|stat| stat.n > 0);
    let (admission, settlement) = (stat("admission"), stat("settlement"));
    let floors =
        (admission.map(|stat| context.percentile(stat)), settlement.map(|stat| context.percentile(stat)));
    let (basis, stat) =
        if floors.0 > floors.1 { ("admission", admission?) } else { ("settlement", settlement?) };
    let floor = context.percentile(stat);
    let named = format!("{basis}.{measure}");
    let shares = pool.by_workflow.iter().filter(|share| share.measure == named && share.amount > 0);
    let total: Quantity = shares.clone().map(|share| Quantity::from(share.amount)).sum();
    let mut parts: Vec<Part> = shares
        .map(|share| Part {
            workflow: share.workflow.clone(),
            floor: (&floor * &share.amount.into()).over(&total).unwrap_or_default(),
            n: stat.n,
            rate_from: "measured",
            own_weight: None,
        })
        .collect();
    parts.sort_by(|one, other| other.floor.cmp(&one.floor).then_with(|| one.workflow.cmp(&other.workflow)));
    let (mean, high) = (mean(stat)?, floor.clone());
    Some(Demand { mean, floor, high, basis, admission: floors.0, settlement: floors.1, parts })
}

/// Peak of the sum over all states, and the sum of each workflow's own peak.
fn peaks(by_state: &[Option<(Demand, u64)>]) -> (Quantity, Quantity) {
    let mut own = BTreeMap::<&str, &Quantity>::new();
    let mut sum = Quantity::zero();
    for (demand, _) in by_state.iter().flatten() {
        sum = sum.max(demand.floor.clone());
        for part in &demand.parts {
            let peak = own.entry(&part.workflow).or_insert(&part.floor);
            *peak = (*peak).max(&part.floor);
        }
    }
    (sum, own.into_values().cloned().sum())
}

/// A row without data: nothing is pretended.
pub(crate) fn no_data(dimension: &str, window_s: u32, limit: Option<u64>, why: &str) -> DimensionPlan {
    DimensionPlan {
        dimension: dimension.to_owned(),
        basis: "settlement".to_owned(),
        window_s,
        limit,
        decision: "no_data".to_owned(),
        derivation: vec![why.to_owned()],
        ..DimensionPlan::default()
    }
}

fn row(context: &Context<'_>, counted: &Counted, chosen: &Candidate<'_>) -> DimensionPlan {
    let demand = chosen.demand;
    let event = chosen.occurrence.map(|occurrence| occurrence.event.as_str());
    let (occurrences, censored) = event.map_or((0, 0.0), |event| past(context, demand, event));
    DimensionPlan {
        dimension: counted.dimension.clone(),
        basis: demand.basis.to_owned(),
        window_s: counted.window_s,
        limit: chosen.limit,
        mean_demand: demand.mean.ceil(),
        p95_floor: demand.floor.ceil(),
        p95_floor_admission: demand.admission.as_ref().map(Quantity::ceil),
        p95_floor_settlement: demand.settlement.as_ref().map(Quantity::ceil),
        p95_need: chosen.p95_need,
        replayed: chosen.replay.as_ref().map(|replay| replay.most),
        replay: chosen.replay.clone(),
        need: chosen.need,
        utilization_p95: chosen.limit.and_then(|limit| Some(demand.floor.over(&limit.into())?.to_f64())),
        decision: "hold".to_owned(),
        event: event.map(str::to_owned),
        event_start: chosen.occurrence.map(EventWindows::start),
        occurrences,
        censored,
        n: demand.parts.first().map_or(0, |part| part.n),
        rate_from: demand.parts.first().map_or("measured", |part| part.rate_from).to_owned(),
        own_weight: demand.parts.first().and_then(|part| part.own_weight),
        forecast_p95: (demand.high > demand.floor).then(|| demand.high.ceil()),
        ..DimensionPlan::default()
    }
}

/// What a replay tells is needed, with a margin on top. Of a lower bound of what was wanted no replay tells that
/// less is enough than the percentile says.
pub(crate) fn by_replay(
    replay: &ReplayPlan,
    margin: &Quantity,
    percentile: u64,
    throttled: impl FnOnce() -> bool,
) -> u64 {
    let need = (&Quantity::from(replay.most) * margin).ceil();
    if replay.lower_bound.is_some() && throttled() { need.max(percentile) } else { need }
}

/// Whether a limit refused anything in the past occurrences of an event.
pub(crate) fn was_throttled(context: &Context<'_>, demand: &Demand, event: &str) -> bool {
    past(context, demand, event).1 > 0.0
}

/// Past occurrences of an event that its drawing workflows lived, and the share of their attempts
/// that a limit refused.
fn past(context: &Context<'_>, demand: &Demand, event: &str) -> (u32, f64) {
    let lived: Vec<_> = demand
        .parts
        .iter()
        .filter_map(|part| context.workflow(&part.workflow))
        .flat_map(|workflow| occurrences(workflow, event))
        .collect();
    let starts: std::collections::BTreeSet<Timestamp> =
        lived.iter().map(|occurrence| occurrence.start).collect();
    let refused: u64 = lived.iter().map(|occurrence| occurrence.throttled_attempts).sum();
    let attempts: u64 = lived.iter().map(|occurrence| occurrence.attempts).sum();
    let share = Quantity::ratio(refused, attempts).map_or(0.0, |share| share.to_f64());
    (u32::try_from(starts.len()).unwrap_or(u32::MAX), share)
}

/// How the figures came about, one line a step.
fn derivation(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    chosen: &Candidate<'_>,
    plan: &DimensionPlan,
) -> Vec<String> {
    let demand = chosen.demand;
    let percentile = context.percentile_name();
    let mut lines = vec![chosen.told(context)];
    if let Some(rates) = chosen.rates {
        lines.extend(explain(context, pool, counted, demand, rates));
    }
    if let (Some(admission), Some(settlement)) = (&demand.admission, &demand.settlement) {
        lines.push(format!(
            "{percentile} floor by admission {admission}, by settlement {settlement}: {} counts",
            demand.basis
        ));
    }
    let headroom = &context.spec().policy.headroom;
    lines.push(format!(
        "{percentile} floor {} x {} = {}",
        demand.floor,
        margin_told(context, demand),
        Quantity::from(chosen.p95_need)
    ));
    if demand.high > demand.floor {
        lines.push(format!(
            "at the P95 of the forecast rates the floor is {}; of that and a headroom of {headroom} the larger counts",
            Quantity::from(demand.high.ceil())
        ));
    }
    if let Some(replay) = &chosen.replay {
        lines.extend(replay_told(context, chosen, replay));
    }
    let day = context.input.calendar.local_date(chosen.at);
    lines.push(match chosen.limit {
        Some(limit) => format!("limit in force on {day}: {}", Quantity::from(limit)),
        None => "no limit is given, so nothing can be decided".to_owned(),
    });
    match (chosen.occurrence, plan.occurrences) {
        (None, _) => {}
        (Some(_), 0) if plan.rate_from == "assumed" => {
            lines.push("no past occurrence was measured: the rate is an assumption".to_owned());
        }
        (Some(_), 0) => lines.push("no past occurrence was measured: the rate is the spec's word".to_owned()),
        (Some(_), 1) => lines.push("one past occurrence was measured, which is no trend".to_owned()),
        (Some(_), n) => lines.push(format!(
            "{n} past occurrences were measured; the next may exceed all of them with probability 1 in {}",
            n + 1
        )),
    }
    if plan.censored > 0.0 {
        lines.push(format!(
            "{:.1} % of their attempts were refused, so what they show is a lower bound",
            plan.censored * 100.0
        ));
    }
    lines
}

/// What is put on top, as a factor.
fn margin_told(context: &Context<'_>, demand: &Demand) -> String {
    let (margin, headroom) = (demand.margin(context), &context.spec().policy.headroom);
    if margin > context.with_headroom() {
        format!("{margin}, since the forecast's P95 is that much above what is expected")
    } else {
        format!("(1 + {headroom})")
    }
}

/// What the replay showed; and why, where that is far from the percentile's figure.
fn replay_told(context: &Context<'_>, chosen: &Candidate<'_>, replay: &ReplayPlan) -> Vec<String> {
    let (most, percentile) = (Quantity::from(replay.most), context.percentile_name());
    let mut lines = vec![format!(
        "replayed: {most} is the smallest limit that keeps every tier's throttled share within its target, over \
         {} min at these rates, {} times with arrivals of their own, drawn from {} measured runs; x {} = {}",
        replay.minutes,
        replay.seeds,
        replay.runs,
        margin_told(context, chosen.demand),
        Quantity::from((&most * &chosen.demand.margin(context)).ceil())
    )];
    if let Some(rates) = chosen.rates {
        lines.extend(patterns_told(context, rates, replay.minutes));
    }
    if let Some(seconds) = replay.holds_s {
        lines.push(format!(
            "what the pool refused tells that its buckets hold no more than flows in within {seconds} s, so the limit \
             is held over a few seconds and not over a minute"
        ));
    }
    if replay.cut_short > 0 {
        lines.push(format!(
            "{} of the measured runs were ended by a limit; each was replayed with the rest of one that was not",
            replay.cut_short
        ));
    }
    if let Some(why) = replay.lower_bound.as_ref().filter(|_| chosen.was_throttled(context)) {
        lines.push(format!("past occurrences were throttled, and what was replayed is a lower bound: {why}"));
        if chosen.need == chosen.p95_need {
            lines.push(format!("so the {percentile} counts: {}", Quantity::from(chosen.need)));
            return lines;
        }
    }
    let third = Quantity::ratio(4, 3).unwrap_or_default();
    let (need, floor) = (Quantity::from(chosen.need), Quantity::from(chosen.p95_need));
    let busiest = Quantity::from(replay.busiest_window);
    if need > &floor * &third {
        lines.push(format!(
            "more than the {percentile} tells: runs arrive unevenly or draw most of what they draw at once, so the \
             busiest window of the replay asked for {busiest}, against a mean of {}",
            chosen.demand.mean
        ));
    } else if floor > &need * &third {
        lines.push(format!(
            "less than the {percentile} tells: a run's draw is spread over its length and few runs are at their \
             {percentile} together, so the busiest window of the replay asked for {busiest}"
        ));
    }
    if !replay.monotone {
        lines.push("a larger limit was seen to do worse than a smaller one: what is told held wherever it was tried above".to_owned());
    }
    lines
}

/// Dates and decision. What has no date of its own (ordinary use above the review line) is due today.
fn decide(
    context: &Context<'_>,
    chosen: &Candidate<'_>,
    lead: &Lead,
    plan: &mut DimensionPlan,
) -> Result<(), PlanError> {
    if chosen.limit.is_none() {
        plan.decision = "no_data".to_owned();
        return Ok(());
    }
    if !chosen.exceeds() {
        return Ok(());
    }
    let (deadline, decision) = match chosen.occurrence {
        Some(occurrence) => {
            let start = context.input.calendar.local_date(occurrence.start());
            let deadline = lead.deadline(context, start)?;
            (deadline, deadline.decision(context.today))
        }
        None => {
            let over = chosen.limit.is_some_and(|limit| chosen.demand.floor > limit.into());
            (
                Deadline { file_by: context.today, last_safe: context.today },
                if over { "late" } else { "file_now" },
            )
        }
    };
    plan.decision = decision.to_owned();
    plan.file_by = Some(deadline.file_by);
    plan.last_safe = Some(deadline.last_safe);
    plan.derivation.push(format!("lead time: {}", lead.told));
    Ok(())
}

/// Where setting `max_tokens` alone brings the need under the limit, there is nothing to ask for: a
/// provider refuses what a setting gives for free.
fn fix_first(
    context: &Context<'_>,
    plan: &mut DimensionPlan,
    largest: &mut Option<(u64, Timestamp)>,
    chosen: &Candidate<'_>,
    fixes: &[CheaperFix],
) {
    let freed: u64 = fixes.iter().map(|fix| fix.frees).sum();
    let (true, Some(limit)) = (chosen.exceeds() && freed > 0, chosen.limit) else { return };
    let left =
        (&chosen.demand.floor - &freed.into()).max(chosen.demand.settlement.clone().unwrap_or_default());
    let need = (&left * &chosen.demand.margin(context)).ceil();
    if need > limit {
        return;
    }
    plan.decision = "hold".to_owned();
    plan.fix_first = true;
    (plan.file_by, plan.last_safe) = (None, None);
    *largest = None;
    plan.derivation.push(format!(
        "setting max_tokens frees {} and leaves a need of {}: no request before that",
        Quantity::from(freed),
        Quantity::from(need),
    ));
}
