//! The local days that the lake covers whole, and which of them are normal for a workflow.
//!
//! The invariants: a day is as long as the local clock made it, 23 or 25 hours where it changed; a
//! normal day is a business day that no event of the workflow touches.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};

use crate::WorkflowMeasured;
use crate::context::{Context, PlanError};
use crate::windows::EventWindows;

/// One local day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Day {
    pub(crate) date: Date,
    start: Timestamp,
    end: Timestamp,
    business: bool,
}

/// Whole local days of the lake up to the day of `as_of`, in order.
#[derive(Debug)]
pub(crate) struct Days(Vec<Day>);

/// Runs that a workflow started on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayStarts {
    pub(crate) date: Date,
    /// A business day without an event of the workflow.
    pub(crate) normal: bool,
    /// Runs started.
    pub(crate) runs: u64,
    /// Runs started in the busiest hour.
    pub(crate) busiest_hour: u64,
}

impl Days {
    pub(crate) fn new(context: &Context<'_>) -> Result<Self, PlanError> {
        let calendar = context.input.calendar;
        let Some(first) = context.measured().history.first_run else { return Ok(Self(Vec::new())) };
        let mut date = calendar.local_date(first).tomorrow()?;
        let mut days = Vec::new();
        while date < context.today {
            let next = date.tomorrow()?;
            days.push(Day {
                date,
                start: calendar.start_of_day(date)?,
                end: calendar.start_of_day(next)?,
                // Days that the holiday set does not know are no witnesses of what is normal.
                business: calendar.is_business_day(date).unwrap_or(false),
            });
            date = next;
        }
        Ok(Self(days))
    }

    /// What a workflow started on each day.
    pub(crate) fn starts(
        &self,
        context: &Context<'_>,
        workflow: &WorkflowMeasured,
        moved: &[&EventWindows],
    ) -> Vec<DayStarts> {
        let touched = touched(context, moved);
        let mut hours = workflow.hourly_starts.iter().peekable();
        let mut found = Vec::with_capacity(self.0.len());
        for day in &self.0 {
            let (mut runs, mut busiest_hour) = (0, 0);
            while let Some((hour, starts)) = hours.next_if(|(hour, _)| *hour < day.end) {
                if *hour >= day.start {
                    runs += starts;
                    busiest_hour = busiest_hour.max(*starts);
                }
            }
            let normal = day.business && !touched.contains(&day.date);
            found.push(DayStarts { date: day.date, normal, runs, busiest_hour });
        }
        found
    }
}

/// Local days that these events touch.
fn touched(context: &Context<'_>, events: &[&EventWindows]) -> BTreeSet<Date> {
    let calendar = context.input.calendar;
    let mut days = BTreeSet::new();
    for (start, end) in events.iter().flat_map(|event| &event.windows) {
        let last = end.checked_sub(jiff::SignedDuration::from_nanos(1)).map_or(*start, |last| last);
        let (first, last) = (calendar.local_date(*start), calendar.local_date(last));
        days.extend(first.series(jiff::ToSpan::day(1)).take_while(|day| *day <= last));
    }
    days
}

/// Occurrences of events by the workflow that they move, past ones first.
pub(crate) fn moving<'c>(context: &'c Context<'_>) -> BTreeMap<&'c str, Vec<&'c EventWindows>> {
    let mut found = BTreeMap::<&str, Vec<&EventWindows>>::new();
    for occurrence in context.windows.past.iter().chain(&context.windows.coming) {
        for workflow in occurrence.workflows.keys() {
            found.entry(workflow).or_default().push(occurrence);
        }
    }
    found
}

/// Hours of the week, Monday 00:00 first, and behind them the 24 hours of holidays.
pub(crate) const SLOTS: usize = 192;
/// First hour of holidays.
pub(crate) const HOLIDAY: usize = 168;

/// Which days are holidays, for the hour of an instant.
#[derive(Debug)]
pub(crate) struct Hours(BTreeSet<Date>);

impl Hours {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let calendar = context.input.calendar;
        let (from, through) = calendar.valid();
        // A bridge day that is worked, or a holiday that falls on a weekend, is like its hour of the week.
        let free = |day: &Date| calendar.is_business_day(*day).is_ok_and(|business| !business);
        let working = |day: &Date| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
        Self(calendar.holidays(from, through).map(|(day, _)| day).filter(free).filter(working).collect())
    }

    /// The slot of an instant in the calendar's zone.
    pub(crate) fn slot(&self, context: &Context<'_>, at: Timestamp) -> usize {
        let local = context.input.calendar.zone().to_datetime(at);
        let hour = usize::try_from(local.hour()).unwrap_or(0);
        if self.0.contains(&local.date()) { HOLIDAY + hour } else { weekday(local.date()) * 24 + hour }
    }

    /// The hour of the week that a holiday's hour would be, were it none.
    pub(crate) fn plain(context: &Context<'_>, at: Timestamp) -> usize {
        let local = context.input.calendar.zone().to_datetime(at);
        weekday(local.date()) * 24 + usize::try_from(local.hour()).unwrap_or(0)
    }
}

fn weekday(date: Date) -> usize {
    usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0)
}
