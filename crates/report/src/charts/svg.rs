//! A writer for the few SVG elements that the charts use.
//!
//! It escapes all text, prints coordinates with one decimal and never prints what is not a finite
//! number. What the elements look like is left to the style sheet.

use std::fmt::Write;

use serde::Serialize;

use crate::escape;

/// What a screen reader says of a chart, and what its ids are made from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Label {
    /// Unique in the document; letters, digits and hyphens.
    pub(crate) id: String,
    /// What the chart shows, as a finding.
    pub(crate) title: String,
    /// What there is to see, with the numbers.
    pub(crate) desc: String,
}

/// Which side of its point a text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Starts at the point.
    Start,
    /// Centred on the point.
    Middle,
    /// Ends at the point.
    End,
}

/// Space that a character of an 11-pixel label takes, on average, in user units. An estimate on the
/// safe side: it decides only whether two labels would touch.
pub(crate) const CHAR_WIDTH: f64 = 6.2;

/// Space that a label takes across, by [`CHAR_WIDTH`].
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}

/// One drawing under way.
#[derive(Debug)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// Appends to the body; writing to a `String` cannot fail.
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            at(from.0),
            at(from.1),
            at(to.0),
            at(to.1)
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
            at(corner.0),
            at(corner.1),
            at(size.0.max(0.0)),
            at(size.1.max(0.0))
        ));
    }

    /// A rectangle whose fill has the given strength, 0 to 1.
    pub(crate) fn shade(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), strength: f64) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.2}"/>"#,
            at(corner.0),
            at(corner.1),
            at(size.0),
            at(size.1),
            strength.clamp(0.0, 1.0)
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        self.push(format_args!(
            r#"<circle class="{class}" cx="{}" cy="{}" r="{}"/>"#,
            at(centre.0),
            at(centre.1),
            at(radius)
        ));
    }

    /// A line through the points, in their order.
    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (i, point) in points.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{},{}", at(point.0), at(point.1));
        }
        self.push(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// A triangle that points up, its base centred on the point.
    pub(crate) fn triangle(&mut self, class: &str, base: (f64, f64), size: f64) {
        let (x, y) = base;
        self.push(format_args!(
            r#"<path class="{class}" d="M{},{}h{}l{},{}z"/>"#,
            at(x - size / 2.0),
            at(y),
            at(size),
            at(-size / 2.0),
            at(-size * 0.85)
        ));
    }

    pub(crate) fn text(&mut self, class: &str, point: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " r",
        };
        self.push(format_args!(
            r#"<text class="{class}{anchor}" x="{}" y="{}">{}</text>"#,
            at(point.0),
            at(point.1),
            escape::xml(text)
        ));
    }

    /// The finished element.
    pub(crate) fn finish(self, label: &Label) -> String {
        let id = escape::xml(&label.id);
        format!(
            concat!(
                r#"<svg viewBox="0 0 {w} {h}" role="img" aria-labelledby="{id}-t {id}-d">"#,
                r#"<title id="{id}-t">{title}</title><desc id="{id}-d">{desc}</desc>{body}</svg>"#
            ),
            w = self.width,
            h = self.height,
            id = id,
            title = escape::xml(&label.title),
            desc = escape::xml(&label.desc),
            body = self.body
        )
    }
}

/// A coordinate with one decimal; what is not finite becomes 0, and -0 becomes 0.
fn at(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.is_finite() && rounded != 0.0 { format!("{rounded:.1}") } else { "0.0".to_owned() }
}

/// Text cut to a number of characters, with an ellipsis where something is left out.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}\u{2026}", kept.trim_end())
}

/// Half the height of a line of 11-pixel text, with a little air.
const HALF_LINE: f64 = 7.0;

/// Remembers where something is drawn and finds places for labels that touch none of it.
#[derive(Debug, Default)]
pub(crate) struct Placer {
    /// Left, top, right, bottom.
    taken: Vec<(f64, f64, f64, f64)>,
}

/// A place for a label: the point and what of the text stands there.
pub(crate) type Place = ((f64, f64), Anchor);

impl Placer {
    /// Marks a rectangle as drawn on.
    pub(crate) fn block(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.taken.push((from.0.min(to.0), from.1.min(to.1), from.0.max(to.0), from.1.max(to.1)));
    }

    /// The first of the places where the text is free of everything and inside `0..width`; it is
    /// taken from then on.
    pub(crate) fn place(
        &mut self,
        text: &str,
        width: f64,
        places: impl IntoIterator<Item = Place>,
    ) -> Option<Place> {
        let found = places.into_iter().find(|place| {
            let (l, t, r, b) = extent(text, *place);
            l >= 0.0
                && r <= width + 0.5
                && self.taken.iter().all(|k| r <= k.0 || l >= k.2 || b <= k.1 || t >= k.3)
        })?;
        self.taken.push(extent(text, found));
        Some(found)
    }
}

/// The rectangle that a label covers.
fn extent(text: &str, (point, anchor): Place) -> (f64, f64, f64, f64) {
    let width = text_width(text);
    let left = match anchor {
        Anchor::Start => point.0,
        Anchor::Middle => point.0 - width / 2.0,
        Anchor::End => point.0 - width,
    };
    let middle = point.1 - 4.0;
    (left, middle - HALF_LINE, left + width, middle + HALF_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the page: text from outside cannot close an element, and odd numbers stay out.
    #[test]
    fn writes_safe_elements() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.text("tick", (f64::NAN, -0.0), Anchor::End, "<x>");
        let out = svg.finish(&Label { id: "a".to_owned(), title: "t & t".to_owned(), desc: "d".to_owned() });
        assert_eq!(
            out,
            concat!(
                r#"<svg viewBox="0 0 10 20" role="img" aria-labelledby="a-t a-d">"#,
                r#"<title id="a-t">t &amp; t</title><desc id="a-d">d</desc>"#,
                r#"<text class="tick r" x="0.0" y="0.0">&lt;x&gt;</text></svg>"#
            )
        );
    }

    /// Protects legibility: a label goes to the first place where it touches nothing, or nowhere.
    #[test]
    fn labels_do_not_touch() {
        let mut placer = Placer::default();
        placer.block((50.0, 0.0), (51.0, 100.0));
        let places = |y: f64| [((45.0, y), Anchor::Middle), ((56.0, y), Anchor::Start)];
        assert_eq!(placer.place("9 Nov", 200.0, places(20.0)), Some(((56.0, 20.0), Anchor::Start)));
        assert_eq!(placer.place("9 Nov", 200.0, places(22.0)), None);
        assert_eq!(placer.place("9 Nov", 70.0, places(60.0)), None, "beyond the edge");
    }
}
