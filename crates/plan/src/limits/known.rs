//! Which pool and dimension of the catalog a provider's quota is.

use jiff::civil::Date;
use plimsoll_catalog::{Catalog, Entry, PoolKey};

/// Pool and dimension of the quota with that code, else with exactly that name.
pub(super) fn by_quota<'c>(
    catalog: &'c Catalog,
    provider: &str,
    code: Option<&str>,
    name: &str,
) -> Option<(&'c PoolKey, &'c str)> {
    let quotas = || {
        catalog.entries().filter(|entry| entry.key.provider() == provider).flat_map(|entry| {
            let named = |dimension: &'c plimsoll_catalog::Dimension| {
                Some((&entry.key, dimension.name.as_str(), dimension.quota.as_ref()?))
            };
            entry.dimensions.iter().filter_map(named)
        })
    };
    let by_code = code.and_then(|code| quotas().find(|(.., quota)| quota.code.as_deref() == Some(code)));
    by_code
        .or_else(|| quotas().find(|(.., quota)| quota.name == name))
        .map(|(key, dimension, _)| (key, dimension))
}

/// The row of a model in one product and scope; names are compared without their punctuation, since
/// providers write `gpt4.1` and `gpt-4.1` for the same.
pub(super) fn by_model<'c>(
    catalog: &'c Catalog,
    place: (&str, &str, &str),
    model: &str,
    on: Date,
) -> Option<&'c Entry> {
    let plain =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let wanted = plain(model);
    let key = catalog.entries().map(|entry| &entry.key).find(|key| {
        (key.provider(), key.product(), key.scope()) == place
            && key.wildcards() == 0
            && plain(key.model()) == wanted
    })?;
    catalog.find(key, on)
}
