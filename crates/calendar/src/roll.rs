//! What becomes of an event's day on which no business is done.
//!
//! Invariant: a business day stays where it is; a rolled day is a business day.

use std::fmt;

use jiff::civil::Date;

use crate::{Calendar, CalendarError};

/// A roll convention, in the words of swap documentation beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roll {
    /// To the next business day ("following").
    Next,
    /// To the one before ("preceding").
    Previous,
    /// To the next, unless that is in another month: then to the one before ("modified following").
    NextInMonth,
    /// To the one before, unless that is in another month: then to the next ("modified preceding").
    PreviousInMonth,
    /// To the nearer of both; the next where they are equally near.
    Nearest,
}

impl Roll {
    /// The business day that stands in for `day`.
    ///
    /// US tax day 2028 (golden date G20): 15 April is a Saturday, and Monday the 17th Emancipation Day
    /// in Washington, so Tuesday the 18th; options that expire on a Good Friday go the other way (G19).
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where the way leads outside the calendar's valid days.
    pub fn apply(self, calendar: &Calendar, day: Date) -> Result<Date, CalendarError> {
        if calendar.is_business_day(day)? {
            return Ok(day);
        }
        let next = || calendar.add_business_days(day, 1);
        let previous = || calendar.add_business_days(day, -1);
        let in_month = |found: Date| (found.year(), found.month()) == (day.year(), day.month());
        match self {
            Self::Next => next(),
            Self::Previous => previous(),
            Self::NextInMonth => {
                next().and_then(|found| if in_month(found) { Ok(found) } else { previous() })
            }
            Self::PreviousInMonth => {
                previous().and_then(|found| if in_month(found) { Ok(found) } else { next() })
            }
            Self::Nearest => {
                let (before, after) = (previous()?, next()?);
                let nearer = before.duration_until(day) < day.duration_until(after);
                Ok(if nearer { before } else { after })
            }
        }
    }
}

impl fmt::Display for Roll {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Next => "else the next business day",
            Self::Previous => "else the previous business day",
            Self::NextInMonth => "else the next business day of the month, or the previous one",
            Self::PreviousInMonth => "else the previous business day of the month, or the next one",
            Self::Nearest => "else the nearest business day",
        })
    }
}
