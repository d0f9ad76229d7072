//! One call metered in full: what it draws on every limit, what it costs, what is uncertain about that.
//!
//! Leaves printing to the command. Invariants: the amounts stand under the names of the limits; what is a
//! lower bound, a stale source or a price that is not known is said beside the figure, never left out.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{Call, Catalog, Dimension, Draw, Entry, Measure, Metered, PoolKey, Source, Tier};

/// What one call draws and costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Charged when it starts, by limit, of the limits that count by the minute or while it is in flight.
    pub admission: Amounts,
    /// What that is corrected to at its end.
    pub settlement: Amounts,
    /// Given back at its end.
    pub released: Amounts,
    /// Tokens on the bill.
    pub billed_tokens: u64,
    /// What they cost on demand, USD; none while a price is not known.
    pub cost_usd: Option<String>,
    /// The admission is a lower bound: `max_tokens` was unset and the provider's guess is not known.
    pub lower_bound: bool,
    /// The weights of long contexts were taken.
    pub long_context: bool,
    /// The same for limits that count by the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day: Option<Drawn>,
    /// Other pools that a call of this tier draws on as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_draws_on: Vec<OtherPool>,
    /// What other readings of uncertain points would give.
    pub sensitivities: Vec<Other>,
    /// Pool whose limits these are.
    pub pool: String,
    /// Service tier.
    pub tier: Tier,
    /// Day whose rules were taken.
    pub as_of: Date,
    /// First day of the row, where it has one.
    pub row_from: Option<Date>,
    /// Where the row was read.
    pub sources: Vec<Source>,
    /// What to know before using the figures.
    pub warnings: Vec<String>,
}

/// Both draws on some limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drawn {
    /// At the start.
    pub admission: Amounts,
    /// At the end.
    pub settlement: Amounts,
    /// Given back.
    pub released: Amounts,
}

/// The draw on another pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherPool {
    /// Its key.
    pub pool: String,
    /// What is drawn; none where the catalog has no row for it.
    #[serde(flatten)]
    pub drawn: Option<Drawn>,
}

/// What another reading of a flag would give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Other {
    /// Name of the flag.
    pub flag: String,
    /// The question.
    pub question: String,
    /// What was taken.
    pub taken: String,
    /// The other answer.
    pub reading: String,
    /// At the start, by it.
    pub admission: Amounts,
    /// At the end, by it.
    pub settlement: Amounts,
}

/// Amounts by name of the limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amounts(pub Vec<(String, Amount)>);

/// An amount of one limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// Requests or tokens.
    Count(u64),
    /// USD, exactly.
    Usd(String),
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, amount) in &self.0 {
            map.serialize_entry(name, amount)?;
        }
        map.end()
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(out, "{count}"),
            Self::Usd(usd) => write!(out, "{usd}"),
        }
    }
}

/// Why a call cannot be metered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// No row for the pool.
    #[error(
        "the catalog has no row for `{pool}` on {as_of}{nearest}; rows of your own go into the providers folder that plimsoll.toml names"
    )]
    UnknownPool {
        /// As asked for.
        pool: PoolKey,
        /// Day asked for.
        as_of: Date,
        /// `; the nearest are ...`, or nothing.
        nearest: String,
    },
    /// No such tier there.
    #[error("`{pool}` has no tier `{tier}`; it has {tiers}")]
    UnknownTier {
        /// Pool.
        pool: PoolKey,
        /// As asked for.
        tier: Tier,
        /// What there is.
        tiers: String,
    },
}

impl Catalog {
    /// The pool's row on `as_of`.
    ///
    /// # Errors
    /// Where there is none, with the nearest keys.
    pub fn row(&self, pool: &PoolKey, as_of: Date) -> Result<&Entry, ReadingError> {
        self.find(pool, as_of).ok_or_else(|| {
            let near: Vec<String> = self.nearest_keys(pool, 3).iter().map(|key| format!("`{key}`")).collect();
            let nearest = if near.is_empty() {
                String::new()
            } else {
                format!("; the nearest are {}", near.join(", "))
            };
            ReadingError::UnknownPool { pool: pool.clone(), as_of, nearest }
        })
    }

    /// What `call` draws and costs by the rules of `as_of`.
    ///
    /// # Errors
    /// Where the pool, or a pool that the call's tier draws on first, has no row, or the pool has no such
    /// tier.
    pub fn reading(&self, pool: &PoolKey, call: &Call, as_of: Date) -> Result<Reading, ReadingError> {
        let asked = self.row(pool, as_of)?;
        if call.tier != Tier::Standard && asked.tier(call.tier).is_none() {
            let mut tiers: Vec<String> = asked.tiers.iter().map(|rule| rule.tier.to_string()).collect();
            if tiers.is_empty() {
                tiers.push("standard".to_owned());
            }
            let tiers = tiers.join(", ");
            return Err(ReadingError::UnknownTier { pool: pool.clone(), tier: call.tier, tiers });
        }
        let mut pools = self.draws_on(pool, call.tier, as_of).into_iter();
        let (key, found) = pools.next().unwrap_or_else(|| (pool.clone(), Some(asked)));
        let entry = found.map_or_else(|| self.row(&key, as_of), Ok)?;
        let also = pools.map(|(pool, entry)| other_pool(pool, entry, call, as_of)).collect();
        let by = Drawing { entry, asked, call, as_of };
        let metered = entry.meter(call);
        let Drawn { admission, settlement, released } = by.drawn(&metered, by_minute);
        let per_day = Some(by.drawn(&metered, |limit| !by_minute(limit)));
        Ok(Reading {
            admission,
            settlement,
            released,
            billed_tokens: call.billed_tokens(),
            cost_usd: asked.cost(call, as_of).map(|usd| usd.to_string()),
            lower_bound: metered.lower_bound,
            long_context: metered.long_context,
            per_day: per_day.filter(|drawn| !drawn.admission.0.is_empty()),
            also_draws_on: also,
            sensitivities: by.others(),
            pool: key.to_string(),
            tier: call.tier,
            as_of,
            row_from: entry.from,
            sources: entry.sources.clone(),
            warnings: by.warnings(&metered),
        })
    }
}

/// Whether a limit counts by the minute, or while a call is in flight.
fn by_minute(limit: &Dimension) -> bool {
    limit.window_s <= 60
}

fn other_pool(pool: PoolKey, entry: Option<&Entry>, call: &Call, as_of: Date) -> OtherPool {
    let drawn =
        entry.map(|entry| Drawing { entry, asked: entry, call, as_of }.drawn(&entry.meter(call), by_minute));
    OtherPool { pool: pool.to_string(), drawn }
}

/// One call on one pool.
struct Drawing<'a> {
    entry: &'a Entry,
    /// The pool that was asked for, which has the prices.
    asked: &'a Entry,
    call: &'a Call,
    as_of: Date,
}

impl Drawing<'_> {
    fn drawn(&self, metered: &Metered, of: impl Fn(&Dimension) -> bool) -> Drawn {
        let amounts = |draw: &Draw, counted: bool| self.amounts(draw, counted, &of);
        Drawn {
            admission: amounts(&metered.admission, false),
            settlement: amounts(&metered.settlement, true),
            released: amounts(&metered.released, false),
        }
    }

    /// By limit; dollars are known, and counted, when the call has ended.
    fn amounts(&self, draw: &Draw, ended: bool, of: &impl Fn(&Dimension) -> bool) -> Amounts {
        let mut limits: Vec<&Dimension> = self.entry.dimensions.iter().filter(|limit| of(limit)).collect();
        limits.sort_by_key(|limit| limit.counts);
        let amount = |limit: &&Dimension| {
            let amount = match limit.counts {
                Measure::Usd if ended => Amount::Usd(self.list_price()?.to_string()),
                Measure::Usd => return None,
                measure => Amount::Count(draw.amount(measure)),
            };
            Some((limit.name.clone(), amount))
        };
        Amounts(limits.iter().filter_map(amount).collect())
    }

    /// What the call costs at list price, which a reservation in dollars is drawn down by.
    fn list_price(&self) -> Option<Decimal> {
        let tier = if self.call.tier == Tier::Reserved { Tier::Standard } else { self.call.tier };
        let call = Call { tier, ..*self.call };
        self.entry.cost(&call, self.as_of).or_else(|| self.asked.cost(&call, self.as_of))
    }

    fn others(&self) -> Vec<Other> {
        let sensitivities = self.entry.sensitivities(self.call);
        let other = |sensitivity: &crate::Sensitivity<'_>| {
            let flag = sensitivity.flag;
            let alternative = flag.alternative.as_ref()?;
            let stays = |limit: &Dimension| by_minute(limit) && !alternative.without.contains(&limit.name);
            let drawn = self.drawn(&sensitivity.metered, stays);
            Some(Other {
                flag: flag.name.clone(),
                question: flag.question.clone(),
                taken: flag.taken.clone(),
                reading: alternative.reading.clone(),
                admission: drawn.admission,
                settlement: drawn.settlement,
            })
        };
        sensitivities.iter().filter_map(other).collect()
    }

    fn warnings(&self, metered: &Metered) -> Vec<String> {
        let (entry, as_of) = (self.entry, self.as_of);
        let mut warnings = Vec::new();
        if let Some(day) = entry.retires.filter(|day| *day <= as_of) {
            warnings.push(format!("{} was retired on {day}; the row still answers", entry.key));
        }
        if entry.is_fallback() {
            warnings.push(format!("no row of its own: `{}` answers", entry.key));
        }
        if metered.lower_bound {
            warnings.push(
                "max is absent and what the provider reserves then is not known: the admission is a lower bound, \
                 reckoned with the output that came"
                    .to_owned(),
            );
        }
        if self.asked.cost(self.call, as_of).is_none() {
            warnings.push(match self.call.tier {
                Tier::Reserved => {
                    "a reservation is paid for beforehand: the call has no cost of its own".to_owned()
                }
                tier => {
                    format!("the {tier} price of some of these tokens is not known here: cost_usd is null")
                }
            });
        }
        for source in entry.stale_sources(as_of) {
            warnings.push(format!(
                "stale: `{}` was read on {}, more than 180 days before",
                source.title, source.read_on
            ));
        }
        warnings
    }
}
