//! One log record: the row of the call that it tells of, or none.

use super::{ids, names};
use crate::DecodeError;
use crate::decode::{Origin, Sink, Verdict, is_plausible};
use crate::rules::Reading;
use crate::wire::{Record, Span};

/// What the column `signal` says of rows made of log records.
const SIGNAL: &str = "log";

impl Sink<'_> {
    /// A row of `spans` or of `quarantine`, or passed over.
    pub(crate) fn place_call<'a>(
        &mut self,
        record: &mut Record<'a>,
        origin: &Origin<'_, 'a>,
        reading: &mut Reading<'a>,
    ) -> Result<(), DecodeError> {
        let names = names::names(record);
        let mut span = Span {
            attributes: std::mem::take(&mut record.attributes),
            dropped_attributes: record.dropped_attributes,
            end: record.happened(),
            ..Span::default()
        };
        self.quality.begin(&origin.quality);
        let Some(told) = reading.read_record(&mut span, names, &mut self.quality)? else {
            self.passed_over += 1;
            record.attributes = span.attributes;
            return Ok(());
        };
        let at = &self.decoder.at;
        let trace_id = ids::trace_id(record, reading.text_in(at.session_id), reading.text_in(at.run_key));
        let span_id = ids::span_id(record, told.own_span);
        // No parent: the span that a record names is seldom that above the call, and may never come.
        let call = Span { trace_id: &trace_id, span_id: &span_id, ..span };
        if is_plausible(&call) {
            let verdict = Verdict { kind: told.kind, dialect: Some(told.dialect), signal: Some(SIGNAL) };
            self.store(&call, &verdict, origin, reading);
        } else {
            self.quarantine(&call, origin);
        }
        Ok(())
    }
}

/// Says how many records tell of no call; nothing where all do.
pub(crate) fn tells_of_no_call(records: u64) -> Option<String> {
    match records {
        0 => None,
        1 => Some("1 log record tells of no model or tool call and is not stored".to_owned()),
        _ => Some(format!("{records} log records tell of no model or tool call and are not stored")),
    }
}
