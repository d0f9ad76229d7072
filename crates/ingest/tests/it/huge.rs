//! A hundred megabytes in one attribute: a file that has it is read, and its other spans are unharmed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use plimsoll_ingest::file::{FileInput, FileOptions, FileReport, ingest_file};
use prost::Message;

use crate::support::{Place, attribute, body, request, span, strings};

const HUGE: usize = 100 << 20;

async fn ingest(place: &Place, path: &Path) -> FileReport {
    let input = FileInput::Path(path.to_owned());
    ingest_file(&input, &FileOptions::default(), &place.lake, &place.decoder, |_| {}).await.unwrap()
}

/// JSON lines, where a tenth will do: the huge one is a line among others.
#[tokio::test(flavor = "multi_thread")]
async fn in_json_lines() {
    let place = Place::new().await;
    let path = place.directory.path().join("huge.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for (number, length) in [(1, 10), (2, HUGE / 10), (3, 10)] {
        write!(
            file,
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"a","startTimeUnixNano":"1700000000000000000","attributes":[{{"key":"input.value","value":{{"stringValue":""#
        )
        .unwrap();
        file.write_all(&vec![b'x'; length]).unwrap();
        writeln!(file, r#""}}}}]}}]}}]}}]}}"#).unwrap();
    }
    file.flush().unwrap();
    let report = ingest(&place, &path).await;
    assert_eq!((report.spans, report.rejected, report.lines_bad), (3, 0, 0));
    let rows = place.rows("spans").await;
    let mut traces = strings(&rows, "trace_id");
    traces.sort();
    assert_eq!(traces, [1, 2, 3].map(|number| format!("{number:032x}")));
}

/// Protobuf: the huge one is among the spans of one resource, and another resource follows.
#[tokio::test(flavor = "multi_thread")]
async fn in_protobuf() {
    let place = Place::new().await;
    let path = place.directory.path().join("huge.pb");
    let mut huge = span("two");
    huge.attributes.push(attribute("input.value", Value::StringValue("x".repeat(HUGE))));
    let bytes = request(vec![span("one"), huge, span("three")]).encode_to_vec();
    std::fs::write(&path, [bytes, body(&["four"])].concat()).unwrap();
    let report = ingest(&place, &path).await;
    assert_eq!((report.spans, report.rejected), (4, 0));
    let names = place.names().await;
    assert_eq!(names.keys().map(String::as_str).collect::<Vec<_>>(), ["four", "one", "three", "two"]);
}
