//! Why a call or a run failed, as far as counting cares.
//!
//! A refusal for a limit (429) is `throttled`; a provider out of capacity (503, 529) is not, since
//! no quota would have helped. Source: `facts/dialects.md` 1.9.

use crate::kinds::{Kind, Status};
use crate::span::Span;

/// Class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The provider's limit was reached.
    Throttled,
    /// The provider was overloaded.
    Capacity,
    /// No answer in time.
    Timeout,
    /// The provider's fault (500, 502).
    Server,
    /// Asking again would not help: bad request, credentials, content filter, cancelled.
    Final,
    /// Not told.
    Unknown,
}

impl Failure {
    /// The failure of a span; `None` where it did not fail.
    pub(crate) fn of(span: &Span<'_>) -> Option<Self> {
        let told = span.http_status.filter(|status| *status >= 400);
        // A server span answers its own caller: a 4xx there is the caller's mistake, unless it says "later".
        let told = told.filter(|s| span.kind != Kind::Request || *s >= 500 || matches!(s, 408 | 429));
        let failed = match span.status {
            Status::Error => true,
            Status::Ok => told.is_some(),
            Status::Unset => told.is_some() || span.error_type.is_some(),
        };
        failed.then(|| Self::classify(told.or(span.http_status), span.error_type))
    }

    fn classify(http_status: Option<i32>, error_type: Option<&str>) -> Self {
        match http_status {
            Some(429) => return Self::Throttled,
            Some(503 | 529) => return Self::Capacity,
            Some(408 | 504) => return Self::Timeout,
            Some(500..) => return Self::Server,
            _ => {}
        }
        let Some(error_type) = error_type else {
            return if http_status.is_some_and(|s| s >= 400) { Self::Final } else { Self::Unknown };
        };
        match error_type {
            "throttled" | "429" => Self::Throttled,
            "capacity" | "503" | "529" => Self::Capacity,
            "timeout" | "408" | "504" => Self::Timeout,
            "auth" | "content_filter" | "cancelled" => Self::Final,
            _ => Self::by_name(error_type, http_status),
        }
    }

    /// Reads an error class that no dialect folded, such as `RateLimitError`.
    fn by_name(error_type: &str, http_status: Option<i32>) -> Self {
        let name: String =
            error_type.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if says(&["ratelimit", "throttl", "toomanyrequests", "resourceexhausted"]) {
            Self::Throttled
        } else if says(&["overload", "unavailable"]) {
            Self::Capacity
        } else if says(&["timeout", "deadline", "timedout"]) {
            Self::Timeout
        } else if http_status.is_some_and(|s| s >= 400)
            || matches!(name.as_bytes(), [b'4', b'0'..=b'9', b'0'..=b'9'])
            || says(&["auth", "permission", "badrequest", "invalid", "notfound", "cancel", "contentfilter"])
        {
            Self::Final
        } else if matches!(name.as_bytes(), [b'5', b'0'..=b'9', b'0'..=b'9']) {
            Self::Server
        } else {
            Self::Unknown
        }
    }

    /// The class as `error_type` has it; `None` where it was not told.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Throttled => Some("throttled"),
            Self::Capacity => Some("capacity"),
            Self::Timeout => Some("timeout"),
            Self::Server => Some("server"),
            Self::Final => Some("final"),
            Self::Unknown => None,
        }
    }

    /// Whether a client would send the same request again. An unknown failure counts as such: the
    /// same call right after it is likelier a retry than a new operation.
    pub(crate) const fn retryable(self) -> bool {
        !matches!(self, Self::Final)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 429 is throttling, 503 and 529 are capacity, whatever name stands beside them.
    #[test]
    fn status_decides_before_names() {
        let class = Failure::classify;
        assert_eq!(class(Some(429), Some("capacity")), Failure::Throttled);
        assert_eq!(class(Some(503), Some("throttled")), Failure::Capacity);
        assert_eq!(class(Some(529), None), Failure::Capacity);
        assert_eq!(class(Some(400), Some("ThrottlingException")), Failure::Throttled);
        assert_eq!(class(None, Some("RateLimitError")), Failure::Throttled);
        assert_eq!(class(None, Some("openai.APITimeoutError")), Failure::Timeout);
        assert_eq!(class(Some(401), None), Failure::Final);
        assert_eq!(class(None, Some("500")), Failure::Server);
        assert_eq!(class(None, Some("_OTHER")), Failure::Unknown);
    }

    /// A server span that answers 404 has not failed; one that passes on 429 has.
    #[test]
    fn a_request_fails_by_its_own_fault() {
        let request = |http_status| Span { kind: Kind::Request, http_status, ..Span::default() };
        assert_eq!(Failure::of(&request(Some(404))), None);
        assert_eq!(Failure::of(&request(Some(429))), Some(Failure::Throttled));
        assert_eq!(Failure::of(&request(Some(500))), Some(Failure::Server));
        assert_eq!(
            Failure::of(&Span { kind: Kind::ModelCall, http_status: Some(404), ..Span::default() }),
            Some(Failure::Final)
        );
    }
}
