//! A provider's form, filled in from the plan: every field is filled, or says what is missing.
//!
//! Leaves which fields a form has to the catalog. The invariant: no field is invented; what the
//! telemetry and the spec do not tell reads `missing: ...`.

use std::collections::BTreeMap;

use plimsoll_catalog::{Channel, Entry, Fill};

use crate::context::{Context, mean};
use crate::need::Needed;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::requests::share;
use crate::spend::spend_in_a_month;
use crate::{PoolMeasured, SpendPlan};

/// One request's form.
pub(crate) struct Form<'f> {
    context: &'f Context<'f>,
    pool: &'f PoolWork,
    needed: &'f Needed,
    to: u64,
    entry: Option<&'f Entry>,
    measured: Option<&'f PoolMeasured>,
    spend: &'f [SpendPlan],
}

impl<'f> Form<'f> {
    pub(crate) fn new(
        context: &'f Context<'f>,
        pool: &'f PoolWork,
        needed: &'f Needed,
        to: u64,
        spend: &'f [SpendPlan],
    ) -> Self {
        let (entry, measured) = (context.entry(&pool.id.pool), context.pool_measured(&pool.id));
        Self { context, pool, needed, to, entry, measured, spend }
    }

    /// The channel's fields by label.
    pub(crate) fn fields(&self, channel: &Channel) -> BTreeMap<String, String> {
        channel.fields.iter().map(|field| (field.label.clone(), self.fill(field.from))).collect()
    }

    fn fill(&self, what: Fill) -> String {
        let plan = &self.needed.plan;
        let key = self.pool.id.key();
        let or_missing =
            |value: Option<String>, missing: &str| value.unwrap_or_else(|| format!("missing: {missing}"));
        match what {
            Fill::Account => or_missing(self.pool.plan.account.clone(), "name the account in [[pool]]"),
            Fill::Contact => {
                or_missing(self.pool.plan.owner.clone(), "name an owner in [[pool]] or [[workflow]]")
            }
            Fill::Region => {
                let scope = || key.as_ref().map(|key| key.scope().to_owned());
                or_missing(self.pool.plan.region.clone().or_else(scope), "name the region in [[pool]]")
            }
            Fill::Model => or_missing(key.map(|key| key.model().to_owned()), "the pool is not a key"),
            Fill::DeploymentType => or_missing(
                key.map(|key| format!("{} ({})", key.product(), key.scope())),
                "the pool is not a key",
            ),
            Fill::QuotaName => or_missing(
                self.quota().map(|quota| quota.name.clone()),
                "look the quota's name up at the provider",
            ),
            Fill::QuotaCode => or_missing(
                self.quota().and_then(|quota| quota.code.clone()),
                "look the quota's code up at the provider",
            ),
            Fill::CurrentValue => or_missing(
                plan.limit.map(|limit| Quantity::from(limit).to_string()),
                "give the limit in [[pool]]",
            ),
            Fill::RequestedValue => Quantity::from(self.to).to_string(),
            Fill::Tier => or_missing(plan.grant_step.clone(), "the provider grants by figure, not by tier"),
            Fill::NeededFrom => self.needed_from(),
            Fill::SteadyTokensPerMin => self.steady("tokens"),
            Fill::PeakTokensPerMin => self.peak("tokens"),
            Fill::SteadyRequestsPerMin => self.steady("requests"),
            Fill::PeakRequestsPerMin => self.peak("requests"),
            Fill::MeanInputTokens => {
                or_missing(self.a_request("input_tokens"), "no request with known input was measured")
            }
            Fill::MeanOutputTokens => {
                or_missing(self.a_request("output_tokens"), "no request with known output was measured")
            }
            Fill::ShareInputAbove25k => {
                "missing: count requests above 25,000 input tokens with plimsoll sql".to_owned()
            }
            Fill::CacheHitShare => or_missing(self.cache_hit(), "no input was measured"),
            Fill::Utilization => self.utilization(),
            Fill::Growth => self.growth(),
            Fill::SpendForecast => or_missing(
                spend_in_a_month(self.context, &self.pool.id, self.spend),
                "no run of known cost was measured, so that no spend can be forecast",
            ),
            Fill::CrossRegion => self.cross_region(),
            Fill::UseCase => self.use_case(),
            Fill::Impact => self.impact(),
            Fill::Mitigations => self.mitigations(),
            Fill::Justification => self.justification(),
        }
    }

    fn quota(&self) -> Option<&plimsoll_catalog::Quota> {
        self.entry?.dimension(&self.needed.plan.dimension)?.quota.as_ref()
    }

    fn needed_from(&self) -> String {
        match self.needed.plan.event_start {
            Some(start) => self.context.input.calendar.local_date(start).to_string(),
            None => format!("{} (ordinary use needs it today)", self.context.today),
        }
    }

    /// Busy minutes of the history in one measure, combined tokens made of input and output where the
    /// pool counts them apart.
    fn busy(&self, measure: &str) -> Vec<(String, &crate::Stat)> {
        let Some(measured) = self.measured else { return Vec::new() };
        let one = |measure: &str| {
            let stat = measured.per_minute.get(&format!("settlement.{measure}"))?;
            (stat.max > 0).then(|| (measure.replace('_', " "), stat))
        };
        match one(measure) {
            Some(stat) => vec![stat],
            None if measure == "tokens" => {
                ["input_tokens", "output_tokens"].into_iter().filter_map(one).collect()
            }
            None => Vec::new(),
        }
    }

    fn steady(&self, measure: &str) -> String {
        self.minutes(measure, "P50", |stat| stat.p50)
    }

    fn peak(&self, measure: &str) -> String {
        let measured = self.minutes(measure, "P95", |stat| stat.p95);
        let plan = &self.needed.plan;
        match &plan.event {
            Some(event) if plan.dimension.contains(measure) => {
                let planned = format!("{} at P95, planned for {event}", Quantity::from(plan.p95_floor));
                if measured.starts_with("missing") {
                    planned
                } else {
                    format!("{planned}; measured: {measured}")
                }
            }
            _ => measured,
        }
    }

    fn minutes(&self, measure: &str, statistic: &str, of: impl Fn(&crate::Stat) -> f64) -> String {
        let told: Vec<String> = self
            .busy(measure)
            .into_iter()
            .map(|(name, stat)| {
                let value = Quantity::of_percentile(of(stat)).unwrap_or_default();
                format!("{value} {name} ({statistic} of {} busy minutes, {})", stat.n, self.period())
            })
            .collect();
        if told.is_empty() { "missing: no busy minute was measured".to_owned() } else { told.join("; ") }
    }

    fn period(&self) -> String {
        let (from, to) = (self.context.measured().history.from, self.context.measured().history.to);
        let day = |at| self.context.input.calendar.local_date(at);
        format!("{} to {}", day(from), day(to))
    }

    /// Mean tokens of a request over the history.
    fn a_request(&self, measure: &str) -> Option<String> {
        let minutes = &self.measured?.per_minute;
        let (tokens, requests) =
            (minutes.get(&format!("settlement.{measure}"))?, minutes.get("settlement.requests")?);
        let mean = Quantity::ratio(tokens.sum, requests.sum).filter(|mean| !mean.is_zero())?;
        Some(format!("{} (mean, {})", Quantity::from(mean.ceil()), self.period()))
    }

    fn cache_hit(&self) -> Option<String> {
        let metrics = || {
            self.pool
                .plan
                .contributors
                .iter()
                .filter_map(|part| Some(&self.context.workflow(&part.workflow)?.metrics))
        };
        let sum = |name: &str| -> Option<i64> {
            let known: Vec<i64> =
                metrics().filter_map(|metrics| metrics.get(name)).map(|stat| stat.sum).collect();
            (!known.is_empty()).then(|| known.iter().sum())
        };
        let hit = Quantity::ratio(sum("cache_read")?, sum("input_tokens")?)?;
        Some(format!("{:.1} % of input tokens ({})", hit.to_f64() * 100.0, self.period()))
    }

    fn utilization(&self) -> String {
        let plan = &self.needed.plan;
        let measured = self.measured.map_or_else(String::new, |measured| {
            format!(
                "; {} of {} attempts refused in {} of {} busy minutes ({})",
                Quantity::from(measured.throttled_attempts),
                Quantity::from(measured.attempts),
                Quantity::from(measured.censored_minutes),
                Quantity::from(measured.busy_minutes),
                self.period(),
            )
        });
        match plan.utilization_p95 {
            Some(share) => {
                format!("{:.0} % of the current limit at P95 of the planned peak{measured}", share * 100.0)
            }
            None => format!("missing: the current limit is not given{measured}"),
        }
    }

    fn growth(&self) -> String {
        let mut coming = self.context.windows.coming.iter().filter(|occurrence| {
            self.pool.plan.contributors.iter().any(|part| occurrence.workflows.contains_key(&part.workflow))
        });
        let next: Vec<String> = coming
            .by_ref()
            .take(3)
            .map(|occurrence| {
                format!(
                    "{} on {}",
                    occurrence.event,
                    self.context.input.calendar.local_date(occurrence.start())
                )
            })
            .collect();
        let events = if next.is_empty() { "none in the calendar".to_owned() } else { next.join(", ") };
        format!("no trend is assumed; coming events: {events}")
    }

    fn cross_region(&self) -> String {
        match self.pool.id.key() {
            Some(key) if ["global", "geo", "datazone"].contains(&key.scope()) => {
                format!("yes, {} routing", key.scope())
            }
            _ => {
                let residency = self
                    .pool
                    .plan
                    .contributors
                    .iter()
                    .find_map(|part| self.context.spec().workflow(&part.workflow)?.residency.clone());
                residency.map_or_else(
                    || "missing: say whether data may leave the region".to_owned(),
                    |place| format!("no: data must stay in {place}"),
                )
            }
        }
    }

    fn use_case(&self) -> String {
        let told: Vec<String> = self
            .pool
            .plan
            .contributors
            .iter()
            .map(|part| {
                let tier = self.context.tier(&part.workflow).map(|tier| match tier {
                    0 => ", customer-facing",
                    1 => ", deadline-bound",
                    2 => ", internal and asynchronous",
                    _ => ", deferrable",
                });
                format!(
                    "{}{} ({:.0} % of the peak)",
                    part.workflow,
                    tier.unwrap_or_default(),
                    part.share * 100.0
                )
            })
            .collect();
        if told.is_empty() {
            "missing: say what the calls are for".to_owned()
        } else {
            format!("agent workflows: {}", told.join("; "))
        }
    }

    fn impact(&self) -> String {
        let plan = &self.needed.plan;
        let Some(limit) = plan.limit.filter(|limit| *limit < plan.p95_floor) else {
            return "at today's limit the planned peak leaves no headroom".to_owned();
        };
        let over = share(plan.p95_floor - limit, plan.p95_floor) * 100.0;
        let when = plan.event.as_deref().unwrap_or("ordinary use");
        format!(
            "at today's limit of {} {over:.0} % of the P95 peak of {when} is refused and waits",
            Quantity::from(limit)
        )
    }

    fn mitigations(&self) -> String {
        let caps = self.pool.plan.contributors.iter().filter_map(|part| {
            let (unset, all) = self.context.workflow(&part.workflow)?.max_tokens_unset;
            (all > 0).then(|| {
                format!(
                    "{}: max_tokens set on {:.0} % of calls",
                    part.workflow,
                    100.0 - share(unset, all) * 100.0
                )
            })
        });
        let hit = self.cache_hit().map(|hit| format!("cache hits {hit}"));
        let told: Vec<String> = caps.chain(hit).collect();
        if told.is_empty() {
            "missing: nothing is known of caps and caching".to_owned()
        } else {
            told.join("; ")
        }
    }

    /// The request in prose that a reviewer can act on.
    pub(crate) fn justification(&self) -> String {
        let plan = &self.needed.plan;
        let what =
            plan.dimension.replace("_per_min", " a minute").replace("_per_day", " a day").replace('_', " ");
        let model = self.pool.id.key().map_or_else(
            || self.pool.id.pool.clone(),
            |key| format!("{} ({}, {})", key.model(), key.product(), key.scope()),
        );
        let account = self
            .pool
            .plan
            .account
            .as_ref()
            .map_or_else(String::new, |account| format!(", account {account}"));
        let from = plan
            .limit
            .map_or_else(|| "its present value".to_owned(), |limit| Quantity::from(limit).to_string());
        let percentile = self.context.percentile_name();
        let mut text = format!(
            "We ask to raise {what} for {model}{account} from {from} to {}, needed from {}.",
            Quantity::from(self.to),
            self.needed_from(),
        );
        text += &match (&plan.event, plan.event_start) {
            (Some(event), Some(start)) => {
                format!(" What needs it is {event}, which starts on {}.", self.context.local(start))
            }
            _ => " Ordinary use needs it, without any event.".to_owned(),
        };
        let history = &self.context.measured().history;
        text += &format!(
            " From {} ({} finished runs, usage known for {:.1} % of model calls): {}.",
            self.period(),
            Quantity::from(history.runs),
            share(history.model_calls_with_usage, history.model_calls) * 100.0,
            self.draws(),
        );
        text += &format!(
            " At the planned rates that is {} on average and {} at {percentile} per {} s window, by {}; {} {}.",
            Quantity::from(plan.mean_demand),
            Quantity::from(plan.p95_floor),
            plan.window_s,
            plan.basis,
            self.margin(),
            Quantity::from(plan.p95_need),
        );
        if plan.occurrences > 0 {
            text += &format!(
                " {} past occurrence{} measured, in which {:.1} % of attempts were refused with 429{}.",
                plan.occurrences,
                if plan.occurrences == 1 { " was" } else { "s were" },
                plan.censored * 100.0,
                if plan.censored > 0.0 { ", so that what they drew is a lower bound" } else { "" },
            );
        }
        if let Some(step) = &plan.grant_step {
            text += &format!(" The smallest step that covers it is {step}.");
        }
        text + &format!(" Done before asking: {}.", self.mitigations())
    }

    /// What is added to the floor: headroom, or the forecast's interval where that is larger.
    fn margin(&self) -> String {
        let plan = &self.needed.plan;
        if plan.forecast_p95 == Some(plan.p95_need) {
            return "at the rates that the forecast stays below in 95 of 100 cases".to_owned();
        }
        let percent = &self.context.spec().policy.headroom * &100.into();
        format!("with {percent} % headroom for drift, spikes and retries")
    }

    /// What a run of the largest contributor draws.
    fn draws(&self) -> String {
        let parts = self.needed.demand.as_ref().map(|demand| demand.parts.as_slice()).unwrap_or_default();
        let Some(part) = parts.first() else { return "no workflow's own draw is known".to_owned() };
        let what = self.needed.plan.dimension.trim_end_matches("_per_min").trim_end_matches("_per_day");
        let measure = format!("{}.{what}", self.needed.plan.basis);
        let workflow = self.context.workflow(&part.workflow);
        let draw = workflow.and_then(|workflow| {
            let event = self.needed.plan.event.as_deref();
            crate::demand::per_run(self.context, workflow, &self.pool.id, &measure, event)
        });
        let minutes = workflow
            .and_then(|workflow| mean(workflow.metrics.get("duration_ms")?)?.over(&60_000_000.into()));
        match draw {
            Some(draw) => format!(
                "a run of {} draws {} {} on average and {} at {} (n = {}){}",
                part.workflow,
                Quantity::from(draw.mean.ceil()),
                what.replace('_', " "),
                draw.percentile,
                self.context.percentile_name(),
                draw.n,
                minutes.map_or_else(String::new, |minutes| format!(
                    " and takes {:.1} minutes on average",
                    minutes.to_f64()
                )),
            ),
            None => format!("{} draws the most of it", part.workflow),
        }
    }
}
