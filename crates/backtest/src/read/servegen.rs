//! Requests made from ServeGen's clients: rates, burstiness and token counts by the ten minutes.
//!
//! ServeGen (Alibaba, NSDI 26) does not publish requests. For each client of a production service it
//! has the rate of every 600 s with the law of the gaps between requests (gamma or Weibull, with its
//! shape), and for every six hours how many tokens requests had. Requests are drawn from them here, as
//! its own generator does.
//!
//! The invariants: the mean of what is drawn is what was measured, since gaps are drawn with mean one
//! and then lie as far apart as the rate says, also across the ten minutes; a client's requests do not
//! depend on who else is there; where fewer are wanted, all rates are lowered alike and the law of the
//! gaps stays.

use std::collections::BTreeMap;

use plimsoll_replay::Micros;
use rand_distr::{Distribution, Exp1, Gamma, Weibull};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::histogram::Histogram;
use crate::error::ReadError;
use crate::request::{Request, Requests};

/// What is aimed at of what may be made: chance may add to it.
const AIM: f64 = 0.95;

/// Smallest shapes of gamma and Weibull gaps that can be drawn: below, a gap is nothing or for ever.
const SHAPES: (f64, f64) = (1e-6, 0.02);

/// Input of a request beside its text: how many pieces, and tokens of each.
const PIECES: [(&str, &str); 3] =
    [("image_count", "image_tokens"), ("audio_count", "audio_tokens"), ("video_count", "video_tokens")];

/// One client, as measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeGenClient {
    name: String,
    stretches: Vec<Stretch>,
    /// By the second from which it holds.
    tokens: BTreeMap<u64, Tokens>,
}

/// A time of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    from_s: u64,
    length_s: u64,
    /// Requests a second.
    rate: f64,
    gaps: Gaps,
}

/// The law of the gaps between requests, by its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gaps {
    Gamma(f64),
    Weibull(f64),
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Tokens {
    input: Histogram,
    pieces: Vec<(Histogram, Histogram)>,
    output: Histogram,
}

impl ServeGenClient {
    /// Reads a client: `chunk-N-trace.csv` and `chunk-N-dataset.json`, each with what messages call it.
    ///
    /// # Errors
    /// [`ReadError`] where either is not as ServeGen writes it.
    pub fn read(name: &str, trace: (&str, &str), dataset: (&str, &str)) -> Result<Self, ReadError> {
        let tokens = tokens(dataset.0, dataset.1)?;
        Ok(Self { name: name.to_owned(), stretches: stretches(trace.0, trace.1)?, tokens })
    }

    fn expected(&self) -> f64 {
        self.stretches.iter().map(|stretch| stretch.rate * stretch.length_s as f64).sum()
    }

    fn tokens_at(&self, second: u64) -> Option<&Tokens> {
        let told = |tokens: &&Tokens| !tokens.output.is_empty();
        let before = self.tokens.range(..=second).rev().map(|(_, tokens)| tokens).find(told);
        before.or_else(|| self.tokens.values().find(told))
    }

    /// Its requests at so much of its rates.
    fn requests(&self, client: u32, share: f64, tier: u8, seed: u64) -> Vec<Request> {
        let mut random =
            Pcg64::seed_from_u64(seed ^ u64::from(client + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut requests = Vec::new();
        // Gaps are told in units of their mean: what is left until the next request.
        let mut left: f64 = Exp1.sample(&mut random);
        for stretch in &self.stretches {
            let per_s = stretch.rate * share;
            let whole = per_s * stretch.length_s as f64;
            if whole <= 0.0 {
                continue;
            }
            let tokens = self.tokens_at(stretch.from_s);
            let mut at = left;
            while at < whole {
                let second = stretch.from_s as f64 + at / per_s;
                let (input, output) = tokens.map_or((0, 0), |tokens| tokens.draw(&mut random));
                requests.push(Request {
                    at: Micros((second * 1e6) as u64),
                    client,
                    tier,
                    latency: Micros::ZERO,
                    input,
                    cache_read: 0,
                    output,
                });
                at += stretch.gaps.draw(&mut random);
            }
            left = (at - whole).max(0.0);
        }
        requests
    }
}

impl Tokens {
    fn draw(&self, random: &mut Pcg64) -> (u64, u64) {
        let mut input = self.input.draw(random);
        for (count, tokens) in &self.pieces {
            for _ in 0..count.draw(random).min(1000) {
                input = input.saturating_add(tokens.draw(random));
            }
        }
        (input, self.output.draw(random))
    }
}

impl Gaps {
    /// A gap of mean one.
    fn draw(self, random: &mut Pcg64) -> f64 {
        match self {
            // A law that the sampler refuses has gaps of one.
            Self::Gamma(shape) => Gamma::new(shape, 1.0 / shape).map_or(1.0, |gaps| gaps.sample(random)),
            Self::Weibull(shape) => {
                let scale = 1.0 / libm::tgamma(1.0 + 1.0 / shape);
                Weibull::new(scale, shape).map_or(1.0, |gaps| gaps.sample(random))
            }
        }
    }
}

/// Requests of clients, about so many at most, under a trace's name. Deterministic by seed.
#[must_use]
pub fn generate(name: &str, clients: &[ServeGenClient], most: usize, tier: u8, seed: u64) -> Requests {
    let expected: f64 = clients.iter().map(ServeGenClient::expected).sum();
    let share = (AIM * most as f64 / expected.max(1.0)).min(1.0);
    let mut requests = Vec::new();
    for (number, client) in (0..).zip(clients) {
        requests.extend(client.requests(number, share, tier, seed));
    }
    let names = clients.iter().map(|client| client.name.clone()).collect();
    let made = Requests::new(name, names, requests);
    let of = if share < 1.0 { expected.round() as u64 } else { made.of };
    Requests { of, ..made }
}

fn stretches(file: &str, text: &str) -> Result<Vec<Stretch>, ReadError> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let wrong = |problem: String| ReadError::new(file, Some(line), problem);
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let [from, rate, cv, law, shape, _scale] = cells.as_slice() else {
            return Err(wrong(format!(
                "has {} cells: ServeGen writes time, rate, cv, pattern and two parameters",
                cells.len()
            )));
        };
        let number = |name: &str, text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| {
                wrong(format!("`{}` is no {name}: give a number from 0", text.escape_default()))
            })
        };
        let (from_s, rate) = (number("time", from)? as u64, number("rate", rate)?);
        let gaps = match (*law, rate > 0.0) {
            (_, false) => Gaps::Gamma(1.0),
            ("Gamma" | "Weibull", true) => {
                let shape = number("shape", shape)?;
                let (gaps, least) = match *law {
                    "Gamma" => (Gaps::Gamma(shape), SHAPES.0),
                    _ => (Gaps::Weibull(shape), SHAPES.1),
                };
                if shape < least {
                    return Err(wrong(format!(
                        "has a shape of {shape}, and {least} is the least that can be drawn"
                    )));
                }
                gaps
            }
            // Without a law, the coefficient of variation tells the gamma's shape.
            ("", true) => {
                let cv = number("cv", cv)?;
                Gaps::Gamma(if cv > 0.0 { 1.0 / (cv * cv) } else { 1.0 })
            }
            (other, true) => {
                return Err(wrong(format!(
                    "`{}` is no pattern: Gamma and Weibull are known",
                    other.escape_default()
                )));
            }
        };
        if let Some(last) = stretches.last_mut() {
            if from_s <= last.from_s {
                return Err(wrong(format!(
                    "begins at {from_s} s, and the one before at {} s: list them by time",
                    last.from_s
                )));
            }
            last.length_s = from_s - last.from_s;
        }
        stretches.push(Stretch { from_s, length_s: 600, rate, gaps });
    }
    if stretches.is_empty() {
        return Err(ReadError::new(file, None, "is empty: ServeGen writes a line for every 600 s"));
    }
    // The last one is as long as the others.
    if let [.., before, last] = stretches.as_mut_slice() {
        last.length_s = before.length_s;
    }
    Ok(stretches)
}

fn tokens(file: &str, text: &str) -> Result<BTreeMap<u64, Tokens>, ReadError> {
    let read: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(text).map_err(|error| {
        ReadError::new(file, u64::try_from(error.line()).ok(), format!("is no dataset of ServeGen: {error}"))
    })?;
    let mut tokens = BTreeMap::new();
    for (from, fields) in read {
        let wrong = |problem: String| ReadError::new(file, None, format!("at {from} s: {problem}"));
        let second: f64 = from.parse().map_err(|_| wrong("is no time in seconds".to_owned()))?;
        let histogram = |field: &str| {
            fields
                .get(field)
                .map_or(Ok(Histogram::default()), |text| Histogram::parse(text))
                .map_err(|problem| wrong(format!("{field}: {problem}")))
        };
        let mut pieces = Vec::new();
        for (count, of) in PIECES {
            let pair = (histogram(count)?, histogram(of)?);
            if !pair.0.is_empty() && !pair.1.is_empty() {
                pieces.push(pair);
            }
        }
        let text = histogram("text_tokens")?;
        let input = if text.is_empty() { histogram("input_tokens")? } else { text };
        tokens.insert(second as u64, Tokens { input, pieces, output: histogram("output_tokens")? });
    }
    if tokens.values().all(|tokens| tokens.output.is_empty()) {
        return Err(ReadError::new(
            file,
            None,
            "tells no output_tokens: give the dataset that belongs to the trace",
        ));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests;
