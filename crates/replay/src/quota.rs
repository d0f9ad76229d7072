//! One limit of a provider: what it counts, how much, and the rule by which it lets calls through.
//!
//! Leaves counting to [`crate::bucket`] and the numbers to the catalog. The invariant: a slice is
//! held beside its window with a proportional share, by [`Limit::enforced`], and nowhere else.

use serde::{Deserialize, Serialize};

use crate::limit::{Limit, Window};

/// A limit as data. Several may bind one call (minute and day, project inside organisation), and
/// several pools may draw on one (a limit group).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// The dimension of the pools' draws that it counts, such as `input_tokens_per_min`.
    pub dimension: String,
    /// Most that may be drawn in a window, in the dimension's whole units; for
    /// [`Rule::Shrinking`] the units held.
    pub most: u64,
    /// How it is enforced.
    pub rule: Rule,
    /// A shorter window over which a proportional share is held too: 600 requests a minute by the
    /// second are 10 a second (Azure OpenAI, Anthropic).
    #[serde(default)]
    pub slice: Option<Window>,
    /// Whether an attempt that was refused draws as if it had been let through (OpenAI).
    #[serde(default)]
    pub refused_count: bool,
}

/// How a limit lets calls through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// A counter that is reset when a window of this length begins (Azure OpenAI standard, by the
    /// minute; quotas of a day). What a call returns after its window is lost.
    Fixed {
        /// Its length.
        window: Window,
    },
    /// A bucket that refills steadily, `most` a window, and holds as much unless `burst` says
    /// otherwise (Anthropic). It can be in debt when calls draw more than was foreseen; and a call that is
    /// larger than all it holds, though not than `most`, is let in when it is full, since else it never
    /// would be.
    Token {
        /// Time in which `most` flow in.
        window: Window,
        /// Time in which what it holds flows in, where that is not the window: a limit that is raised
        /// lets larger bursts through.
        #[serde(default)]
        burst: Option<Window>,
    },
    /// A level that drains steadily, `most` a window, and lets a call in while it is below `most`,
    /// however large the call (Azure provisioned throughput: admitted under 100 % of utilisation).
    Leaky {
        /// Time in which `most` drain away.
        window: Window,
    },
    /// What was drawn in the window that ends now may not pass `most` (OpenAI).
    Sliding {
        /// Its length; half open, so what was drawn exactly one window ago no longer counts.
        window: Window,
    },
    /// A fixed window that gets shorter as more units are held, without carrying anything over
    /// (Vertex provisioned throughput): a budget of units x rate x length in each.
    Shrinking {
        /// What one unit carries in a second.
        per_unit_second: u64,
        /// From how many units each length holds, in ascending order from 0 or 1.
        windows: Vec<ShrinkStep>,
    },
}

/// From so many units on, windows have this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShrinkStep {
    /// Least number of units.
    pub from_units: u64,
    /// Length of the window.
    pub window: Window,
}

impl Quota {
    /// The limit in force: its amount over its window and slice.
    #[must_use]
    pub fn limit(&self) -> Limit {
        let (most, window) = match &self.rule {
            Rule::Fixed { window }
            | Rule::Token { window, .. }
            | Rule::Leaky { window }
            | Rule::Sliding { window } => (self.most, *window),
            Rule::Shrinking { per_unit_second, windows } => {
                let held = windows.iter().rev().find(|step| step.from_units <= self.most);
                let window = held.or(windows.first()).map_or(Window(1), |step| step.window);
                (self.most.saturating_mul(*per_unit_second).saturating_mul(u64::from(window.0)), window)
            }
        };
        Limit { most, window, slice: self.slice }
    }

    /// What a token bucket holds when it is full; of other rules, what the window lets through.
    #[must_use]
    pub fn holds(&self) -> u64 {
        let limit = self.limit();
        let Rule::Token { burst: Some(burst), .. } = &self.rule else { return limit.most };
        let held = u128::from(limit.most) * u128::from(burst.0) / u128::from(limit.window.0.max(1));
        u64::try_from(held).unwrap_or(u64::MAX).max(limit.most.min(1))
    }

    /// The same quota whose token bucket holds no more than flows in within a time; of other rules, as it is.
    #[must_use]
    pub fn with_burst(&self, burst: Window) -> Self {
        let mut quota = self.clone();
        if let Rule::Token { window, burst: held } = &mut quota.rule {
            *held = Some(burst.min(*window));
        }
        quota
    }

    /// The same quota with another amount.
    #[must_use]
    pub fn with_most(&self, most: u64) -> Self {
        Self { most, ..self.clone() }
    }
}
