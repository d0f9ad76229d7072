//! One dated row of the catalog: everything that is known of one pool.
//!
//! Leaves which row holds on a day to [`crate::Catalog`]. Invariant: what no source tells is absent.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::{
    Answers, Call, Channel, Dimension, Flag, Grants, Meter, Metered, Overflow, PoolKey, Quota, Serving,
    Source, Tier, TierRule, TokenPrice, Unit, UnsetMaxOutput,
};

/// What is known of one pool from a date on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its key; with `*` parts where the row stands for pools that have none of their own.
    pub key: PoolKey,
    /// First day on which the row holds; none: as far back as is known.
    pub from: Option<Date>,
    /// Name of the models that share one limit, within provider, product and scope.
    pub limit_group: String,
    /// The limits, in the provider's order. Several may bind one call.
    pub dimensions: Vec<Dimension>,
    /// What a call draws.
    pub meter: Meter,
    /// What calls of each service tier draw on and cost; empty: the provider has no tiers here.
    pub tiers: Vec<TierRule>,
    /// Largest output that the model gives in one call, tokens, where known.
    pub max_output_tokens: Option<u64>,
    /// Steps in which limits are raised.
    pub grants: Grants,
    /// Where they are raised; none where there is nobody to ask.
    pub channel: Option<Channel>,
    /// Quotas that have to rise with the pool's own.
    pub companions: Vec<Quota>,
    /// What is sold by reservation: one unit, or two where input and output are sold apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
    /// Where the provider sends calls on when the pool is full.
    pub overflow: Option<Overflow>,
    /// What a replica carries, of a model that one hosts oneself.
    pub serving: Option<Serving>,
    /// List prices on demand, oldest first; empty where none was found.
    pub prices: Vec<TokenPrice>,
    /// Day on which the model is retired, where announced.
    pub retires: Option<Date>,
    /// What the provider's pages answer to the seven questions.
    pub answers: Answers,
    /// What is uncertain, and what was taken.
    pub flags: Vec<Flag>,
    /// Where the row was read.
    pub sources: Vec<Source>,
}

impl Entry {
    /// What one call draws from the pool's limits; nothing where calls of its tier draw on others.
    pub fn meter(&self, call: &Call) -> Metered {
        self.meter_by(&self.meter, call, self.max_output_tokens)
    }

    fn meter_by(&self, meter: &Meter, call: &Call, model_maximum: Option<u64>) -> Metered {
        if self.takes(call.tier) { meter.meter(call, model_maximum) } else { Metered::default() }
    }

    /// Whether calls of a tier draw on this pool's limits; else they draw on others.
    pub(crate) fn takes(&self, tier: Tier) -> bool {
        self.tier(tier).is_none_or(|rule| rule.draws_on.iter().any(|product| product == self.key.product()))
    }

    /// What the other reading of each flag would make of `call`, where it makes a difference.
    pub fn sensitivities(&self, call: &Call) -> Vec<Sensitivity<'_>> {
        let taken = self.meter(call);
        let other = |flag: &'_ Flag| -> Option<Metered> {
            let alternative = flag.alternative.as_ref()?;
            let mut meter = alternative.applied(&self.meter);
            let maximum = alternative.unset_max_output.or(self.max_output_tokens);
            if alternative.unset_max_output.is_some() {
                meter.unset_max_output = UnsetMaxOutput::ModelMaximum;
            }
            let metered = self.meter_by(&meter, call, maximum);
            let limited = |name: &String| self.dimension(name).is_some();
            (metered != taken || alternative.without.iter().any(limited)).then_some(metered)
        };
        self.flags.iter().filter_map(|flag| Some(Sensitivity { flag, metered: other(flag)? })).collect()
    }

    /// What is known of calls of that tier.
    pub fn tier(&self, tier: Tier) -> Option<&TierRule> {
        self.tiers.iter().find(|rule| rule.tier == tier)
    }

    /// The limit of that name.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// Whether calls to `other` draw on the same limits, account and region being equal.
    pub fn shares_limits_with(&self, other: &Self) -> bool {
        let scope = |entry: &Self| {
            let key = &entry.key;
            [key.provider(), key.product(), key.scope()].map(str::to_owned)
        };
        scope(self) == scope(other) && self.limit_group == other.limit_group
    }

    /// List prices in force on `as_of`, of the standard tier.
    pub fn price(&self, as_of: Date) -> Option<&TokenPrice> {
        self.price_of(Tier::Standard, as_of)
    }

    fn price_of(&self, tier: Tier, as_of: Date) -> Option<&TokenPrice> {
        let in_force = |price: &&TokenPrice| price.tier == tier && price.holds(as_of);
        self.prices.iter().filter(in_force).max_by_key(|price| price.from)
    }

    /// What a call costs on demand on `as_of`, USD; none while a price is not known. A tier has prices
    /// of its own, or a known factor over the standard ones; else its cost is unknown.
    pub fn cost(&self, call: &Call, as_of: Date) -> Option<Decimal> {
        // What used nothing costs nothing, whatever the price.
        if call.billed_tokens() == 0 {
            return Some(Decimal::ZERO);
        }
        if let Some(price) = self.price_of(call.tier, as_of) {
            return price.cost(call);
        }
        let factor = self.tier(call.tier)?.price_factor?;
        Some(self.price(as_of)?.cost(call)?.checked_mul(factor)?.normalize())
    }

    /// The command that files a request for `value` of a dimension, where the channel has one.
    pub fn command(&self, dimension: &str, value: u64, region: Option<&str>) -> Option<String> {
        let quota = self.dimension(dimension)?.quota.as_ref();
        self.channel.as_ref()?.command(quota.and_then(|quota| quota.code.as_deref()), value, region)
    }

    /// The row with those of its prices only that are in force on `day`, without their dates, so that two
    /// days can be compared.
    #[must_use]
    pub fn on(&self, day: Date) -> Self {
        let of_the_day = |tier| self.price_of(tier, day).cloned();
        let undated = |price| TokenPrice { from: None, until: None, ..price };
        let prices = Tier::ALL.into_iter().filter_map(of_the_day).map(undated).collect();
        Self { prices, ..self.clone() }
    }

    /// Whether the model is no longer served on `as_of`. Its row still answers.
    pub fn is_retired(&self, as_of: Date) -> bool {
        self.retires.is_some_and(|retires| retires <= as_of)
    }

    /// Whether the row stands for pools that have none of their own (its key has `*` parts).
    pub fn is_fallback(&self) -> bool {
        self.key.wildcards() > 0
    }

    /// Sources read more than 180 days before `as_of`.
    pub fn stale_sources(&self, as_of: Date) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(move |source| source.is_stale(as_of))
    }

    /// Whether any source is stale on `as_of`: every plan that uses the row then says so.
    pub fn is_stale(&self, as_of: Date) -> bool {
        self.stale_sources(as_of).next().is_some()
    }
}

/// What the other reading of a flag would make of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity<'a> {
    /// The flag, with the reading in its `alternative`.
    pub flag: &'a Flag,
    /// Both draws by that reading.
    pub metered: Metered,
}
