//! Periods whose business days are counted: calendar and fiscal months, quarters and years.
//!
//! Invariant: periods of one kind tile the calendar, each has one label.

use std::fmt;

use jiff::{ToSpan, civil::Date};

use crate::Fiscal;

/// A kind of period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Calendar month.
    Month,
    /// Calendar quarter.
    Quarter,
    /// Calendar year.
    Year,
    /// Period of a fiscal year: a calendar month, or four or five weeks.
    FiscalMonth(Fiscal),
    /// Quarter of a fiscal year.
    FiscalQuarter(Fiscal),
    /// Fiscal year.
    FiscalYear(Fiscal),
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
            Self::FiscalMonth(fiscal) => {
                let (_, first, last) = fiscal.month(date);
                (first, last)
            }
            Self::FiscalQuarter(fiscal) => {
                let (_, first, last) = fiscal.quarter(date);
                (first, last)
            }
            Self::FiscalYear(fiscal) => fiscal.year(date),
        }
    }

    /// Name of the period that `date` lies in: `2026-11`, `2026-Q4`, `2026`, `FY2027-P02`, `FY2027-Q1`,
    /// `FY2027`.
    pub fn label(self, date: Date) -> String {
        match self {
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Quarter => format!("{:04}-Q{}", date.year(), (date.month() - 1) / 3 + 1),
            Self::Year => format!("{:04}", date.year()),
            Self::FiscalMonth(fiscal) => format!("{}-P{:02}", fiscal.year_label(date), fiscal.month(date).0),
            Self::FiscalQuarter(fiscal) => format!("{}-Q{}", fiscal.year_label(date), fiscal.quarter(date).0),
            Self::FiscalYear(fiscal) => fiscal.year_label(date),
        }
    }

    /// More business days than any such period has.
    pub(crate) fn most_days(self) -> u16 {
        match self {
            Self::Month => 31,
            Self::FiscalMonth(_) => 42,
            Self::Quarter => 92,
            Self::FiscalQuarter(_) => 98,
            Self::Year | Self::FiscalYear(_) => 371,
        }
    }

    /// The fiscal year that it is a part of.
    pub(crate) fn fiscal(self) -> Option<Fiscal> {
        match self {
            Self::FiscalMonth(fiscal) | Self::FiscalQuarter(fiscal) | Self::FiscalYear(fiscal) => {
                Some(fiscal)
            }
            Self::Month | Self::Quarter | Self::Year => None,
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
            Self::FiscalMonth(_) => "fiscal month",
            Self::FiscalQuarter(_) => "fiscal quarter",
            Self::FiscalYear(_) => "fiscal year",
        })
    }
}
