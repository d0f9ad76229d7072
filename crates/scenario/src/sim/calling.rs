//! A model call: asked, sent, refused or answered, asked again.
//!
//! Refusals come from the pools; the rest of what goes wrong is drawn. Every attempt that ends is
//! told as one span, before anything is decided on it.

use std::sync::Arc;

use rand::RngExt;

use super::attempt::{Attempt, End, Heard, Prompt, Purpose};
use super::pool::Tokens;
use super::run::{Next, Place, Run};
use super::time::{MILLI, nanos};
use super::tools::due;
use super::world::World;
use crate::random::{chance, normal};
use crate::telemetry::{self, Scope, span_id};

impl Run {
    /// Queues the first attempt of a call; the instant at which it is sent.
    pub(super) fn ask(
        &mut self,
        purpose: Purpose,
        pool: usize,
        tokens: Tokens,
        prompt: Prompt,
        stream: bool,
        now: u64,
    ) -> u64 {
        let span = span_id(&mut self.random);
        let attempt = Attempt {
            span,
            purpose,
            pool,
            tokens,
            prompt,
            stream,
            number: 1,
            tries: 1,
            sent: now,
            waited: 0,
        };
        self.attempt = Some(attempt);
        self.next = Next::Send;
        // Building a request takes a moment.
        now + nanos(0.002 * normal(&mut self.random).exp())
    }

    /// Puts the attempt on the wire; the instant at which something is heard of it.
    pub(super) fn send(&mut self, world: &mut World) -> u64 {
        let now = world.now;
        let Some(attempt) = &mut self.attempt else { return self.leave(now) };
        attempt.waited = now - attempt.sent;
        attempt.sent = now;
        let troubles = &self.plan.spec.troubles;
        let random = &mut self.random;
        let pool = world.pool(attempt.pool);
        let (end, lasts) = if let Err(retry_after) = pool.admit(&attempt.tokens) {
            (End::Refused { retry_after }, nanos(random.random_range(0.06..0.25)))
        } else {
            let pace = pool.pace(attempt.tokens.output, random);
            let patience = troubles.timeout.filter(|timeout| chance(random, timeout.share));
            if let Some(timeout) = patience {
                (End::TimedOut, nanos(timeout.after_s))
            } else if attempt.number == 1 && chance(random, troubles.retry_share) {
                (End::Unavailable, pace.first_token)
            } else {
                let stall = troubles.stall.filter(|stall| attempt.stream && chance(random, stall.share));
                let stalled = stall.map(|stall| nanos(stall.seconds.draw(random)));
                let untold = troubles.usage_missing.filter(|_| attempt.stream && now < self.plan.usage_from);
                let usage = !untold.is_some_and(|untold| chance(random, untold.share));
                let lasts = pace.first_token + pace.rest + stalled.unwrap_or(0);
                (End::Answered { first_token: pace.first_token, stalled, usage }, lasts)
            }
        };
        self.next = Next::Hear(end);
        now + lasts
    }

    /// Takes in how the attempt ended; the instant at which the run goes on.
    pub(super) fn hear(&mut self, end: End, world: &mut World) -> u64 {
        let Some(attempt) = self.attempt.take() else { return self.leave(world.now) };
        let pool = world.pool(attempt.pool);
        match end {
            End::Refused { .. } => {}
            End::Unavailable => pool.settle(&Tokens { output: 0, ..attempt.tokens }),
            // What the client no longer waits for is made and counted all the same.
            End::Answered { .. } | End::TimedOut => pool.settle(&attempt.tokens),
        }
        let (spec, allowance) = (Arc::clone(&pool.spec), pool.allowance());
        let answered = matches!(end, End::Answered { .. });
        if answered {
            self.move_on(&attempt);
        }
        let heard = Heard {
            end,
            at: world.now,
            pool: spec,
            allowance,
            wants_tools: answered && self.tools_due > 0,
            response: self.random.random(),
        };
        world.tell(
            self.plan.index,
            Scope::Client(attempt.pool),
            telemetry::model_call(&self.facts, &attempt, &heard),
        );
        if let End::Answered { usage, .. } = end {
            self.facts.count_call(&attempt.tokens, usage);
            return self.proceed(world);
        }
        self.facts.count_retry();
        self.ask_again(attempt, &heard, world)
    }

    /// What an answer leads to.
    fn move_on(&mut self, attempt: &Attempt) {
        self.place = match attempt.purpose {
            Purpose::Before(step) => Place::Before(step + 1),
            Purpose::Fallback => Place::Done,
            Purpose::Step(_) => {
                self.step += 1;
                let gaps = self.shape.calls.saturating_sub(self.step);
                let tools = self.plan.spec.tools.as_ref().filter(|_| gaps > 0);
                self.tools_due = tools.map_or(0, |tools| due(tools, self.tools_left, gaps, &mut self.random));
                Place::Tools
            }
        };
    }

    /// Asks another pool or waits for the same one, as the client would; after the last attempt,
    /// parks or fails.
    fn ask_again(&mut self, mut attempt: Attempt, heard: &Heard, world: &mut World) -> u64 {
        let now = world.now;
        let troubles = &self.plan.spec.troubles;
        let refused_for = if let End::Refused { retry_after } = heard.end { Some(retry_after) } else { None };
        let generates = matches!(attempt.purpose, Purpose::Step(_));
        let spill =
            self.plan.spill.filter(|spill| refused_for.is_some() && generates && *spill != attempt.pool);
        let wait = if let Some(spill) = spill {
            (attempt.pool, attempt.tries) = (spill, 1);
            if !self.facts.degraded.iter().any(|mode| mode == "spill_over") {
                self.facts.degraded.push("spill_over".to_owned());
            }
            5 * MILLI
        } else if attempt.tries < troubles.attempts.unwrap_or(5) {
            let backoff =
                nanos(troubles.backoff_s.unwrap_or(0.5) * 2f64.powi(attempt.tries.min(16) as i32 - 1));
            attempt.tries += 1;
            (backoff.max(refused_for.unwrap_or(0)) as f64 * self.random.random_range(1.0..1.25)) as u64
        } else {
            return self.give_up(heard, world);
        };
        attempt.number += 1;
        attempt.sent = now;
        attempt.span = span_id(&mut self.random);
        self.attempt = Some(attempt);
        self.next = Next::Send;
        now + wait
    }

    /// Parks, or fails.
    fn give_up(&mut self, heard: &Heard, world: &mut World) -> u64 {
        let now = world.now;
        let refused = matches!(heard.end, End::Refused { .. });
        let park = self.plan.spec.troubles.park.filter(|park| refused && self.parks < park.most);
        let Some(park) = park else {
            self.facts.failure = Some(heard.end.error_type(&heard.pool).to_owned());
            return self.leave(now);
        };
        self.parks += 1;
        self.tell_agent(now, true, world);
        let restart = chance(&mut self.random, park.restart_share);
        self.next = Next::Resume { parked_at: now, restart };
        now + nanos(60.0 * park.minutes.draw(&mut self.random))
    }
}
