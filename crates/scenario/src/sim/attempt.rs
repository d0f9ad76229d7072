//! One request on the wire, and how it ended.

use std::sync::Arc;

use super::pool::{Allowance, Tokens};
use crate::file::Pool;

/// One request for a model call.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) span: [u8; 8],
    pub(crate) purpose: Purpose,
    /// Index of the pool that it asks.
    pub(crate) pool: usize,
    pub(crate) tokens: Tokens,
    pub(crate) prompt: Prompt,
    pub(crate) stream: bool,
    /// From 1, over all pools.
    pub(crate) number: u64,
    /// From 1, on this pool.
    pub(crate) tries: u64,
    pub(crate) sent: u64,
    /// Nanoseconds that it waited to be sent.
    pub(crate) waited: u64,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A step before the generations, by its place.
    Before(usize),
    /// A generation, by its place from 0.
    Step(u64),
    /// The second opinion.
    Fallback,
}

/// What a prompt is made of, in tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Prompt {
    pub(crate) retrieved: u64,
    pub(crate) history: u64,
    pub(crate) tool_results: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// With an answer.
    Answered {
        /// Nanoseconds to the first token.
        first_token: u64,
        /// Nanoseconds of the longest pause in the stream.
        stalled: Option<u64>,
        /// Whether the client was told what it used.
        usage: bool,
    },
    /// By a limit.
    Refused {
        /// Nanoseconds after which the provider says that it would be admitted.
        retry_after: u64,
    },
    /// By a failing server.
    Unavailable,
    /// By the client's patience.
    TimedOut,
}

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) end: End,
    pub(crate) at: u64,
    pub(crate) pool: Arc<Pool>,
    pub(crate) allowance: Allowance,
    /// Whether the answer asks for tools.
    pub(crate) wants_tools: bool,
    /// The provider's number for it.
    pub(crate) response: u128,
}

impl End {
    /// `error.type` of an attempt without an answer.
    pub(crate) fn error_type(self, pool: &Pool) -> &str {
        match self {
            Self::Refused { .. } => &pool.refusal,
            Self::TimedOut => "timeout",
            Self::Unavailable | Self::Answered { .. } => "503",
        }
    }
}
