//! What one reservation is for: the deployments that it covers, and whose calls they serve.
//!
//! Where the provider's reservation holds for any model, all models of one deployment type, account and
//! region are one group; else every model is its own. Groups are looked at whether units are held there,
//! deployed without a reservation, or sold for a model that is called on demand today. The invariant: a call
//! is the demand of one deployment.

use std::collections::BTreeSet;

use plimsoll_catalog::{Entry, PoolKey, Unit};

use crate::context::{Context, PoolId};
use crate::spec::{Capacity, ReservationSpec};

/// One reservation, held or to be considered.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) account: Option<String>,
    pub(crate) region: Option<String>,
    /// As the spec has them; none where nothing is held.
    pub(crate) held: Vec<&'a ReservationSpec>,
    pub(crate) members: Vec<Member<'a>>,
}

/// One model's deployment.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// The pool that units are held in.
    pub(crate) key: PoolKey,
    /// None where the catalog has no row.
    pub(crate) entry: Option<&'a Entry>,
    /// None where the row knows no unit.
    pub(crate) unit: Option<&'a Unit>,
    /// Pools of the telemetry whose calls it serves, or would serve.
    pub(crate) serves: Vec<PoolId>,
    /// Where those go that do not fit in, and some of those that did not: calls there of workflows that draw
    /// on `serves` are its demand too.
    pub(crate) spills_to: Vec<PoolId>,
    /// Whether the calls are on demand today.
    pub(crate) on_demand: bool,
}

impl Group<'_> {
    /// Units held today.
    pub(crate) fn units(&self) -> u64 {
        self.held.iter().map(|held| held.units).sum()
    }
}

impl Member<'_> {
    /// Whether a workflow's calls belong on these units at all: what can wait goes to batch first, and
    /// what its owner wants on demand stays there.
    pub(crate) fn takes(&self, context: &Context<'_>, workflow: &str) -> bool {
        let capacity = context.index.workflow_spec(workflow).and_then(|spec| spec.capacity);
        match capacity {
            Some(Capacity::Batch) => false,
            _ if context.tier(workflow) == Some(3) => false,
            Some(Capacity::OnDemand | Capacity::CrossRegion) => !self.on_demand,
            Some(Capacity::Reserved) | None => true,
        }
    }

    /// Whether units keep a floor for a workflow: for tiers as urgent as that one. Work that is on demand today has
    /// no floor in units: it is bought for cost alone.
    pub(crate) fn has_floor(&self, context: &Context<'_>, workflow: &str, tier: u8) -> bool {
        !self.on_demand && context.tier(workflow).is_some_and(|of| of <= tier)
    }

    /// Workflows that draw on it.
    pub(crate) fn workflows<'c>(&self, context: &'c Context<'_>) -> BTreeSet<&'c str> {
        let drawing = self.serves.iter().flat_map(|id| context.index.drawing(id));
        drawing.map(|workflow| workflow.workflow.as_str()).collect()
    }
}

/// All groups: those with units held first, in the spec's order, then by key.
pub(crate) fn groups<'a>(context: &'a Context<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for held in &context.spec().reservations {
        let Ok(key) = held.pool.parse::<PoolKey>() else { continue };
        let measured = context.pools().iter().filter(|id| id.pool == held.pool && covers(held, id));
        let mut serves: Vec<PoolId> = measured.cloned().collect();
        if serves.is_empty() {
            serves.push(PoolId::of(&held.pool, held.account.as_ref(), held.region.as_ref()));
        }
        let (account, region) = (held.account.clone(), held.region.clone());
        let member = Member::of(context, key, serves, false);
        place(&mut groups, Group { account, region, held: vec![held], members: vec![member] });
    }
    let others = || context.pools().iter().filter(|id| !is_held(context, id));
    let is_sold = |id: &PoolId| context.entry(&id.pool).is_some_and(|entry| !entry.units.is_empty());
    let mut consider = |id: &PoolId, key: PoolKey, on_demand: bool| {
        let member = Member::of(context, key, vec![id.clone()], on_demand);
        let (account, region) = (id.account.clone(), id.region.clone());
        place(&mut groups, Group { account, region, held: Vec::new(), members: vec![member] });
    };
    for id in others().filter(|id| is_sold(id)) {
        id.key().into_iter().for_each(|key| consider(id, key, false));
    }
    for id in others().filter(|id| !is_sold(id)) {
        let products = id.key().map(|key| products(context, &key)).unwrap_or_default();
        products.into_iter().for_each(|key| consider(id, key, true));
    }
    groups
}

/// Puts a deployment where its reservation is, or begins another. What is on demand today stands by itself: a
/// reservation that is held says nothing of whether more would pay.
fn place<'a>(groups: &mut Vec<Group<'a>>, mut new: Group<'a>) {
    let Some(member) = new.members.first() else { return };
    let here = |group: &Group<'a>| fits(&group.account, &new.account) && fits(&group.region, &new.region);
    let deployed = |other: &Member<'a>| !other.on_demand && other.key == member.key;
    if member.on_demand && groups.iter().any(|group| here(group) && group.members.iter().any(deployed)) {
        return;
    }
    let same = |group: &&mut Group<'a>| {
        let shares =
            |other: &Member<'a>| other.on_demand == member.on_demand && other.shares_reservation_with(member);
        here(group) && group.members.iter().any(shares)
    };
    let Some(group) = groups.iter_mut().find(same) else {
        groups.push(new);
        return;
    };
    group.held.append(&mut new.held);
    for member in new.members {
        match group.members.iter_mut().find(|other| other.key == member.key) {
            Some(other) => other.serve(member),
            None => group.members.push(member),
        }
    }
}

/// Products in which the provider sells units of a model that is called on demand, with what one serves.
fn products(context: &Context<'_>, key: &PoolKey) -> Vec<PoolKey> {
    let same = |entry: &&Entry| {
        let other = &entry.key;
        (other.provider(), other.scope(), other.model()) == (key.provider(), key.scope(), key.model())
            && other.product() != key.product()
    };
    let rows = context.input.catalog.in_force(context.today).filter(same);
    let sold = rows.filter(|entry| entry.units.iter().any(|unit| unit.throughput.is_some()));
    sold.filter(|entry| !entry.is_retired(context.today)).map(|entry| entry.key.clone()).collect()
}

/// Whether units are held for a pool's calls.
pub(crate) fn is_held(context: &Context<'_>, pool: &PoolId) -> bool {
    context.spec().reservations.iter().any(|held| held.pool == pool.pool && covers(held, pool))
}

/// What one side does not tell may be what the other tells.
fn fits(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_none() || other.is_none() || one == other
}

fn covers(held: &ReservationSpec, pool: &PoolId) -> bool {
    fits(&held.account, &pool.account) && fits(&held.region, &pool.region)
}

impl<'a> Member<'a> {
    fn of(context: &'a Context<'a>, key: PoolKey, serves: Vec<PoolId>, on_demand: bool) -> Self {
        let entry = context.input.catalog.find(&key, context.today);
        let to = entry.and_then(|entry| entry.overflow.as_ref()).map(|overflow| overflow.to.as_str());
        let spill = |other: &&PoolId| {
            let Some(other_key) = other.key() else { return false };
            let same = (other_key.provider(), other_key.scope(), other_key.model())
                == (key.provider(), key.scope(), key.model());
            let beside = serves.iter().any(|id| id.account == other.account && id.region == other.region);
            same && beside && Some(other_key.product()) == to && !serves.contains(other)
        };
        let spills_to = context.pools().iter().filter(spill).cloned().collect();
        let unit = entry.and_then(|entry| entry.units.first());
        Self { key, entry, unit, serves, spills_to, on_demand }
    }

    /// One reservation holds for both: the same kind of unit, of any model or of the same one.
    fn shares_reservation_with(&self, other: &Self) -> bool {
        let place = |member: &Self| {
            let key = &member.key;
            [key.provider(), key.product(), key.scope()].map(str::to_owned)
        };
        let (Some(one), Some(two)) = (self.unit, other.unit) else { return self.key == other.key };
        let any_model = one.model_independent && two.model_independent && one.name == two.name;
        place(self) == place(other) && (self.key == other.key || (any_model && one.terms == two.terms))
    }

    fn serve(&mut self, more: Self) {
        for id in more.serves {
            if !self.serves.contains(&id) && !self.spills_to.contains(&id) {
                self.serves.push(id);
            }
        }
    }
}
