//! Telemetry that is out of all proportion, or says what can't be: it costs what it weighs and spoils
//! nothing beside it.

use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_otlp::Encoding;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::support::{Row, START, attribute, decode, request, row, rows, span, try_decode};

fn id(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Ten thousand children of one span, and a path of five thousand, are as many rows with their parents.
#[test]
fn wide_and_deep() {
    let child = |number: u64, parent: u64| Span {
        span_id: id(number),
        parent_span_id: id(parent),
        ..span(vec![attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", "t")])
    };
    let root = Span { span_id: id(1), ..span(Vec::new()) };
    let wide = (2..=10_001).map(|number| child(number, 1));
    let deep = (10_002..=15_001).map(|number| child(number, number - 1));
    let decoded = decode(&request([root].into_iter().chain(wide).chain(deep).collect(), "s", ""));
    assert_eq!((decoded.received, decoded.rejected, decoded.spans.num_rows()), (15_001, 0, 15_001));
    let deepest = rows(&decoded.spans).last().unwrap();
    assert_eq!(deepest.text("parent_span_id"), Some(&*format!("{:016x}", 15_000)));
    assert_eq!(deepest.text("kind"), Some("tool_call"));
}

/// A message's bytes in its parent: a field of number `tag`.
fn within(tag: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    encode_key(tag, WireType::LengthDelimited, &mut out);
    encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

/// A list within a list within a list, five thousand deep, takes no more stack than a flat one.
#[test]
fn deep_values() {
    let leaf = AnyValue { value: Some(any_value::Value::StringValue("x".to_owned())) };
    let nested = (0..5_000).fold(leaf.encode_to_vec(), |inner, _| within(5, &within(1, &inner)));
    // Inner messages have been written with the tags of a list and of its first element.
    let pair = [within(1, b"llm.usage"), within(2, &nested)].concat();
    let mut body = span(vec![attribute("gen_ai.request.model", "gpt")]).encode_to_vec();
    body.extend(within(9, &pair));
    let request = within(1, &within(2, &within(2, &body)));
    let decoded = try_decode(&request, Encoding::Protobuf).unwrap();
    let row = Row { batch: decoded.spans, index: 0 };
    assert_eq!(row.text("model"), Some("gpt"));
    assert!(row.attribute("llm.usage").unwrap().len() <= 1024);
}

/// An attribute of a hundred megabytes costs no more than its bytes in the body, content or not, and
/// the spans beside it are what they are.
#[test]
fn a_huge_attribute() {
    let huge = "x".repeat(100 << 20);
    let call = |attributes: Vec<KeyValue>| {
        let mut all =
            vec![attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.usage.input_tokens", 7)];
        all.extend(attributes);
        span(all)
    };
    let spans = vec![
        call(Vec::new()),
        call(vec![attribute("input.value", &*huge)]),
        call(vec![attribute("my.note", &*huge)]),
    ];
    let body = request(spans, "s", "").encode_to_vec();
    drop(huge);
    let decoded = try_decode(&body, Encoding::Protobuf).unwrap();
    assert_eq!(decoded.spans.num_rows(), 3);
    assert!(decoded.spans.get_array_memory_size() < 1 << 20);
    for row in rows(&decoded.spans) {
        assert_eq!(row.int("input_tokens"), Some(7));
        assert_eq!(row.attribute("input.value"), None);
    }
}

/// The same in JSON, where text is parsed.
#[test]
fn a_huge_attribute_in_json() {
    let spans = ["", &"\\u00e9".repeat(4 << 20)].map(|value| {
        format!(
            r#"{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","startTimeUnixNano":"{START}",
            "attributes":[{{"key":"my.note","value":{{"stringValue":"{value}"}}}},
            {{"key":"gen_ai.usage.output_tokens","value":{{"intValue":"7"}}}}]}}"#
        )
    });
    let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let decoded = try_decode(body.as_bytes(), Encoding::Json).unwrap();
    assert_eq!((decoded.spans.num_rows(), decoded.rejected), (2, 0));
    assert!(rows(&decoded.spans).all(|row| row.int("output_tokens") == Some(7)));
    assert!(decoded.spans.get_array_memory_size() < 1 << 20);
}

/// A count in any form is that count; what is none is null with a reason, wherever it stands.
#[test]
fn counts_of_all_kinds() {
    let key = "gen_ai.usage.input_tokens";
    let list = |value: i64| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::ArrayValue(ArrayValue {
                values: vec![AnyValue { value: Some(any_value::Value::IntValue(value)) }],
            })),
        }),
        ..Default::default()
    };
    let found = |attribute: KeyValue| {
        let row = row(vec![attribute]);
        (row.int("input_tokens"), row.quality())
    };
    let good = (Some(42), vec![]);
    for attribute in
        [attribute(key, 42), attribute(key, 42.0), attribute(key, "42"), attribute(key, " 42.0 "), list(42)]
    {
        assert_eq!(found(attribute), good);
    }
    let bad = (None, vec!["bad_number".to_owned()]);
    for attribute in [
        attribute(key, -1),
        attribute(key, i64::MIN),
        attribute(key, i64::MAX),
        attribute(key, 9_007_199_254_740_993),
        attribute(key, 9.3e18),
        attribute(key, f64::NAN),
        attribute(key, f64::INFINITY),
        attribute(key, 0.5),
        attribute(key, "9223372036854775808"),
        attribute(key, "-3"),
        attribute(key, "NaN"),
        attribute(key, "12 tokens"),
        attribute(key, true),
        list(-1),
    ] {
        let told = format!("{attribute:?}");
        assert_eq!(found(attribute), bad, "{told}");
    }
    let json = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c",
        "spanId":"eee19b7ec3c1b174","startTimeUnixNano":"{START}","attributes":[
        {{"key":"{key}","value":{{"intValue":"9223372036854775808"}}}},
        {{"key":"gen_ai.usage.output_tokens","value":{{"doubleValue":"NaN"}}}}]}}]}}]}}]}}"#
    );
    let decoded = try_decode(json.as_bytes(), Encoding::Json).unwrap();
    let row = Row { batch: decoded.spans, index: 0 };
    assert_eq!((row.int("input_tokens"), row.int("output_tokens")), (None, None));
    assert_eq!(row.quality(), ["bad_number", "no_end"]);
}

/// Many small requests wait for the same file: the rows of one span take kilobytes, not hundreds of them.
#[test]
fn a_span_takes_little_memory() {
    let decoded = decode(&request(vec![span(vec![])], "test.scope", "1.0"));
    let bytes = decoded.spans.get_array_memory_size() + decoded.quarantined.get_array_memory_size();
    assert!(bytes < 16 << 10, "{bytes} bytes");
}
