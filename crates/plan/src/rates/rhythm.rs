//! How fast every workflow starts runs, at any instant of the horizon.
//!
//! Inside an event a workflow starts runs at its event rate, outside at the rate of that hour of the
//! week, grown. Leaves what a run draws to `demand`. The invariant: every rate says what it came from,
//! and a rate that cannot be known is absent, never zero.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use rayon::prelude::*;

use crate::WorkflowMeasured;
use crate::context::{Context, PlanError};
use crate::overlap::holds;
use crate::quantity::Quantity;
use crate::rates::busy::{lived, normal};
use crate::rates::days::{Days, Hours, moving};
use crate::rates::effect::Prior;
use crate::rates::growth::{Factor, Growth};
use crate::rates::how::How;
use crate::rates::load::{Load, hours_of_history};
use crate::rates::outlook::{Outlook, ratios};
use crate::rates::past::run_minutes;
use crate::windows::EventWindows;

/// A rate and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rate {
    /// Runs started a minute, as expected.
    pub(crate) per_min: Quantity,
    /// Runs started a minute that the forecast stays below at P95: the same where nothing was forecast.
    pub(crate) high: Quantity,
    /// runs_per_min, in_flight, measured, multiplier, assumed, hour_of_week.
    pub(crate) from: &'static str,
    /// The event that gave it.
    pub(crate) event: Option<String>,
    /// Weight of the workflow's own occurrences beside the prior, where past ones were used.
    pub(crate) own_weight: Option<f64>,
    /// How it came about.
    pub(crate) how: How,
}

impl Rate {
    /// As the spec gives it: nothing was forecast.
    fn given(per_min: Quantity, from: &'static str, event: &str, how: String) -> Self {
        let how = how.into();
        Self { high: per_min.clone(), per_min, from, event: Some(event.to_owned()), own_weight: None, how }
    }
}

/// What every workflow does at once; workflows without a known rate are absent.
pub(crate) type Rates<'a> = BTreeMap<&'a str, Rate>;

/// Instants that are alike in all of these have the same ordinary rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alike {
    /// Hour of the week, or of a holiday.
    slot: usize,
    /// Hour of the week, which a holiday is like where none was seen.
    plain: usize,
    /// Weeks ahead, as far as any growth is told.
    weeks: usize,
}

/// What was learned of one workflow.
#[derive(Debug)]
pub(crate) struct Learned<'a> {
    pub(crate) measured: &'a WorkflowMeasured,
    pub(crate) load: Load,
    pub(crate) growth: Growth,
    /// By event that moves it.
    pub(crate) outlooks: BTreeMap<&'a str, Outlook>,
}

/// Rates of all workflows at any instant.
#[derive(Debug)]
pub(crate) struct Rhythm<'a> {
    context: &'a Context<'a>,
    hours: Hours,
    /// What is believed of an event before it is seen.
    pub(crate) prior: Prior,
    pub(crate) workflows: BTreeMap<&'a str, Learned<'a>>,
}

impl Alike {
    /// Hours of all weeks that are the same hour of the week, or of a holiday.
    pub(crate) fn hour(self) -> (usize, usize) {
        (self.slot, self.plain)
    }
}

impl<'a> Rhythm<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Result<Self, PlanError> {
        let hours = Hours::new(context);
        let (days, history) = (Days::new(context)?, hours_of_history(context, &hours));
        let moving = moving(context);
        let learn = |measured: &'a WorkflowMeasured| {
            let moved = moving.get(measured.workflow.as_str()).map_or(&[][..], Vec::as_slice);
            let starts = days.starts(context, measured, moved);
            let normal = normal(&starts, context.today);
            let events = context.spec().events.iter();
            let events = events.filter(|event| event.workflows.contains_key(&measured.workflow));
            let outlook = |name: &'a str| {
                let lived = lived(context, measured, moved, &starts, name);
                (name, Outlook { lived, normal: normal.clone(), effect: None })
            };
            let learned = Learned {
                measured,
                load: Load::new(measured, moved, &history),
                growth: Growth::of(context, &starts),
                outlooks: events.map(|event| outlook(&event.name)).collect(),
            };
            (measured.workflow.as_str(), learned)
        };
        let measured: Vec<&'a WorkflowMeasured> = context.measured().workflows.iter().collect();
        let learned: Vec<_> = measured.into_par_iter().map(learn).collect();
        let mut workflows: BTreeMap<_, _> = learned.into_iter().collect();
        // Of each workflow the event that it lived most often teaches the prior.
        let taught = |learned: &Learned<'_>| {
            let outlooks = learned.outlooks.values();
            outlooks.map(|outlook| ratios(&outlook.lived, |one| !one.censored)).max_by_key(Vec::len)
        };
        let taught: Vec<Vec<f64>> = workflows.values().filter_map(taught).collect();
        let prior = Prior::learned(&taught).unwrap_or_default();
        for outlook in workflows.values_mut().flat_map(|learned| learned.outlooks.values_mut()) {
            let Outlook { lived, normal, .. } = std::mem::take(outlook);
            *outlook = Outlook::new(lived, normal, &prior);
        }
        Ok(Self { context, hours, prior, workflows })
    }

    /// Runs a minute of every workflow at an instant.
    pub(crate) fn at(&self, at: Timestamp) -> Rates<'a> {
        let (active, all) = (self.active(at), self.workflows.iter());
        all.filter_map(|(name, learned)| Some((*name, self.rate(learned, at, &active)?))).collect()
    }

    /// Occurrences that are on.
    pub(crate) fn active(&self, at: Timestamp) -> Vec<&'a EventWindows> {
        self.context.windows.coming.iter().filter(|occurrence| occurrence.contains(at)).collect()
    }

    /// The same of some workflows, while these occurrences are on.
    pub(crate) fn of(
        &self,
        at: Timestamp,
        active: &[&EventWindows],
        workflows: &BTreeSet<&str>,
    ) -> Rates<'a> {
        let known = workflows.iter().filter_map(|name| self.workflows.get_key_value(*name));
        known.filter_map(|(name, learned)| Some((*name, self.rate(learned, at, active)?))).collect()
    }

    /// The event that moves a workflow among those that are on: at most one does at once.
    pub(crate) fn mover<'e>(&self, name: &str, active: &[&'e EventWindows]) -> Option<&'e EventWindows> {
        let moves = |event: &&&EventWindows| event.workflows.contains_key(name) && holds(event, active, name);
        active.iter().find(moves).copied()
    }

    /// Runs a minute of a workflow while these occurrences are on. One whose rate in an event is not known
    /// has none: the ordinary rate would understate it.
    fn rate(&self, learned: &Learned<'_>, at: Timestamp, active: &[&EventWindows]) -> Option<Rate> {
        match self.mover(&learned.measured.workflow, active) {
            Some(event) => self.in_event(learned, event, at),
            None => self.ordinary(learned, at),
        }
    }

    /// What tells the ordinary rates of an instant from those of another.
    pub(crate) fn alike(&self, at: Timestamp) -> Alike {
        let grows = self.workflows.values().any(|learned| matches!(learned.growth, Growth::Known(_)));
        Alike {
            slot: self.hours.slot(self.context, at),
            plain: Hours::plain(self.context, at),
            weeks: if grows { Growth::weeks_ahead(self.context, at) } else { 0 },
        }
    }

    /// Runs of some workflows over a local day, told as a rate whose unit is the day; `moving` are the
    /// occurrences that may move them.
    pub(crate) fn on(
        &self,
        day: Date,
        workflows: &BTreeSet<&str>,
        moving: &[&EventWindows],
    ) -> Result<Rates<'a>, PlanError> {
        let calendar = self.context.input.calendar;
        let (mut at, end) = (calendar.start_of_day(day)?, calendar.start_of_day(day.tomorrow()?)?);
        let quarter = SignedDuration::from_mins(15);
        let mut day = Rates::new();
        // Quarters of an hour in which the same is on have the same rates.
        let mut last: Option<(Alike, Vec<&EventWindows>, Rates<'a>)> = None;
        while at < end {
            let active: Vec<&EventWindows> =
                moving.iter().copied().filter(|occurrence| occurrence.contains(at)).collect();
            let alike = self.alike(at);
            let same =
                |(as_before, on, _): &(Alike, Vec<&EventWindows>, _)| *as_before == alike && *on == active;
            if !last.as_ref().is_some_and(same) {
                let rates = self.of(at, &active, workflows);
                last = Some((alike, active, rates));
            }
            for (workflow, rate) in last.iter().flat_map(|(.., rates)| rates) {
                let (runs, high) = (&rate.per_min * &15.into(), &rate.high * &15.into());
                day.entry(*workflow)
                    .and_modify(|sum| {
                        sum.per_min = &sum.per_min + &runs;
                        sum.high = &sum.high + &high;
                        if rate.event.is_some() {
                            (sum.from, sum.event, sum.own_weight, sum.how) =
                                (rate.from, rate.event.clone(), rate.own_weight, rate.how.clone());
                        }
                    })
                    .or_insert_with(|| Rate { per_min: runs, high, ..rate.clone() });
            }
            at = at.checked_add(quarter)?;
        }
        Ok(day)
    }

    /// Runs a minute that a workflow starts in ordinary hours of a kind, before growth: the mean, exact.
    pub(crate) fn usual(&self, learned: &Learned<'_>, alike: Alike) -> Option<Quantity> {
        learned.load.usual(alike.slot, || alike.plain)
    }

    /// Growth of a workflow until hours of a kind.
    pub(crate) fn growth_of(&self, learned: &Learned<'_>, alike: Alike) -> Factor {
        learned.growth.after(alike.weeks)
    }

    /// Growth of a workflow until an instant.
    pub(crate) fn growth(&self, learned: &Learned<'_>, at: Timestamp) -> Factor {
        learned.growth.after(Growth::weeks_ahead(self.context, at))
    }

    /// Mean rate of that hour of the week outside the workflow's own events, grown.
    fn ordinary(&self, learned: &Learned<'_>, at: Timestamp) -> Option<Rate> {
        let slot = self.hours.slot(self.context, at);
        let usual = learned.load.usual(slot, || Hours::plain(self.context, at))?;
        let growth = self.growth(learned, at);
        let rate = Rate {
            per_min: usual.clone(),
            high: usual.clone(),
            from: "hour_of_week",
            event: None,
            own_weight: None,
            how: How::Usual(usual.clone(), None),
        };
        if growth == Factor::NONE {
            return Some(rate);
        }
        let grown = |factor: f64| Some(&usual * &Quantity::of_estimate(factor)?);
        Some(Rate {
            per_min: grown(growth.point)?,
            high: grown(growth.high)?,
            how: How::Usual(usual.clone(), Some((growth.point, growth.high))),
            ..rate
        })
    }

    /// The rate inside an event: as the spec has it, else as past occurrences were, else the spec's
    /// multiplier, else what is assumed of events.
    pub(crate) fn in_event(
        &self,
        learned: &Learned<'_>,
        occurrence: &EventWindows,
        at: Timestamp,
    ) -> Option<Rate> {
        let workflow = learned.measured;
        let name = occurrence.event.as_str();
        let rate = occurrence.workflows.get(&workflow.workflow)?;
        if let Some(runs) = &rate.runs_per_min {
            let how = format!("{runs} runs/min, as the spec has it");
            return Some(Rate::given(runs.clone(), "runs_per_min", name, how));
        }
        if let Some(in_flight) = &rate.in_flight {
            let (minutes, whose) = run_minutes(workflow, name)?;
            let per_min = in_flight.over(&minutes)?;
            let how =
                format!("{in_flight} in flight / {minutes} min mean run ({whose}) = {per_min} runs/min");
            return Some(Rate::given(per_min, "in_flight", name, how));
        }
        let outlook = learned.outlooks.get(name)?;
        if let (Some(times), true) = (&rate.multiplier, outlook.lived.is_empty()) {
            let usual = self.ordinary(learned, at)?;
            let how = format!("{times} x {}", usual.how).into();
            return Some(Rate {
                per_min: &usual.per_min * times,
                high: &usual.high * times,
                from: "multiplier",
                event: Some(name.to_owned()),
                own_weight: None,
                how,
            });
        }
        let growth = self.growth(learned, at);
        let expected = outlook.expected(growth)?;
        let how = outlook.told(&expected, growth, &self.prior).into();
        Some(Rate {
            per_min: expected.p50,
            high: expected.planned,
            from: if outlook.lived.is_empty() { "assumed" } else { "measured" },
            event: Some(name.to_owned()),
            own_weight: outlook.effect.as_ref().map(super::effect::Effect::own_weight),
            how,
        })
    }
}

/// The start of the UTC hour.
pub(crate) fn hour_floor(at: Timestamp) -> Timestamp {
    let seconds = at.as_second();
    Timestamp::from_second(seconds - seconds.rem_euclid(3600)).unwrap_or(at)
}

/// The starts of the UTC hours after an instant.
pub(crate) fn hours_after(at: Timestamp) -> impl Iterator<Item = Timestamp> {
    let hour = hour_floor(at);
    (1..).map_while(move |hours| hour.checked_add(SignedDuration::from_hours(hours)).ok())
}
