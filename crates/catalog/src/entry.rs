//! One dated row of the catalog: everything that is known of one pool.

use jiff::civil::Date;
use rust_decimal::Decimal;

use crate::{
    Call, Channel, Dimension, Flag, Grants, Meter, Metered, PoolKey, Quota, Source, TokenPrice, Unit,
};

/// What is known of one pool from a date on.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Largest output that the model gives in one call, tokens, where known.
    pub max_output_tokens: Option<u64>,
    /// Steps in which limits are raised.
    pub grants: Grants,
    /// Where they are raised; none where there is nobody to ask.
    pub channel: Option<Channel>,
    /// Quotas that have to rise with the pool's own.
    pub companions: Vec<Quota>,
    /// What is sold by reservation.
    pub unit: Option<Unit>,
    /// List prices on demand, oldest first; empty where none was found.
    pub prices: Vec<TokenPrice>,
    /// Day on which the model is retired, where announced.
    pub retires: Option<Date>,
    /// What is uncertain, and what was taken.
    pub flags: Vec<Flag>,
    /// Where the row was read.
    pub sources: Vec<Source>,
}

impl Entry {
    /// What one call draws from the pool's limits.
    pub fn meter(&self, call: &Call) -> Metered {
        self.meter.meter(call, self.max_output_tokens)
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

    /// List prices in force on `as_of`.
    pub fn price(&self, as_of: Date) -> Option<&TokenPrice> {
        let in_force = |price: &&TokenPrice| price.from.is_none_or(|from| from <= as_of);
        self.prices.iter().filter(in_force).max_by_key(|price| price.from)
    }

    /// What a call costs on demand on `as_of`, USD; none while a price is not known.
    pub fn cost(&self, call: &Call, as_of: Date) -> Option<Decimal> {
        self.price(as_of)?.cost(call)
    }

    /// The command that files a request for `value` of a dimension, where the channel has one.
    pub fn command(&self, dimension: &str, value: u64, region: Option<&str>) -> Option<String> {
        let quota = self.dimension(dimension)?.quota.as_ref();
        self.channel.as_ref()?.command(quota.and_then(|quota| quota.code.as_deref()), value, region)
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
