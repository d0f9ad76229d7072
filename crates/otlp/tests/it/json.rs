//! OTLP/JSON: the same rows as from protobuf, from bodies as clients really write them.

use plimsoll_otlp::{DecodeError, Encoding};

use crate::support::{Row, START, rows, shared, try_decode};

fn one(span: &str) -> Row {
    let body = format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s"}}}}]}},"scopeSpans":[{{"scope":{{"name":"n","version":"1","unknown":[{{}}]}},"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","startTimeUnixNano":"{START}",{span}}}],"schemaUrl":"x"}}],"foo":null}}],"bar":{{"baz":[1]}}}}"#
    );
    let decoded = try_decode(body.as_bytes(), Encoding::Json).unwrap();
    assert_eq!(decoded.spans.num_rows(), 1, "{:?}", decoded.message);
    Row { batch: decoded.spans, index: 0 }
}

/// Numbers as text or numbers, names of enums, unknown fields: all are read.
#[test]
fn tolerant() {
    for (input, kind, code) in [
        ("\"42\"", "2", "2"),
        ("42", "\"SPAN_KIND_SERVER\"", "\"STATUS_CODE_ERROR\""),
        ("42.0", "\"server\"", "\"ERROR\""),
    ] {
        let row = one(&format!(
            r#""kind":{kind},"status":{{"code":{code}}},"attributes":[
            {{"key":"gen_ai.usage.input_tokens","value":{{"intValue":{input},"extra":{{"a":1}}}}}},
            {{"key":"temperature","value":{{"doubleValue":"NaN"}}}},
            {{"key":"list","value":{{"arrayValue":{{"values":[{{"stringValue":"a"}},{{"boolValue":true}},{{"doubleValue":"Infinity"}}]}}}}}},
            {{"key":"map","value":{{"kvlistValue":{{"values":[{{"key":"k","value":{{"intValue":"-7"}}}}]}}}}}},
            {{"key":"bytes","value":{{"bytesValue":"AQI="}}}},
            {{"key":"nothing","value":{{}}}},{{"key":"null","value":null}}]"#
        ));
        assert_eq!(row.text("kind"), Some("request"));
        assert_eq!(row.text("status"), Some("error"));
        assert_eq!(row.attribute("temperature").unwrap(), "NaN");
        assert_eq!(row.attribute("list").unwrap(), r#"["a",true,"inf"]"#);
        assert_eq!(row.attribute("map").unwrap(), r#"{"k":-7}"#);
        assert_eq!(row.attribute("bytes").unwrap(), "AQI=");
        assert_eq!(row.attribute("nothing").unwrap(), "");
        assert_eq!(row.text("service"), Some("s"));
        assert_eq!(row.text("scope"), Some("n"));
        if input != "42.0" {
            assert_eq!(row.int("input_tokens"), Some(42));
        }
    }
}

/// A count that no number can be read from is null and marked, and spoils nothing else.
#[test]
fn bad_numbers() {
    let row = one(r#""attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"many"}}]"#);
    assert_eq!(
        (row.int("input_tokens"), row.quality()),
        (None, vec!["bad_number".to_owned(), "no_end".to_owned()])
    );
}

/// What is not JSON, or not an object, or keyed in snake case, is refused with a word on why.
#[test]
fn refused() {
    for (body, word) in [
        ("[", "EOF"),
        ("[]", "expected"),
        ("{\"resource_spans\":[]}", "lowerCamelCase"),
        ("{} {}", "trailing"),
        ("", "EOF"),
    ] {
        match try_decode(body.as_bytes(), Encoding::Json) {
            Err(DecodeError::Invalid(reason)) => assert!(reason.contains(word), "{body}: {reason}"),
            other => assert!(other.is_err(), "{body}"),
        }
    }
}

/// A span nested beyond all sense is rejected alone.
#[test]
fn nested_too_deep() {
    let deep = format!("{}{}", r#"{"arrayValue":{"values":["#.repeat(60), "]}}".repeat(60));
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","startTimeUnixNano":{START},"attributes":[{{"key":"deep","value":{deep}}}]}},
        {{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175","startTimeUnixNano":{START}}}]}}]}}]}}"#
    );
    let decoded = try_decode(body.as_bytes(), Encoding::Json).unwrap();
    assert_eq!((decoded.received, decoded.rejected, decoded.spans.num_rows()), (2, 1, 1));
}

/// OpenTelemetry's own example is one span, read in full.
#[test]
fn the_specifications_example() {
    let Some(path) = shared("data/otlp_examples/trace.json") else { return };
    let decoded = try_decode(&std::fs::read(path).unwrap(), Encoding::Json).unwrap();
    let row = rows(&decoded.spans).next().unwrap();
    assert_eq!(row.text("trace_id"), Some("5b8efff798038103d269b633813fc60c"));
    assert_eq!(row.text("parent_span_id"), Some("eee19b7ec3c1b173"));
    assert_eq!((row.text("service"), row.text("kind")), (Some("my.service"), Some("request")));
    assert_eq!(row.float("duration_ms"), Some(1000.0));
    assert_eq!(row.attribute("my.span.attr").unwrap(), "some value");
}

/// The invalid bodies of a peer's test data give an error or rejected spans with reasons, never a panic.
#[test]
fn invalid_samples() {
    let Some(folder) = shared("data/otlp2parquet_testdata/invalid") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(decoded) = try_decode(&std::fs::read(&path).unwrap(), Encoding::Json) {
            assert_eq!(decoded.rejected > 0, decoded.message.is_some(), "{}", path.display());
            assert_eq!(
                decoded.received,
                decoded.rejected + decoded.spans.num_rows() as u64,
                "{}",
                path.display()
            );
        }
    }
}
