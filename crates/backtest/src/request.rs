//! Requests of a trace as a file tells them, before it is said what of them a limit counts.
//!
//! Leaves reading to [`crate::read`]. The invariants: requests are in order of time; what a sample
//! leaves out, it leaves out client by client, so that those who stay are whole.

use std::fmt;
use std::str::FromStr;

use plimsoll_replay::{Draw, Micros, Quota, Rule, Window};
use rand::RngExt;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::period::Period;
use crate::trace::{Call, Trace};

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was sent: since 1970 where the trace tells, else since the trace's own start.
    pub at: Micros,
    /// Which of [`Requests::clients`].
    pub client: u32,
    /// 0 matters most, 3 least.
    pub tier: u8,
    /// From its start to its end; nothing where the trace does not tell.
    pub latency: Micros,
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Input tokens that a cache served.
    pub cache_read: u64,
    /// Output tokens.
    pub output: u64,
}

/// All requests of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// What people call the trace.
    pub name: String,
    /// Who sent them; one nameless client where the trace does not tell.
    pub clients: Vec<String>,
    /// In order of time.
    pub requests: Vec<Request>,
    /// Requests of the trace that these were sampled from.
    pub of: u64,
}

/// What a limit counts in a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// Requests.
    Requests,
    /// Input tokens that no cache served.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Both.
    #[default]
    Tokens,
}

impl Measure {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Requests, "requests_per_min"),
        (Self::InputTokens, "input_tokens_per_min"),
        (Self::OutputTokens, "output_tokens_per_min"),
        (Self::Tokens, "tokens_per_min"),
    ];

    /// The dimension's name.
    #[must_use]
    pub fn dimension(self) -> &'static str {
        Self::ALL.iter().find(|(measure, _)| *measure == self).map_or("", |(_, name)| name)
    }

    fn of(self, request: &Request) -> u64 {
        let uncached = request.input.saturating_sub(request.cache_read);
        match self {
            Self::Requests => 1,
            Self::InputTokens => uncached,
            Self::OutputTokens => request.output,
            Self::Tokens => uncached.saturating_add(request.output),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.dimension())
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name).map(|(measure, _)| *measure);
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("no dimension of a trace is called `{name}`: use one of {}", known.join(", "))
        })
    }
}

impl Requests {
    /// Requests in any order, under a trace's name.
    #[must_use]
    pub fn new(name: &str, clients: Vec<String>, mut requests: Vec<Request>) -> Self {
        requests.sort_by_key(|request| request.at);
        let of = requests.len() as u64;
        Self { name: name.to_owned(), clients, requests, of }
    }

    /// At most so many of them. Clients are taken in an order of chance for as long as they fit, whole;
    /// where less than half of what may stay is found so, since one client is too large or nobody tells
    /// them apart, each request stays with the same probability, which makes arrivals more even than they
    /// were. Deterministic by seed.
    #[must_use]
    pub fn sampled(mut self, most: usize, seed: u64) -> Self {
        if self.requests.len() <= most {
            return self;
        }
        let mut random = Pcg64::seed_from_u64(seed);
        let mut sizes = vec![0_usize; self.clients.len()];
        for request in &self.requests {
            if let Some(size) = sizes.get_mut(request.client as usize) {
                *size += 1;
            }
        }
        let mut order: Vec<(u64, usize)> = (0..sizes.len()).map(|client| (random.random(), client)).collect();
        order.sort_unstable();
        let (mut kept, mut left) = (vec![false; sizes.len()], most);
        for (_, client) in order {
            if sizes[client] <= left && sizes[client] > 0 {
                kept[client] = true;
                left -= sizes[client];
            }
        }
        if left <= most / 2 {
            self.requests.retain(|request| kept.get(request.client as usize).copied().unwrap_or(false));
            return self;
        }
        // A little less than would fit, so that chance does not pass what was asked for.
        let share = most as f64 / self.requests.len() as f64;
        self.requests.retain(|_| random.random_bool(share));
        self.requests.truncate(most);
        self
    }

    /// What a minute's limit counts of them: a counter that begins anew with every minute, as the
    /// windows do that the plan is held against.
    #[must_use]
    pub fn trace(&self, measure: Measure) -> Trace {
        let call = |request: &Request| Call {
            at: request.at,
            tier: request.tier,
            latency: request.latency,
            draw: Draw::flat(measure.of(request)),
        };
        let at = |request: Option<&Request>| request.map_or(Micros::ZERO, |request| request.at);
        Trace {
            name: self.name.clone(),
            quota: Quota {
                dimension: measure.dimension().to_owned(),
                most: 0,
                rule: Rule::Fixed { window: Window(60) },
                slice: None,
                refused_count: false,
            },
            period: Period::between(at(self.requests.first()), at(self.requests.last())),
            calls: self.requests.iter().map(call).collect(),
            of: self.of,
        }
    }
}
