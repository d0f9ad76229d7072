//! The table of a worksheet.
//!
//! Each scenario is worked out at P50, P95 and P99: all figures of a run at that percentile, times its rate,
//! which overstates a busy minute of many runs and is what people can check by hand. Invariants: classes
//! that share a pool are sized together, once; a figure that is not known is absent.

use jiff::civil::Date;
use plimsoll_catalog::{Catalog, PoolKey, Term};
use plimsoll_toml::{Fault, Spanned};
use serde::Serialize;

use super::{Class, PERCENTILES, Scenario, Worksheet};
use crate::{
    Calls, PoolDemand, PoolSize, Shape, TermCost,
    money::{exact, usd},
    overage,
    quantity::Quantity,
    queue::poisson_quantile,
    size_pool,
};

/// One line: what a scenario asks of a pool, or how many are inside a stage, at one percentile.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorksheetLine {
    /// Name of the scenario.
    pub scenario: String,
    /// `pool`, `stage` or `reservation`.
    pub line: &'static str,
    /// Pool, stage with its class, or reservation.
    pub name: String,
    /// `p50`, `p95` or `p99`.
    pub percentile: &'static str,
    /// Calls, or passes through the stage, a minute.
    pub requests_per_min: Option<Quantity>,
    /// Text input tokens a minute that no cache served.
    pub input_tokens_per_min: Option<Quantity>,
    /// Input tokens a minute that the cache served, audio included.
    pub cached_tokens_per_min: Option<Quantity>,
    /// Audio input tokens a minute that no cache served.
    pub audio_tokens_per_min: Option<Quantity>,
    /// Output tokens a minute.
    pub output_tokens_per_min: Option<Quantity>,
    /// Need of each dimension with headroom, as `tokens_per_min=486000`.
    pub need: Option<String>,
    /// Inside at once, mean (Little's law).
    pub in_flight: Option<Quantity>,
    /// Slots that hold them 95 % of the time.
    pub slots_p95: Option<u64>,
    /// Units to have; input and output apart as `4+1`.
    pub units: Option<String>,
    /// Their name, or the grant that covers the needs.
    pub unit: Option<String>,
    /// USD an hour.
    pub usd_per_hour: Option<String>,
    /// USD a day of this scenario.
    pub usd_per_day: Option<String>,
    /// Calls a minute at which the next step of units is needed.
    pub next_step_at: Option<String>,
    /// Calls a minute at which the first given limit is reached.
    pub limit_at: Option<String>,
    /// What to know before using the figures.
    pub warnings: Vec<String>,
}

impl Worksheet {
    /// The lines of every scenario, in the order of the file. `file` and `text` are those that it was read
    /// from, for messages.
    ///
    /// # Errors
    /// File and line of the class or scenario whose pool the catalog does not know, or whose figures cannot
    /// be.
    pub fn lines(
        &self,
        file: &str,
        text: &str,
        catalog: &Catalog,
        as_of: Date,
    ) -> Result<Vec<WorksheetLine>, Fault> {
        let as_it_stands = Scenario { name: "base".to_owned(), ..Scenario::default() };
        let base = Spanned::new(0..0, as_it_stands);
        let scenarios = if self.scenarios.is_empty() { std::slice::from_ref(&base) } else { &self.scenarios };
        let mut lines = Vec::new();
        for scenario in scenarios {
            for (at, percentile) in PERCENTILES.into_iter().enumerate() {
                let case = Case { sheet: self, scenario: scenario.get_ref(), at, percentile, as_of };
                lines.extend(
                    case.lines(catalog).map_err(|(class, message)| {
                        Fault::new(file, message).at(text, &class).field("class")
                    })?,
                );
            }
        }
        Ok(lines)
    }
}

/// One scenario at one percentile.
struct Case<'a> {
    sheet: &'a Worksheet,
    scenario: &'a Scenario,
    at: usize,
    percentile: &'static str,
    as_of: Date,
}

/// Place of a class in the text, and what is wrong.
type Misfit = (std::ops::Range<usize>, String);

impl Case<'_> {
    fn lines(&self, catalog: &Catalog) -> Result<Vec<WorksheetLine>, Misfit> {
        let mut pools: Vec<PoolKey> = Vec::new();
        for class in &self.sheet.classes {
            let pool = self.pool_of(class.get_ref());
            if !pools.contains(&pool) {
                pools.push(pool);
            }
        }
        let mut lines = Vec::new();
        let mut deployed: Vec<(PoolKey, u64)> = Vec::new();
        for pool in pools {
            let (size, line) = self.pool_line(catalog, &pool)?;
            deployed.extend(size.units.map(|units| (pool, units)));
            lines.push(line);
        }
        lines.extend(self.reservations(&deployed));
        lines.extend(self.sheet.classes.iter().flat_map(|class| self.stages(class.get_ref())));
        Ok(lines)
    }

    fn line(&self, line: &'static str, name: String) -> WorksheetLine {
        let (scenario, percentile) = (self.scenario.name.clone(), self.percentile);
        WorksheetLine { scenario, line, name, percentile, ..WorksheetLine::default() }
    }

    fn pool_of(&self, class: &Class) -> PoolKey {
        self.scenario.moves.get(&class.pool).unwrap_or(&class.pool).clone()
    }

    fn runs_per_min(&self, class: &Class) -> Quantity {
        let own = self.scenario.class_rate.get(&class.name);
        &class.runs_per_min * &own.or(self.scenario.rate.as_ref()).cloned().unwrap_or_else(Quantity::one)
    }

    fn seconds(&self, seconds: &Quantity) -> Quantity {
        seconds * &self.scenario.latency.clone().unwrap_or_else(Quantity::one)
    }

    fn calls(&self, class: &Class) -> Calls {
        let factor = |factor: &Option<Quantity>| factor.clone().unwrap_or_else(Quantity::one);
        let (input, output) = (factor(&self.scenario.input), factor(&self.scenario.output));
        let calls = class.calls.as_ref().map_or_else(Quantity::one, |calls| calls.at(self.at).clone());
        let seconds = class.service_seconds.as_ref();
        Calls {
            shape: Shape {
                input_tokens: class.input_tokens.at(self.at) * &input,
                audio_tokens: class.audio_tokens.at(self.at) * &input,
                output_tokens: class.output_tokens.at(self.at) * &output,
                cache_rate: self.scenario.cache_rate.as_ref().unwrap_or(&class.cache_rate).clone(),
                max_tokens: class.max_tokens.clone(),
            },
            per_min: self.runs_per_min(class) * calls,
            service_seconds: seconds.map(|seconds| self.seconds(seconds.at(self.at))),
        }
    }

    fn pool_line(&self, catalog: &Catalog, pool: &PoolKey) -> Result<(PoolSize, WorksheetLine), Misfit> {
        let drawing = || self.sheet.classes.iter().filter(|class| self.pool_of(class.get_ref()) == *pool);
        let place = drawing().next().map_or(0..0, Spanned::span);
        let calls: Vec<Calls> = drawing().map(|class| self.calls(class.get_ref())).collect();
        let bursts = drawing().filter_map(|class| class.get_ref().burst_calls.clone());
        let burst = bursts.reduce(|sum, burst| sum + burst);
        let terms = self.sheet.pools.iter().map(Spanned::get_ref).find(|terms| terms.key == *pool);
        let demand = PoolDemand {
            pool: pool.clone(),
            as_of: self.as_of,
            calls,
            peak_factor: Quantity::one(),
            headroom: self.scenario.headroom.as_ref().unwrap_or(&self.sheet.headroom).clone(),
            burst_calls: burst.map(|burst| burst * self.scenario.burst.clone().unwrap_or_else(Quantity::one)),
            limits: terms.map(|terms| terms.limits.clone().into_iter().collect()).unwrap_or_default(),
            held: Vec::new(),
            price: None,
        };
        let size = size_pool(catalog, &demand).map_err(|error| (place.clone(), error.to_string()))?;
        let term = terms.and_then(|terms| terms.term.as_deref());
        if let Some(name) = term.filter(|name| !size.terms.iter().any(|term| term.term == **name)) {
            let names: Vec<&str> = size.terms.iter().map(|term| term.term.as_str()).collect();
            let message = format!("{pool} is not sold for a term `{name}`; it is for {}", names.join(", "));
            return Err((place, message));
        }
        let (hour, day) = self.cost(catalog, &size, &demand, term);
        let per_min = |of: fn(&Shape) -> Quantity| {
            Some(demand.calls.iter().map(|calls| &of(&calls.shape) * &calls.per_min).sum::<Quantity>())
        };
        let needs = size.rates.iter().filter(|rate| rate.need > 0);
        let needs: Vec<String> = needs.map(|rate| format!("{}={}", rate.dimension, rate.need)).collect();
        let counts: Option<Vec<String>> =
            size.by_unit.iter().map(|unit| unit.units.map(|units| units.to_string())).collect();
        let names: Vec<&str> = size.by_unit.iter().map(|unit| unit.unit.as_str()).collect();
        let granted = size.grant.as_ref();
        let capacity = || granted?.capacity_units.map(|units| units.to_string());
        let by_units = !size.by_unit.is_empty();
        let line = WorksheetLine {
            requests_per_min: Some(size.requests_per_min.clone()),
            input_tokens_per_min: per_min(|shape| &shape.input_tokens * &shape.fresh()),
            cached_tokens_per_min: per_min(|shape| &shape.input() * &shape.cache_rate),
            audio_tokens_per_min: per_min(|shape| &shape.audio_tokens * &shape.fresh()),
            output_tokens_per_min: per_min(|shape| shape.output_tokens.clone()),
            need: Some(needs.join(" ")).filter(|needs| !needs.is_empty()),
            in_flight: size.in_flight.clone(),
            slots_p95: size.in_flight_p95,
            units: if by_units { counts.map(|counts| counts.join("+")) } else { capacity() },
            unit: if by_units {
                Some(names.join("+"))
            } else {
                granted.and_then(|grant| grant.unit.clone().or_else(|| grant.step.clone()))
            },
            usd_per_hour: hour.as_ref().map(usd),
            usd_per_day: day.as_ref().map(usd),
            next_step_at: size.next_step_at.clone(),
            limit_at: first_limit(&size),
            warnings: size.warnings.clone(),
            ..self.line("pool", pool.to_string())
        };
        Ok((size, line))
    }

    /// USD an hour and a day: units by their term, which is paid around the clock but for hours, that are
    /// billed by the minute; calls on demand as long as the scenario lasts.
    fn cost(
        &self,
        catalog: &Catalog,
        size: &PoolSize,
        demand: &PoolDemand,
        term: Option<&str>,
    ) -> (Option<Quantity>, Option<Quantity>) {
        let hours = self.scenario.hours_per_day.clone().unwrap_or_else(|| 24.into());
        let parsed = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Quantity>().ok());
        if size.by_unit.is_empty() {
            let hour = size.on_demand.as_ref().map(|cost| cost.exact_hourly.clone());
            let day = hour.as_ref().map(|hour| hour * &hours);
            return (hour, day);
        }
        let chosen = |cost: &&TermCost| match term {
            Some(name) => cost.term == name,
            None => cost.hourly_usd.is_some(),
        };
        let Some(cost) = size.terms.iter().find(chosen) else { return (None, None) };
        let day = if cost.hours == 1 {
            let minutes = (&hours * &60.into()).ceil();
            let units = catalog.find(&demand.pool, self.as_of).map(|entry| entry.units.as_slice());
            let billed = |(unit, count): (&plimsoll_catalog::Unit, &crate::UnitCount)| {
                let term: &Term = unit.term(&cost.term)?;
                term.usd_for(count.units?, minutes, self.as_of).map(exact)
            };
            units.unwrap_or_default().iter().zip(&size.by_unit).map(billed).sum()
        } else {
            parsed(&cost.daily_usd)
        };
        (parsed(&cost.hourly_usd), day)
    }

    fn reservations(&self, deployed: &[(PoolKey, u64)]) -> Vec<WorksheetLine> {
        let line = |reservation: &Spanned<super::Reservation>| {
            let held = reservation.get_ref();
            let covered = deployed.iter().filter(|(pool, _)| held.pools.covers(pool));
            let units: Vec<u64> = covered.map(|(_, units)| *units).collect();
            let beyond = overage(&units, held.units);
            let total = units.iter().fold(0u64, |sum, units| sum.saturating_add(*units));
            WorksheetLine {
                units: Some(total.to_string()),
                unit: Some(format!("{} held, {beyond} beyond at the hourly price", held.units)),
                ..self.line("reservation", held.pools.to_string())
            }
        };
        self.sheet.reservations.iter().map(line).collect()
    }

    /// Those inside each stage of a class, by Little's law: its model calls first.
    fn stages(&self, class: &Class) -> Vec<WorksheetLine> {
        let runs = self.runs_per_min(class);
        let model = class
            .service_seconds
            .as_ref()
            .map(|seconds| ("model calls", self.calls(class).per_min, self.seconds(seconds.at(self.at))));
        let others = class.stages.iter().map(|stage| {
            let passes = &runs * &stage.per_run.clone().unwrap_or_else(Quantity::one);
            (stage.name.as_str(), passes, self.seconds(stage.seconds.at(self.at)))
        });
        let line = |(stage, passes, seconds): (&str, Quantity, Quantity)| {
            let inside = (&passes * &seconds).over(&60.into());
            WorksheetLine {
                requests_per_min: Some(passes),
                slots_p95: inside.as_ref().map(|mean| poisson_quantile(mean.to_f64(), 0.95)),
                in_flight: inside,
                ..self.line("stage", format!("{}: {stage}", class.name))
            }
        };
        model.into_iter().chain(others).map(line).collect()
    }
}

/// The rate at which the first of the given limits is reached.
fn first_limit(size: &PoolSize) -> Option<String> {
    let known = size.rates.iter().filter_map(|rate| {
        let told = rate.limit_at.as_ref()?;
        Some((told.parse::<Quantity>().ok()?, told, rate))
    });
    let first = known.min_by(|(left, ..), (right, ..)| left.cmp(right));
    first.map(|(_, told, rate)| format!("{told} ({})", rate.dimension))
}
