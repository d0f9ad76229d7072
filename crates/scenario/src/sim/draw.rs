//! How many calls a run makes, and how large a call is.

use rand::RngExt;

use super::attempt::Prompt;
use super::facts::RunFacts;
use super::plan::Plan;
use super::pool::Tokens;
use super::world::World;
use crate::file::{Cached, Calls, Spread, Workflow};
use crate::random::{Random, chance, normal, pick};

/// Variation of one step's input around its run's line of growth.
const STEP_SIGMA: f64 = 0.15;

/// Mean share of a prompt that the cache has, where it has any of it: between half and all.
const FOUND: f64 = 0.75;

/// What is drawn once a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Generations.
    pub(super) calls: u64,
    pub(super) tools: u64,
    /// How much larger its inputs are than the mean run's.
    pub(super) factor: f64,
}

impl Shape {
    pub(super) fn draw(spec: &Workflow, random: &mut Random) -> Self {
        let calls = &spec.calls;
        let factor =
            calls.growth.map_or(1.0, |growth| unit_mean(Spread::sigma(growth.run_p95_over_p50), random));
        if let Some(count) = &calls.count {
            // Long runs use more tools: one deviate for both.
            let deviate = normal(random);
            let tools = spec.tools.as_ref().and_then(|tools| tools.count);
            let tools = tools.map_or(0, |tools| tools.at(deviate).round() as u64);
            return Self { calls: (count.at(deviate).round() as u64).max(1), tools, factor };
        }
        let kind = &calls.mix[pick(random, calls.mix.iter().map(|kind| kind.share))];
        Self { calls: kind.calls, tools: if spec.tools.is_some() { kind.tools } else { 0 }, factor }
    }
}

/// What one generation asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Generation {
    /// From 0.
    pub(super) step: u64,
    /// Tokens that retrieval found: they come on top of the drawn input.
    pub(super) retrieved: u64,
    /// The run's factor.
    pub(super) factor: f64,
}

/// The tokens of a generation, and what its prompt is made of.
pub(super) fn generation(
    asked: Generation,
    run: &RunFacts,
    plan: &Plan,
    world: &mut World,
    random: &mut Random,
) -> (Tokens, Prompt) {
    let calls = &plan.spec.calls;
    let more = run.more();
    // What the run made itself: all of its own input, or what it added to the first step's.
    let (own, made) = match calls.growth {
        Some(growth) => {
            let first = plan.first_input * asked.factor * more;
            let own = first * (1.0 + growth.slope() * asked.step as f64) * unit_mean(STEP_SIGMA, random);
            (own, if asked.step == 0 { 0.0 } else { (own - first).max(0.0) })
        }
        None => {
            let own = calls.input.draw(random) * more;
            (own, own)
        }
    };
    let mut tokens = capped(calls.output.draw(random) * more, calls.max_tokens);
    tokens.uncached = ((own.round() as u64).max(1) + asked.retrieved).min(plan.context_tokens);
    if let Some(cached) = calls.cached {
        let warm = cached.prefix_tokens.is_some()
            && world.prefix_is_warm(plan.index, run.tenant, cached.ttl_s.unwrap_or(300));
        cache(&mut tokens, cached, warm, random);
    }
    let prompt = Prompt {
        retrieved: asked.retrieved,
        history: (made * calls.history_share) as u64,
        tool_results: (made * calls.tool_result_share) as u64,
    };
    (tokens, prompt)
}

/// The tokens of a call whose input nobody caches.
pub(super) fn plain(
    input: Option<&Spread>,
    output: f64,
    max_tokens: Option<u64>,
    random: &mut Random,
) -> Tokens {
    let mut tokens = capped(output, max_tokens);
    tokens.uncached = input.map_or(0, |input| input.draw_whole(random, 1));
    tokens
}

/// The tokens of a second opinion: the workflow's own sizes.
pub(super) fn second_opinion(calls: &Calls, random: &mut Random) -> Tokens {
    let output = calls.output.draw(random);
    plain(Some(&calls.input), output, calls.max_tokens, random)
}

/// Output within its cap: what the model would have said beyond it is cut.
fn capped(output: f64, cap: Option<u64>) -> Tokens {
    let output = (output.round() as u64).max(1);
    Tokens { output: cap.map_or(output, |cap| output.min(cap)), cap, ..Tokens::default() }
}

/// Splits an input, so far uncached, into what the provider's cache had and what it had not.
fn cache(tokens: &mut Tokens, cached: Cached, warm: bool, random: &mut Random) {
    if let Some(prefix) = cached.prefix_tokens {
        let prefix = prefix.min(tokens.uncached - 1);
        tokens.uncached -= prefix;
        *if warm { &mut tokens.cache_read } else { &mut tokens.cache_write } = prefix;
    } else if chance(random, cached.share.unwrap_or(0.0) / FOUND) {
        let block = cached.block_tokens.unwrap_or(1).max(1);
        let share = random.random_range(2.0 * FOUND - 1.0..1.0);
        let found = (tokens.uncached as f64 * share) as u64 / block * block;
        tokens.uncached -= found;
        tokens.cache_read = found;
    }
}

/// A log-normal factor of mean 1.
fn unit_mean(sigma: f64, random: &mut Random) -> f64 {
    (sigma * normal(random) - sigma * sigma / 2.0).exp()
}
