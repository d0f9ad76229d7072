//! One run, from event to event.
//!
//! A run always waits for exactly one thing ([`Next`]); when its time comes it tells what happened
//! as spans, decides what to do, and names the next instant. The order of its work is steps before,
//! then generations with tools between them, then a second opinion where one is asked. How a call
//! goes is in `calling`.

use std::sync::Arc;

use rand::RngExt;

use super::attempt::{Attempt, End, Prompt, Purpose};
use super::draw::{Generation, Shape, generation, plain, second_opinion};
use super::facts::{RunFacts, Totals};
use super::plan::Plan;
use super::time::{MILLI, nanos};
use super::tools::{Dispatch, Execution, execute};
use super::world::World;
use crate::file::{Before, Operation, Tools};
use crate::random::{Random, chance, pick};
use crate::telemetry::{self, Retrieval, Scope, span_id, trace_id};

/// A run in flight.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) plan: Arc<Plan>,
    pub(super) facts: RunFacts,
    pub(super) random: Random,
    pub(super) next: Next,
    pub(super) place: Place,
    pub(super) attempt: Option<Attempt>,
    pub(super) shape: Shape,
    /// Generations made.
    pub(super) step: u64,
    /// Tools left in the run, and before the next generation.
    pub(super) tools_left: u64,
    pub(super) tools_due: u64,
    /// How often it has parked.
    pub(super) parks: u64,
    tools_slower: f64,
    /// Whether its tools have posted before, so that a restart replays.
    posted: bool,
    retrieved: u64,
    /// Whether it asks for a second opinion.
    fallback: bool,
}

/// What a run waits for.
#[derive(Debug)]
pub(super) enum Next {
    Proceed,
    Send,
    Hear(End),
    Retrieved(Retrieval),
    Worked(Vec<Execution>),
    Resume { parked_at: u64, restart: bool },
    Leave,
}

/// What a run has come to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Before(usize),
    Tools,
    Call,
    Fallback,
    Done,
}

impl Run {
    /// A run of a workflow that starts now, having been queued before.
    pub(super) fn start(plan: Arc<Plan>, queued: u64, mut random: Random, world: &mut World) -> Self {
        let (spec, now) = (&plan.spec, world.now);
        let shape = Shape::draw(spec, &mut random);
        let mut facts = RunFacts {
            spec: Arc::clone(spec),
            trace: trace_id(&mut random),
            root: span_id(&mut random),
            agent: span_id(&mut random),
            queued,
            started: now,
            agent_started: now + random.random_range(MILLI / 2..MILLI),
            tenant: pick(&mut random, spec.tenants.iter().map(|tenant| tenant.share)),
            class: pick(&mut random, spec.classes.iter().map(|class| class.share)),
            outcome: pick(&mut random, spec.outcomes.iter().map(|outcome| outcome.share)),
            version: plan.version(now),
            user: spec.conversations.then(|| (random.random_range(0..40_000), random.random())),
            degraded: Vec::new(),
            reduced: false,
            parked: None,
            resumed_from_step: None,
            failure: None,
            totals: Totals::default(),
            agent_totals: Totals::default(),
        };
        let full = world.pool(plan.pool).utilisation();
        if let Some(degrade) = spec.troubles.degrade.as_ref().filter(|degrade| full >= degrade.above) {
            facts.reduced = true;
            facts.degraded.push(degrade.mode.clone());
        }
        let slow = spec.tools.as_ref().and_then(|tools| tools.slow);
        let slow = slow.filter(|slow| world.calendar.holds(slow.days, world.calendar.date(now)));
        let fallback =
            spec.troubles.fallback.as_ref().is_some_and(|fallback| chance(&mut random, fallback.share));
        Self {
            facts,
            random,
            next: Next::Proceed,
            place: Place::Before(0),
            attempt: None,
            shape,
            step: 0,
            tools_left: shape.tools,
            tools_due: 0,
            parks: 0,
            tools_slower: slow.map_or(1.0, |slow| slow.factor),
            posted: false,
            retrieved: 0,
            fallback,
            plan,
        }
    }

    /// Goes on; the instant at which it wants to be woken again, or `None` when it has ended.
    pub(super) fn wake(&mut self, world: &mut World) -> Option<u64> {
        match std::mem::replace(&mut self.next, Next::Leave) {
            Next::Proceed => Some(self.begin(world)),
            Next::Send => Some(self.send(world)),
            Next::Hear(end) => Some(self.hear(end, world)),
            Next::Retrieved(found) => {
                self.retrieved += found.tokens;
                self.facts.totals.retrieved += found.tokens;
                world.tell(
                    self.plan.index,
                    Scope::Agent,
                    telemetry::retrieval(&self.facts, &found, world.now),
                );
                self.place = Place::Before(found.step + 1);
                Some(self.proceed(world))
            }
            Next::Worked(executions) => {
                for execution in &executions {
                    self.facts.count_tool(execution);
                    if let Some(span) = telemetry::tool(&self.facts, execution) {
                        world.tell(self.plan.index, Scope::Agent, span);
                    }
                }
                Some(self.proceed(world))
            }
            Next::Resume { parked_at, restart } => Some(self.resume(parked_at, restart, world)),
            Next::Leave => {
                self.tell_agent(world.now - MILLI, false, world);
                world.tell(self.plan.index, Scope::Agent, telemetry::root(&self.facts, world.now));
                None
            }
        }
    }

    /// Begins the next piece of work; the instant at which something comes of it.
    pub(super) fn proceed(&mut self, world: &mut World) -> u64 {
        let plan = Arc::clone(&self.plan);
        let calls = &plan.spec.calls;
        loop {
            match self.place {
                Place::Before(step) => match plan.spec.before.get(step) {
                    Some(before) => return self.prepare(before, step, world),
                    None if self.shape.calls == 1 => {
                        // With a single generation, the tools come before it.
                        self.tools_due = self.tools_left;
                        self.place = Place::Tools;
                    }
                    None => self.place = Place::Call,
                },
                Place::Tools => match &plan.spec.tools {
                    Some(tools) if self.tools_due > 0 => return self.work(tools, world),
                    _ => self.place = Place::Call,
                },
                Place::Call if self.step < self.shape.calls => {
                    let asked =
                        Generation { step: self.step, retrieved: self.retrieved, factor: self.shape.factor };
                    let (tokens, prompt) = generation(asked, &self.facts, &plan, world, &mut self.random);
                    return self.ask(
                        Purpose::Step(self.step),
                        plan.pool,
                        tokens,
                        prompt,
                        calls.stream,
                        world.now,
                    );
                }
                Place::Call => self.place = Place::Fallback,
                Place::Fallback => {
                    self.place = Place::Done;
                    if let (true, Some(pool)) = (self.fallback, plan.fallback) {
                        let tokens = second_opinion(calls, &mut self.random);
                        return self.ask(
                            Purpose::Fallback,
                            pool,
                            tokens,
                            Prompt::default(),
                            false,
                            world.now,
                        );
                    }
                }
                Place::Done => return self.leave(world.now),
            }
        }
    }

    /// Ends a moment from now.
    pub(super) fn leave(&mut self, now: u64) -> u64 {
        self.next = Next::Leave;
        now + 2 * MILLI + self.random.random_range(0..2 * MILLI)
    }

    /// Ends the agent span under way.
    pub(super) fn tell_agent(&mut self, end: u64, parks: bool, world: &mut World) {
        world.tell(self.plan.index, Scope::Agent, telemetry::agent(&self.facts, end, parks));
    }

    /// Waits for the agent to be set up.
    fn begin(&mut self, world: &mut World) -> u64 {
        if world.now < self.facts.agent_started {
            self.next = Next::Proceed;
            return self.facts.agent_started;
        }
        self.proceed(world)
    }

    /// Begins a step before the generations.
    fn prepare(&mut self, before: &Before, step: usize, world: &World) -> u64 {
        let random = &mut self.random;
        if let (Operation::Chat | Operation::Embeddings, Some(pool)) =
            (before.operation, self.plan.before[step])
        {
            let output = before.output.map_or(0.0, |output| output.draw(random));
            let mut tokens = plain(before.input.as_ref(), output, before.max_tokens, random);
            if before.operation == Operation::Embeddings {
                // There is no output, and so nothing to reserve for it.
                (tokens.output, tokens.cap) = (0, Some(0));
            }
            return self.ask(Purpose::Before(step), pool, tokens, Prompt::default(), false, world.now);
        }
        let mut chunks = before.chunks.map_or(0, |chunks| chunks.draw_whole(random, 0));
        if let Some(degrade) = self.plan.spec.troubles.degrade.as_ref().filter(|_| self.facts.reduced) {
            chunks = chunks.min(degrade.chunks);
        }
        let size = |_| before.chunk_tokens.map(|size| size.draw_whole(random, 1));
        let tokens = (0..chunks).filter_map(size).sum();
        let seconds = before.latency_s.map_or(0.0, |latency| latency.draw(random));
        self.next =
            Next::Retrieved(Retrieval { span: span_id(random), step, since: world.now, chunks, tokens });
        world.now + nanos(seconds)
    }

    /// Executes the tools that are due, as many at once as may be.
    fn work(&mut self, tools: &Tools, world: &mut World) -> u64 {
        let count = self.tools_due.min(tools.parallel.max(1));
        let dispatch = Dispatch {
            workflow: self.plan.index,
            count,
            left: self.tools_left,
            slower: self.tools_slower,
            posted: self.posted,
        };
        let executions = execute(tools, dispatch, world.now, &mut world.busy, &mut self.random);
        self.tools_due -= count;
        self.tools_left -= count;
        let end = executions.last().map_or(world.now, |execution| execution.end);
        self.next = Next::Worked(executions);
        end
    }

    /// Comes back from parking: where it left off, or at step one.
    fn resume(&mut self, parked_at: u64, restart: bool, world: &mut World) -> u64 {
        *self.facts.parked.get_or_insert(0) += world.now - parked_at;
        if restart {
            self.posted |= self.shape.tools > 0 && self.tools_left == 0;
            (self.step, self.tools_left) = (0, self.shape.tools);
        }
        self.facts.resumed_from_step = Some(self.step + 1);
        self.facts.agent = span_id(&mut self.random);
        self.facts.agent_started = world.now;
        self.facts.agent_totals = Totals::default();
        self.tools_due = 0;
        self.place = Place::Call;
        self.proceed(world)
    }
}
