//! Bodies of logs: sent again, broken, by a dialect of one's own.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Dialects, Encoding, Receipt};
use prost::Message;
use serde_json::json;

use crate::files::{dialect_files, schema};
use crate::support::{Row, START, attribute, decoder_with, request, rows, span, try_decode, try_decode_logs};

use crate::logs::*;

/// A record sent again is the same span, in another batch, order of attributes and encoding; another
/// record is another.
#[test]
fn resent_records() {
    let ids = |decoded: &Decoded| -> Vec<(String, String)> {
        let id = |row: &Row, name: &str| row.text(name).unwrap().to_owned();
        rows(&decoded.spans).map(|row| (id(&row, "trace_id"), id(&row, "span_id"))).collect()
    };
    let mut turned = claude_request(SECOND);
    turned["attributes"].as_array_mut().unwrap().reverse();
    let first = ids(&decode("", "claude-code", &[claude_request(SECOND), claude_request(2 * SECOND)]));
    let again = ids(&decode("", "claude-code", &[turned]));
    assert_eq!(again[0], first[0]);
    assert_eq!(first[0].0, first[1].0);
    assert_ne!(first[0].1, first[1].1);
    assert!(first.iter().all(|(trace, span)| trace.len() == 32 && span.len() == 16));

    let record = LogRecord {
        time_unix_nano: START,
        body: Some(AnyValue { value: Some(Any::StringValue("claude_code.api_request".to_owned())) }),
        attributes: vec![attribute("prompt.id", "p-1"), attribute("input_tokens", 7)],
        ..LogRecord::default()
    };
    let json = with(
        super::logs::record(0, &json!({ "prompt.id": "p-1", "input_tokens": 7 })),
        &json!({
            "body": { "stringValue": "claude_code.api_request" },
            "observedTimeUnixNano": (START + 9).to_string(),
        }),
    );
    let binary = try_decode_logs(&logs_request(vec![record]), Encoding::Protobuf).unwrap();
    assert_eq!(ids(&binary), ids(&decode("", "claude-code", &[json])));
}

fn logs_request(log_records: Vec<LogRecord>) -> Vec<u8> {
    let scope = Some(InstrumentationScope::default());
    let scope_logs = vec![ScopeLogs { scope, log_records, ..ScopeLogs::default() }];
    let resource = Some(Resource::default());
    let resource_logs = vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }];
    ExportLogsServiceRequest { resource_logs }.encode_to_vec()
}

/// T25: nothing is nothing; what is no logs request is refused, spans too; a record that is no record
/// costs itself, and one without any time is put aside.
#[test]
fn bad_bodies() {
    for (body, encoding) in [(&b""[..], Encoding::Protobuf), (b"{}", Encoding::Json)] {
        let decoded = try_decode_logs(body, encoding).unwrap();
        assert_eq!((decoded.received, decoded.passed_over, decoded.message), (0, 0, None));
    }
    let spans: ExportTraceServiceRequest = request(vec![span(vec![attribute("a", "b")])], "scope", "1");
    for (body, encoding) in [
        (spans.encode_to_vec(), Encoding::Protobuf),
        (b"\xff\xff".to_vec(), Encoding::Protobuf),
        (b"{\"resourceSpans\":[]}".to_vec(), Encoding::Json),
        (b"[]".to_vec(), Encoding::Json),
        (b"{\"resource_logs\":[]}".to_vec(), Encoding::Json),
    ] {
        let error = try_decode_logs(&body, encoding).unwrap_err();
        assert!(matches!(error, DecodeError::InvalidLogs(_)), "{error}");
        assert!(error.to_string().starts_with("the body is not an OTLP logs request: "), "{error}");
    }
    let logs = body("", "claude-code", &[claude_request(0)]);
    assert!(matches!(try_decode(&logs, Encoding::Json), Err(DecodeError::Invalid(_))));

    let timeless = with(claude_request(0), &json!({ "timeUnixNano": "0" }));
    let bad_id = with(claude_request(0), &json!({ "traceId": "W47/95gDgQPSabYzgT/GDA==" }));
    let decoded = decode("", "claude-code", &[json!(7), timeless, bad_id]);
    assert_eq!((decoded.received, decoded.rejected), (3, 1));
    assert_eq!((decoded.spans.num_rows(), decoded.quarantined.num_rows()), (1, 1));
    assert_eq!(decoded.message.as_deref(), Some("1 log record rejected: it is no JSON object"));
}

/// Any event can be made a call by a file of one's own; what a record can't have is told with its line.
#[test]
fn a_dialect_of_ones_own() {
    let file = r#"
dialect = "ours"
logs = ["bot.*"]
[[kind]]
kind = "model_call"
log = ["bot.answered"]
where = { answered_by = ["model"] }
[[field]]
column = "duration_ms"
from = [{ attribute = "took", unit = "s" }]
[[field]]
column = "input_tokens"
from = ["asked"]
plus = ["examples"]
[[field]]
column = "tier"
value = "2"
"#;
    let decoder = decoder_with(&[("ours.toml", file)]);
    let answered = |by: &str| {
        record(
            SECOND,
            &json!({ "event.name": "bot.answered", "answered_by": by, "took": 0.25, "asked": 40, "examples": "2" }),
        )
    };
    let other = record(SECOND, &json!({ "event.name": "bot.greeted", "asked": 7 }));
    let body = body("", "bot", &[answered("model"), answered("script"), other]);
    let receipt = Receipt { received_unix_micros: 0, source: "test" };
    let decoded = decoder.decode_logs(&body, Encoding::Json, &receipt).unwrap();
    assert_eq!(decoded.passed_over, 2);
    let [call] = &all(&decoded);
    assert_eq!(
        (call.int("input_tokens"), call.float("duration_ms"), call.int("tier")),
        (Some(42), Some(250.0), Some(2))
    );

    for (text, reason) in [
        ("[[kind]]\nkind = \"step\"\nlog = [\"x\"]\nname = [\"x\"]", "has neither `span_kind` nor `name`"),
        ("[[field]]\ncolumn = \"duration_ms\"\nfrom = [\"x\"]", "is filled by the decoder itself"),
        ("[[field]]\ncolumn = \"duration_ms\"\nlog = [\"x\"]\nfrom = [\"x\"]", "a time needs its `unit`"),
    ] {
        let files = dialect_files()
            .into_iter()
            .chain([("bad.toml".to_owned(), format!("dialect = \"bad\"\n{text}"))]);
        let dialects = Dialects::load(files).unwrap();
        let error = Decoder::new(dialects, schema("spans"), schema("quarantine")).unwrap_err().to_string();
        assert!(error.starts_with("bad.toml:2: ") && error.contains(reason), "{error}");
    }
}

/// Odd numbers are null and said to be bad, in a record as in a span.
#[test]
fn bad_numbers() {
    let told = json!({
        "status_code": "undefined", "attempt": "NaN", "duration_ms": -5, "model": "claude-opus-4",
    });
    let decoded = decode("", "claude-code", &[claude(SECOND, "api_error", told)]);
    let row = rows(&decoded.spans).next().unwrap();
    assert_eq!((row.int("http_status"), row.int("attempt"), row.float("duration_ms")), (None, None, None));
    assert_eq!(row.text("status"), Some("error"));
    assert!(row.quality().contains(&"bad_number".to_owned()));
}
