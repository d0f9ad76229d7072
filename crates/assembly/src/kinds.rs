//! The closed sets of words that spans and rows use: span class, status, outcome, usage source.
//!
//! Each is written and read as the text that the tables hold; no other spelling is known here.

/// Defines an enum whose variants are the words of a column.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// The word as the tables hold it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads a column's word; any other text gives the default.
            #[must_use]
            pub fn parse(text: &str) -> Self {
                match text { $($text => Self::$variant,)+ _ => Self::default() }
            }
        }
    };
}

words! {
    /// What a span is (column `kind` of `spans`).
    Kind {
        /// The request that a service took in: an HTTP, RPC or message handler.
        Request = "request",
        /// A call that generates.
        ModelCall = "model_call",
        /// An embedding call.
        Embedding = "embedding",
        /// A reranking call.
        Rerank = "rerank",
        /// The execution of a tool.
        ToolCall = "tool_call",
        /// A search for context.
        Retrieval = "retrieval",
        /// An agent's turn or loop.
        Agent = "agent",
        /// A named workflow or crew.
        Workflow = "workflow",
        /// A node, task or step within one.
        Step = "step",
        /// Anything else.
        #[default]
        Other = "other",
    }
}

impl Kind {
    /// Whether a provider serves it, so that it has a model, tokens and attempts.
    #[must_use]
    pub const fn is_model(self) -> bool {
        matches!(self, Self::ModelCall | Self::Embedding | Self::Rerank)
    }
}

words! {
    /// How a span ended (column `status`).
    Status {
        /// Told to have succeeded.
        Ok = "ok",
        /// Told to have failed.
        Error = "error",
        /// Not told: with OpenTelemetry, the usual end of a success.
        #[default]
        Unset = "unset",
    }
}

words! {
    /// How a run ended (column `outcome`). SQL turns `open` into `orphan` by the watermark.
    Outcome {
        /// The root ended without a failure.
        Ok = "ok",
        /// The root failed.
        Error = "error",
        /// The root failed because a provider refused for its limit.
        Throttled = "throttled",
        /// The root failed by a timeout.
        Timeout = "timeout",
        /// The root has not been seen.
        #[default]
        Open = "open",
    }
}

words! {
    /// Where a call's token counts come from (column `usage_source`).
    UsageSource {
        /// The client reported the provider's usage for this call.
        Reported = "reported",
        /// An agent's or workflow's total stands in, since nothing below it carries usage.
        Aggregate = "aggregate",
        /// The client guessed; the numbers stay out of totals.
        Estimated = "estimated",
        /// Nobody told: the counts are null, not zero.
        #[default]
        Missing = "missing",
    }
}

words! {
    /// Who sends a request again (column `layer` of `attempts`).
    RetryLayer {
        /// The client library, within one span.
        #[default]
        Client = "client",
        /// The application or its framework, by a span of its own.
        Application = "application",
    }
}
