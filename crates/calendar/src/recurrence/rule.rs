//! The text of a recurrence rule: `FREQ=MONTHLY;BYDAY=-1FR`.
//!
//! Invariant: an unknown part or a value out of range is refused, never skipped.

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Weekday},
};

use crate::ics::{Written, read_written};

/// How often a rule's interval comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// The last instance, in the form that it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Through this local date.
    Date(Date),
    /// Up to and with this local time.
    Local(DateTime),
    /// Up to and with this instant.
    Instant(Timestamp),
}

/// A recurrence rule. Lists are empty where a part is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recurrence {
    pub(crate) text: String,
    pub(crate) frequency: Frequency,
    pub(crate) interval: u16,
    pub(crate) count: Option<u32>,
    pub(crate) until: Option<Until>,
    pub(crate) week_start: Weekday,
    pub(crate) months: Vec<i16>,
    pub(crate) week_numbers: Vec<i16>,
    pub(crate) year_days: Vec<i16>,
    pub(crate) month_days: Vec<i16>,
    /// Weekdays, each with its number within month or year; 0 is every one.
    pub(crate) weekdays: Vec<(i16, Weekday)>,
    pub(crate) hours: Vec<i16>,
    pub(crate) minutes: Vec<i16>,
    pub(crate) seconds: Vec<i16>,
    pub(crate) positions: Vec<i16>,
}

impl Recurrence {
    /// Reads the value of an `RRULE`, or says why not.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut rule = Self {
            text: text.to_owned(),
            frequency: Frequency::Yearly,
            interval: 1,
            count: None,
            until: None,
            week_start: Weekday::Monday,
            months: Vec::new(),
            week_numbers: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
        };
        let mut frequency = None;
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` in the recurrence rule has no `=`; write KEY=VALUE"))?;
            let value = value.trim().to_ascii_uppercase();
            let numbers = |least, most| read_numbers(part, &value, least, most);
            match key.trim().to_ascii_uppercase().as_str() {
                "FREQ" => frequency = Some(read_frequency(&value)?),
                "INTERVAL" => {
                    let interval = value.parse().ok().filter(|interval| (1..=10_000).contains(interval));
                    rule.interval = interval
                        .ok_or_else(|| format!("`{part}`: an interval is a number from 1 to 10000"))?;
                }
                "COUNT" => {
                    let count = value.parse().ok().filter(|count| *count > 0);
                    rule.count = Some(
                        count.ok_or_else(|| format!("`{part}`: it never happens; a count is 1 or more"))?,
                    );
                }
                "UNTIL" => rule.until = Some(read_until(&value).map_err(|why| format!("`{part}`: {why}"))?),
                "WKST" => rule.week_start = weekday(&value).ok_or_else(|| no_weekday(part))?,
                "BYMONTH" => rule.months = read_numbers(part, &value, 1, 12)?,
                "BYWEEKNO" => rule.week_numbers = numbers(-53, 53)?,
                "BYYEARDAY" => rule.year_days = numbers(-366, 366)?,
                "BYMONTHDAY" => rule.month_days = numbers(-31, 31)?,
                "BYDAY" => {
                    for item in value.split(',') {
                        rule.weekdays.push(read_weekday(item).ok_or_else(|| no_weekday(part))?);
                    }
                }
                "BYHOUR" => rule.hours = numbers(0, 23)?,
                "BYMINUTE" => rule.minutes = numbers(0, 59)?,
                "BYSECOND" => rule.seconds = numbers(0, 59)?,
                "BYSETPOS" => rule.positions = numbers(-366, 366)?,
                _ => return Err(format!("`{part}` is no part of a recurrence rule that is known")),
            }
        }
        rule.frequency = frequency
            .ok_or_else(|| format!("`{text}` has no FREQ; write FREQ=DAILY, WEEKLY, MONTHLY or YEARLY"))?;
        rule.check()?;
        Ok(rule)
    }

    /// Parts that contradict each other.
    fn check(&self) -> Result<(), String> {
        let numbered = self.weekdays.iter().any(|(nth, _)| *nth != 0);
        let text = &self.text;
        if numbered && !matches!(self.frequency, Frequency::Monthly | Frequency::Yearly) {
            return Err(format!("`{text}`: a numbered weekday (BYDAY=2MO) needs FREQ=MONTHLY or YEARLY"));
        }
        if !self.positions.is_empty() && !self.has_parts() {
            return Err(format!("`{text}`: BYSETPOS needs another BY part to choose from"));
        }
        if self.count.is_some() && self.until.is_some() {
            return Err(format!("`{text}` has both COUNT and UNTIL; keep one"));
        }
        Ok(())
    }

    fn has_parts(&self) -> bool {
        let lists = [&self.months, &self.week_numbers, &self.year_days, &self.month_days, &self.hours];
        !self.weekdays.is_empty() || lists.iter().any(|list| !list.is_empty())
    }

    /// Whether the rule alone says on which days it falls, so that no start is needed for that.
    pub(crate) fn tells_its_days(&self) -> bool {
        let days = !self.weekdays.is_empty() || !self.month_days.is_empty() || !self.year_days.is_empty();
        self.interval == 1
            && self.count.is_none()
            && match self.frequency {
                Frequency::Daily => true,
                Frequency::Weekly => !self.weekdays.is_empty(),
                Frequency::Monthly => days,
                Frequency::Yearly => {
                    !self.year_days.is_empty()
                        || days && (!self.months.is_empty() || !self.weekdays.is_empty())
                }
            }
    }
}

fn read_frequency(value: &str) -> Result<Frequency, String> {
    match value {
        "DAILY" => Ok(Frequency::Daily),
        "WEEKLY" => Ok(Frequency::Weekly),
        "MONTHLY" => Ok(Frequency::Monthly),
        "YEARLY" => Ok(Frequency::Yearly),
        "HOURLY" | "MINUTELY" | "SECONDLY" => Err(format!(
            "FREQ={value} repeats within a day, which is no event of a business calendar; write FREQ=DAILY with BYHOUR"
        )),
        _ => Err(format!("FREQ={value} is unknown; write DAILY, WEEKLY, MONTHLY or YEARLY")),
    }
}

fn read_until(value: &str) -> Result<Until, String> {
    Ok(match read_written(value)? {
        Written::Date(date) => Until::Date(date),
        Written::Local(local) => Until::Local(local),
        Written::Instant(instant) => Until::Instant(instant),
    })
}

fn read_numbers(part: &str, value: &str, least: i16, most: i16) -> Result<Vec<i16>, String> {
    let wrong = || format!("`{part}`: write numbers from {least} to {most}, with commas between them");
    let mut numbers = Vec::new();
    for item in value.split(',') {
        let number: i16 = item.trim().parse().map_err(|_| wrong())?;
        // Counting from an end knows no 0; hours do.
        if !(least..=most).contains(&number) || number == 0 && least != 0 {
            return Err(wrong());
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// `MO`, `2MO`, `-1FR`.
fn read_weekday(item: &str) -> Option<(i16, Weekday)> {
    let item = item.trim();
    let at = item.len().checked_sub(2)?;
    let (nth, name) = item.split_at_checked(at)?;
    let nth = if nth.is_empty() { 0 } else { nth.parse().ok().filter(|nth| *nth != 0)? };
    (-53..=53).contains(&nth).then_some(())?;
    Some((nth, weekday(name)?))
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

fn no_weekday(part: &str) -> String {
    format!("`{part}`: write weekdays as MO, TU, WE, TH, FR, SA, SU, or numbered as 2MO or -1FR")
}
