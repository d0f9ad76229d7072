//! Fiscal years: those that begin with a month, and those of 52 or 53 whole weeks.
//!
//! It leaves business days to [`crate::Calendar`]. Invariant: the years of one [`Fiscal`] tile the
//! calendar, and so do its quarters and periods; a 53rd week belongs to the last period.

use std::fmt;

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

use crate::date_rule::month_name;

/// How a company's fiscal years run.
///
/// A year is named by the calendar year in which it ends, unless it is [named by its
/// start](Fiscal::named_by_start).
///
/// The retail calendar of the NRF in 2026 (4-5-4 weeks, ending on the Saturday nearest 31 January, and
/// named by its start); its April is golden date G23:
///
/// ```
/// use jiff::civil::date;
/// use plimsoll_calendar::{Fiscal, Period};
///
/// let april = Period::FiscalMonth(Fiscal::NRF);
/// assert_eq!(april.bounds(date(2026, 4, 20)), (date(2026, 4, 5), date(2026, 5, 2)));
/// assert_eq!(april.label(date(2026, 4, 20)), "FY2026-P03");
/// // G22: 2023 had 53 weeks, the last of them in January.
/// let year = Period::FiscalYear(Fiscal::NRF);
/// assert_eq!(year.bounds(date(2023, 6, 1)), (date(2023, 1, 29), date(2024, 2, 3)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fiscal {
    shape: Shape,
    named_by_start: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Twelve calendar months from the first of this one.
    Months { first: i8 },
    /// Weeks of each period of a quarter (13 together), and the day on which the year ends.
    Weeks { pattern: [i8; 3], ends: YearEnd },
}

/// The day on which a fiscal year of whole weeks ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YearEnd {
    /// The last such weekday of a month (1 to 12).
    Last(Weekday, i8),
    /// The such weekday nearest to the last day of a month (1 to 12), before or after it.
    Nearest(Weekday, i8),
}

impl YearEnd {
    /// The end that belongs to this calendar year.
    fn of(self, year: i16) -> Date {
        let (Self::Last(weekday, month) | Self::Nearest(weekday, month)) = self;
        let last = Date::new(year, month, 1).map_or(Date::MAX, Date::last_of_month);
        let back = i64::from(last.weekday().since(weekday));
        let before = last.saturating_sub(back.days());
        match self {
            // Three days back at most, or else the one a week later is nearer.
            Self::Nearest(..) if back > 3 => before.saturating_add(1.week()),
            _ => before,
        }
    }
}

impl Fiscal {
    /// The 4-5-4 calendar of the National Retail Federation: ends on the Saturday nearest 31 January.
    pub const NRF: Self = Self {
        shape: Shape::Weeks { pattern: [4, 5, 4], ends: YearEnd::Nearest(Weekday::Saturday, 1) },
        named_by_start: true,
    };

    /// Years of twelve calendar months that begin with this one, 1 to 12.
    pub fn months(first: i8) -> Option<Self> {
        (1..=12).contains(&first).then_some(Self { shape: Shape::Months { first }, named_by_start: false })
    }

    /// Years of 52 or 53 weeks. `pattern` is the weeks of each period of a quarter, 4-4-5 or another
    /// order of these.
    pub fn weeks(pattern: [i8; 3], ends: YearEnd) -> Option<Self> {
        let (YearEnd::Last(_, month) | YearEnd::Nearest(_, month)) = ends;
        let kin = [[4, 4, 5], [4, 5, 4], [5, 4, 4]].contains(&pattern);
        (kin && (1..=12).contains(&month))
            .then_some(Self { shape: Shape::Weeks { pattern, ends }, named_by_start: false })
    }

    /// The same years, named by the calendar year in which they begin.
    #[must_use]
    pub fn named_by_start(self) -> Self {
        Self { named_by_start: true, ..self }
    }

    /// First and last day of the fiscal year that `date` lies in.
    pub fn year(&self, date: Date) -> (Date, Date) {
        match self.shape {
            Shape::Months { first } => {
                let back = i64::from((date.month() - first).rem_euclid(12));
                let start = date.first_of_month().saturating_sub(back.months());
                (start, start.saturating_add(11.months()).last_of_month())
            }
            Shape::Weeks { ends, .. } => {
                // The end that belongs to a calendar year may lie a few days into the next one.
                let mut year = date.year().saturating_sub(1);
                while ends.of(year) < date && year < 9998 {
                    year += 1;
                }
                (ends.of(year - 1).saturating_add(1.day()), ends.of(year))
            }
        }
    }

    /// Whole weeks of the fiscal year that `date` lies in: 52 or 53 for years of weeks.
    pub fn weeks_in_year(&self, date: Date) -> i32 {
        let (first, last) = self.year(date);
        (first.duration_until(last).as_hours() / 24 + 1) as i32 / 7
    }

    /// Name of the fiscal year that `date` lies in: `FY2026`.
    pub(crate) fn year_label(&self, date: Date) -> String {
        let (first, last) = self.year(date);
        // An end "nearest" to a month's last day may have slipped past New Year: what counts is the
        // month that it belongs to.
        let named = match (self.named_by_start, self.shape) {
            (true, _) => first.saturating_add(3.days()).year(),
            (false, Shape::Months { .. }) => last.year(),
            (false, Shape::Weeks { .. }) => last.saturating_sub(3.days()).year(),
        };
        format!("FY{named:04}")
    }

    /// Number (from 1), first and last day of the period (a fiscal month) that `date` lies in.
    pub(crate) fn month(&self, date: Date) -> (i8, Date, Date) {
        let (start, end) = self.year(date);
        match self.shape {
            Shape::Months { first } => {
                let number = (date.month() - first).rem_euclid(12) + 1;
                (number, date.first_of_month(), date.last_of_month())
            }
            Shape::Weeks { pattern, .. } => {
                let mut first = start;
                for number in 1..12 {
                    let weeks = pattern[usize::from((number as u8 - 1) % 3)];
                    let next = first.saturating_add(i64::from(weeks).weeks());
                    if date < next {
                        return (number, first, next.saturating_sub(1.day()));
                    }
                    first = next;
                }
                (12, first, end)
            }
        }
    }

    /// Number (from 1), first and last day of the fiscal quarter that `date` lies in.
    pub(crate) fn quarter(&self, date: Date) -> (i8, Date, Date) {
        let (start, end) = self.year(date);
        let quarter = (self.month(date).0 - 1) / 3;
        let at = |quarter: i8| match self.shape {
            Shape::Months { .. } => start.saturating_add(i64::from(quarter * 3).months()),
            Shape::Weeks { .. } => start.saturating_add(i64::from(quarter * 13).weeks()),
        };
        let last = if quarter == 3 { end } else { at(quarter + 1).saturating_sub(1.day()) };
        (quarter + 1, at(quarter), last)
    }
}

impl fmt::Display for Fiscal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Months { first } => write!(out, "a year from {}", month_name(first))?,
            Shape::Weeks { pattern: [a, b, c], ends } => {
                let (how, weekday, month) = match ends {
                    YearEnd::Last(weekday, month) => ("last", weekday, month_name(month)),
                    YearEnd::Nearest(weekday, month) => ("nearest", weekday, month_name(month)),
                };
                let ends = match how {
                    "last" => format!("the last {weekday:?} of {month}"),
                    _ => format!("the {weekday:?} nearest the end of {month}"),
                };
                write!(out, "a {a}-{b}-{c} year that ends on {ends}")?;
            }
        }
        out.write_str(if self.named_by_start { ", named by its start" } else { "" })
    }
}
