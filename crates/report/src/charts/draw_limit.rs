//! Draw against limit over time: the busiest minute of each local day, the limit as steps, the
//! calendar's events as bands, and what is forecast for the next of them.
//!
//! Days on which a limit refused something are hollow, since what was measured there is only a lower
//! bound; the highest of each stretch of them, and each inside an event, carries a triangle. Days without any
//! telemetry carry a dot on the base line, since they are not zero.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::{
    axis,
    scale::Linear,
    svg::{Anchor, Label, Place, Placer, Svg, shorten},
};
use crate::format::{compact, day};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 252.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 204.0;

/// What one local day drew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DayDraw {
    pub(crate) day: Date,
    /// Its busiest minute; `None` where there is no telemetry of that day.
    pub(crate) amount: Option<u64>,
    /// Whether a limit refused something on it.
    pub(crate) throttled: bool,
}

/// A limit from one day on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// `None` for the first.
    pub(crate) from: Option<Date>,
    pub(crate) value: u64,
}

/// An occurrence of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) from: Date,
    /// Its last day, inclusive.
    pub(crate) to: Date,
    pub(crate) name: String,
}

/// What the event that needs the limit will draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forecast {
    pub(crate) day: Date,
    pub(crate) mean: u64,
    pub(crate) p95: u64,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct DrawLimit {
    /// Every day of the history, in order, without gaps.
    pub(crate) days: Vec<DayDraw>,
    /// In order of their dates.
    pub(crate) limits: Vec<Step>,
    /// Past and coming.
    pub(crate) bands: Vec<Band>,
    pub(crate) as_of: Date,
    pub(crate) file_by: Option<Date>,
    pub(crate) last_safe: Option<Date>,
    pub(crate) forecast: Option<Forecast>,
    /// Last day on the axis.
    pub(crate) until: Date,
}

/// A text that still needs a place: what, its class, and where it may stand, best first.
type Text = (String, &'static str, Vec<Place>);

/// Positions of one chart.
struct Frame {
    first: Date,
    x: Linear,
    y: Linear,
    day_width: f64,
}

impl Frame {
    /// Left edge of a day.
    fn left(&self, date: Date) -> f64 {
        self.x.at(days_between(self.first, date))
    }

    /// Middle of a day.
    fn middle(&self, date: Date) -> f64 {
        self.left(date) + self.day_width / 2.0
    }

    fn shows(&self, date: Date) -> bool {
        let x = self.middle(date);
        (LEFT..=RIGHT + 0.1).contains(&x)
    }
}

pub(super) fn days_between(from: Date, to: Date) -> f64 {
    to.duration_since(from).as_hours() as f64 / 24.0
}

/// The corners of the steps of a limit between two edges, and the last step that begins before the second;
/// nothing where none does.
pub(super) fn limit_points(
    limits: &[Step],
    left: impl Fn(Date) -> f64,
    height: impl Fn(u64) -> f64,
    (first, last): (f64, f64),
) -> Option<(Vec<(f64, f64)>, &Step)> {
    // Only the last step before the chart begins matters to its left edge.
    let visible = limits.iter().rposition(|s| s.from.is_none_or(|d| left(d) <= first)).unwrap_or(0);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut shown = None;
    for step in limits.get(visible..).unwrap_or_default() {
        let x = step.from.map_or(first, &left).max(first);
        if x > last {
            break;
        }
        if let Some(&(_, before)) = points.last() {
            points.push((x, before));
        }
        points.push((x, height(step.value)));
        shown = Some(step);
    }
    let step = shown?;
    points.push((last, height(step.value)));
    Some((points, step))
}

impl DrawLimit {
    pub(crate) fn svg(&self, label: &Label) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let mut placer = Placer::default();
        let frame = self.frame();
        for band in &self.bands {
            let from = frame.left(band.from).max(LEFT);
            let to = (frame.left(band.to) + frame.day_width).min(RIGHT);
            if to > from {
                let width = (to - from).max(5.0);
                svg.rect("event", (from, TOP - 6.0), (width, BOTTOM - TOP + 6.0));
            }
        }
        axis::upright(&mut svg, &frame.y, self.top(), (LEFT, RIGHT));
        self.draw_days(&mut svg, &mut placer, &frame);
        let rules = self.draw_rules(&mut svg, &mut placer, &frame);
        let limit = self.draw_limits(&mut svg, &mut placer, &frame);
        self.draw_forecast(&mut svg, &mut placer, &frame);
        // Texts come last: only then is known what they must not touch.
        for (text, class, places) in limit.into_iter().chain(rules) {
            if let Some((point, anchor)) = placer.place(&text, WIDTH, places) {
                svg.text(class, point, anchor, &text);
            }
        }
        self.draw_dates(&mut svg, &mut placer, &frame);
        svg.finish(label)
    }

    fn frame(&self) -> Frame {
        let first = self.days.first().map_or(self.as_of, |d| d.day);
        let count = (days_between(first, self.until) + 1.0).max(1.0);
        Frame {
            first,
            x: Linear::new((0.0, count), (LEFT, RIGHT)),
            y: Linear::new((0.0, self.top()), (BOTTOM, TOP)),
            day_width: (RIGHT - LEFT) / count,
        }
    }

    /// The largest value to be shown, with air above it.
    fn top(&self) -> f64 {
        let draws = self.days.iter().filter_map(|d| d.amount);
        let limits = self.limits.iter().map(|s| s.value);
        let forecast = self.forecast.iter().map(|f| f.p95.max(f.mean));
        draws.chain(limits).chain(forecast).max().unwrap_or(1).max(1) as f64 * 1.08
    }

    fn draw_days(&self, svg: &mut Svg, placer: &mut Placer, frame: &Frame) {
        let width = (frame.day_width * 0.62).clamp(0.8, 7.0);
        let marked = self.marked();
        for draw in &self.days {
            let x = frame.middle(draw.day);
            let Some(amount) = draw.amount else {
                svg.circle("gap", (x, BOTTOM - 3.5), 1.8);
                continue;
            };
            if amount == 0 && !draw.throttled {
                continue;
            }
            let y = frame.y.at(amount as f64);
            let class = if draw.throttled { "bar-cens" } else { "bar" };
            svg.rect(class, (x - width / 2.0, y), (width, BOTTOM - y));
            if let Some(limit) = self.limit_on(draw.day).filter(|l| *l < amount && !draw.throttled) {
                let height = frame.y.at(limit as f64) - y;
                svg.rect("bar-over", (x - width / 2.0, y), (width, height));
            }
            placer.block((x - width / 2.0, y), (x + width / 2.0, BOTTOM));
            if marked.contains(&draw.day) {
                svg.triangle("cens", (x, y - 4.0), 10.0);
                placer.block((x - 5.0, y - 13.0), (x + 5.0, y));
            }
        }
    }

    /// Throttled days that carry a triangle: the highest of each stretch, and those of events.
    fn marked(&self) -> BTreeSet<Date> {
        let in_event = |day: Date| self.bands.iter().any(|b| (b.from..=b.to).contains(&day));
        let stretches = self.days.chunk_by(|a, b| a.throttled == b.throttled);
        let highest = stretches
            .filter(|stretch| stretch.first().is_some_and(|d| d.throttled))
            .filter_map(|stretch| stretch.iter().max_by_key(|d| (d.amount, std::cmp::Reverse(d.day))));
        let lived = self.days.iter().filter(|d| d.throttled && in_event(d.day));
        highest.chain(lived).map(|d| d.day).collect()
    }

    /// The limit in force on a day.
    pub(crate) fn limit_on(&self, date: Date) -> Option<u64> {
        let begun = |s: &&Step| s.from.is_none_or(|from| from <= date);
        self.limits.iter().rfind(begun).map(|s| s.value)
    }

    /// Whether a day's busiest minute lies above the limit of that day.
    pub(crate) fn passes(&self, draw: &DayDraw) -> bool {
        self.limit_on(draw.day).is_some_and(|limit| draw.amount > Some(limit))
    }

    /// The steps of the limit; gives back the text for the last of them.
    fn draw_limits(&self, svg: &mut Svg, placer: &mut Placer, frame: &Frame) -> Option<Text> {
        let height = |value: u64| frame.y.at(value as f64);
        let (points, step) = limit_points(&self.limits, |date| frame.left(date), height, (LEFT, RIGHT))?;
        let x = step.from.map_or(LEFT, |d| frame.left(d)).max(LEFT);
        let y = height(step.value);
        svg.polyline("limit", &points);
        for pair in points.windows(2) {
            if let [a, b] = pair {
                placer.block((a.0 - 1.5, a.1 - 1.5), (b.0 + 1.5, b.1 + 1.5));
            }
        }
        let since = match step.from {
            Some(from) if frame.left(from) > LEFT => format!(" since {}", day(from)),
            _ => String::new(),
        };
        let places = (0..27)
            .map(|i| x + 8.0 + 24.0 * f64::from(i))
            .flat_map(|x| [(x, y - 7.0), (x, y + 17.0)])
            .chain([(x.min(RIGHT), y - 7.0)])
            .map(|point| (point, Anchor::Start))
            .chain([((x - 8.0, y - 7.0), Anchor::End)])
            .collect();
        let text = format!("limit {}{since}", compact(step.value as f64));
        Some((text, "tick ink", places))
    }

    /// The days of the plan and of its deadlines; gives back their texts.
    fn draw_rules(&self, svg: &mut Svg, placer: &mut Placer, frame: &Frame) -> Vec<Text> {
        let rules = [
            (Some(self.as_of), "today", "tick", "as of"),
            (self.last_safe, "file", "tick brk", "last safe"),
            (self.file_by, "file", "tick brk", "file by"),
        ];
        let mut texts = Vec::new();
        for (date, class, text_class, word) in rules {
            let Some(date) = date.filter(|d| frame.shows(*d)) else {
                continue;
            };
            let x = frame.middle(date);
            svg.line(class, (x, TOP - 6.0), (x, BOTTOM));
            placer.block((x - 1.0, TOP - 6.0), (x + 1.0, BOTTOM));
            let places = (0..10)
                .map(|row| TOP + 4.0 + 15.0 * f64::from(row))
                .flat_map(|y| [((x + 4.0, y), Anchor::Start), ((x - 4.0, y), Anchor::End)])
                .collect();
            texts.push((format!("{word} {}", day(date)), text_class, places));
        }
        texts
    }

    fn draw_forecast(&self, svg: &mut Svg, placer: &mut Placer, frame: &Frame) {
        let Some(forecast) = self.forecast.as_ref().filter(|f| frame.shows(f.day)) else {
            return;
        };
        let x = frame.middle(forecast.day);
        let mean = frame.y.at(forecast.mean as f64);
        let p95 = frame.y.at(forecast.p95 as f64);
        svg.line("whisk", (x, mean), (x, p95));
        svg.line("whisk", (x - 5.0, p95), (x + 5.0, p95));
        svg.circle("mean", (x, mean), 4.0);
        placer.block((x - 5.0, mean + 4.0), (x + 5.0, p95));
        for (y, word, value) in [(p95, "P95", forecast.p95), (mean, "mean", forecast.mean)] {
            let text = format!("{word} {}", compact(value as f64));
            // Beside its mark; a little lower or higher where the limit runs through it.
            let places = [4.0, 14.0, -6.0, 22.0, -14.0].map(|dy| ((x - 10.0, y + dy), Anchor::End));
            if let Some((point, anchor)) = placer.place(&text, WIDTH, places) {
                svg.text("tick ink", point, anchor, &text);
            }
        }
    }

    /// Dates under the axis, the most telling first; below them the name of the coming event.
    fn draw_dates(&self, svg: &mut Svg, placer: &mut Placer, frame: &Frame) {
        let forecast = self.forecast.iter().map(|f| f.day);
        let events = self.bands.iter().map(|b| b.to);
        let steps = self.limits.iter().filter_map(|s| s.from);
        let first = self.days.first().into_iter().map(|d| d.day);
        let months = self.days.iter().map(|d| d.day).filter(|d| d.day() == 1);
        let dates = forecast.chain(events).chain(steps).chain(first).chain(months);
        for date in dates.filter(|d| frame.shows(*d)) {
            let text = day(date);
            let x = frame.middle(date);
            let y = BOTTOM + 19.0;
            let places = [((x, y), Anchor::Middle), ((WIDTH, y), Anchor::End)];
            // The edge is a place only for what lies beside it.
            let most = if x > WIDTH - 30.0 { 2 } else { 1 };
            let padded = format!(" {text} ");
            if let Some((point, anchor)) = placer.place(&padded, WIDTH + 8.0, places.into_iter().take(most)) {
                svg.line("grid", (x, BOTTOM), (x, BOTTOM + 5.0));
                svg.text("tick", point, anchor, &text);
            }
        }
        let coming = self.bands.iter().find(|b| b.from >= self.as_of);
        if let Some(band) = coming.filter(|b| frame.shows(b.to)) {
            let text = shorten(&band.name, 40);
            let y = BOTTOM + 35.0;
            let places = [((frame.middle(band.to), y), Anchor::Middle), ((WIDTH, y), Anchor::End)];
            if let Some((point, anchor)) = placer.place(&text, WIDTH, places) {
                svg.text("tick", point, anchor, &text);
            }
        }
    }
}
