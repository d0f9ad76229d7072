//! Calendar periods whose business days are counted.
//!
//! Invariant: periods of one kind tile the calendar, each has one label.

use std::fmt;

use jiff::{ToSpan, civil::Date};

/// A kind of calendar period. Fiscal periods are a later matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Calendar month.
    Month,
    /// Calendar quarter.
    Quarter,
    /// Calendar year.
    Year,
}

impl Period {
    /// First and last day of the period that `date` lies in.
    pub fn bounds(self, date: Date) -> (Date, Date) {
        let month = date.first_of_month();
        match self {
            Self::Month => (month, date.last_of_month()),
            Self::Quarter => {
                let first = month.saturating_sub(i64::from((date.month() - 1) % 3).months());
                (first, first.saturating_add(2.months()).last_of_month())
            }
            Self::Year => (date.first_of_year(), date.last_of_year()),
        }
    }

    /// Name of the period that `date` lies in: `2026-11`, `2026-Q4`, `2026`.
    pub fn label(self, date: Date) -> String {
        match self {
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Quarter => format!("{:04}-Q{}", date.year(), (date.month() - 1) / 3 + 1),
            Self::Year => format!("{:04}", date.year()),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        })
    }
}
