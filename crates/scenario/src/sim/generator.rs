//! The clock: starts and wake-ups in order of time, spans out in batches.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::{Date, Time};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::calendar::Calendar;
use super::run::Run;
use super::starts::Starts;
use super::world::World;
use crate::file::{Scenario, ScenarioError};
use crate::random::keyed;

/// Spans in a request, about: the default batch of the OpenTelemetry SDKs.
const BATCH: usize = 512;

/// What a scenario is played with, instead of what its file says.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// First day, in the scenario's time zone.
    pub from: Option<Date>,
    /// Number of days.
    pub days: Option<u32>,
    /// Seed.
    pub seed: Option<u64>,
    /// How many times larger the company is than the file says: its runs and its limits alike, so
    /// that what was tight stays tight. Far below 1 the peaks of fewer runs are relatively higher,
    /// and more is throttled than the file's own size shows.
    pub scale: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { from: None, days: None, seed: None, scale: 1.0 }
    }
}

impl Scenario {
    /// Plays the scenario: OTLP requests in the order in which they would arrive.
    ///
    /// # Errors
    /// [`ScenarioError::Period`] where days or scale name nothing to play.
    pub fn generate(&self, options: Options) -> Result<Generator, ScenarioError> {
        let from = options.from.unwrap_or(self.from);
        let days = options.days.unwrap_or(self.days);
        let seed = options.seed.unwrap_or(self.seed);
        let calendar = Calendar::new(self.zone.clone(), self.holidays.clone());
        let end = from.checked_add(i64::from(days).days()).ok();
        let instants = (
            calendar.instant(from, Time::midnight()),
            end.and_then(|end| calendar.instant(end, Time::midnight())),
        );
        if days == 0 || instants.0.is_none() || instants.1.is_none() {
            return Err(ScenarioError::Period { from, days });
        }
        if !options.scale.is_finite() || options.scale <= 0.0 {
            return Err(ScenarioError::Scale(options.scale.to_string()));
        }
        let starts = self.workflows.iter().enumerate().map(|(stream, workflow)| {
            let windows = workflow.arrivals.clone();
            Starts::new(
                windows,
                workflow.burstiness,
                calendar.clone(),
                (from, days),
                options.scale,
                (seed, stream as u64),
            )
        });
        let starts = starts.collect();
        Ok(Generator {
            starts,
            started: vec![0; self.workflows.len()],
            world: World::new(self, calendar, options.scale),
            waiting: BTreeMap::new(),
            woken: 0,
            seed,
        })
    }
}

/// The requests of one play, made as they are asked for.
#[derive(Debug)]
pub struct Generator {
    starts: Vec<Starts>,
    /// Runs started so far, by workflow.
    started: Vec<u64>,
    world: World,
    /// Runs in flight by the instant at which they go on, and a number that keeps ties in order.
    waiting: BTreeMap<(u64, u64), Box<Run>>,
    woken: u64,
    seed: u64,
}

impl Iterator for Generator {
    type Item = ExportTraceServiceRequest;

    fn next(&mut self) -> Option<ExportTraceServiceRequest> {
        while self.world.out.len() < BATCH {
            if !self.step() {
                break;
            }
        }
        self.world.out.take()
    }
}

impl Generator {
    /// Lets the next thing happen; false when nothing is left to.
    fn step(&mut self) -> bool {
        let start = self
            .starts
            .iter_mut()
            .enumerate()
            .filter_map(|(index, starts)| Some((starts.peek()?, index)))
            .min();
        let wake = self.waiting.first_key_value().map(|(key, _)| *key);
        match (start, wake) {
            (Some((start, workflow)), wake) if wake.is_none_or(|(at, _)| start.at < at) => {
                self.starts[workflow].pop();
                let number = self.started[workflow];
                self.started[workflow] += 1;
                // Streams of runs follow those of the starts.
                let random = keyed(self.seed, (self.starts.len() + workflow) as u64, number);
                self.world.now = start.at;
                let run = Run::start(self.world.plan(workflow), start.queued, random, &mut self.world);
                self.wake(Box::new(run));
            }
            (_, Some(_)) => {
                if let Some(((at, _), run)) = self.waiting.pop_first() {
                    self.world.now = at;
                    self.wake(run);
                }
            }
            (_, None) => return false,
        }
        true
    }

    fn wake(&mut self, mut run: Box<Run>) {
        if let Some(at) = run.wake(&mut self.world) {
            self.woken += 1;
            self.waiting.insert((at, self.woken), run);
        }
    }
}
