//! Files: what is in them is in the lake, once, however often and however far they are ingested.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_ingest::file::{Field, FileError, FileInput, FileOptions, FileReport, TimeUnit, ingest_file};
use prost::Message;

use crate::support::{Place, body, integers, nameless, nulls, request, shared, span, strings, timeless};

async fn ingest(place: &Place, path: &Path, options: &FileOptions) -> Result<FileReport, FileError> {
    ingest_file(&FileInput::Path(path.to_owned()), options, &place.lake, &place.decoder, |_| {}).await
}

async fn text(place: &Place, name: &str, content: impl AsRef<[u8]>) -> FileReport {
    ingest(place, &write(place, name, content), &FileOptions::default()).await.unwrap()
}

fn write(place: &Place, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = place.directory.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The public Azure trace, as it is: its rows and sums are known. Twice, and compressed, it is the
/// same trace.
#[tokio::test(flavor = "multi_thread")]
async fn the_azure_trace_is_ingested_once() {
    let Some(path) = shared("data/azure2023/AzureLLMInferenceTrace_conv.csv") else { return };
    let place = Place::new().await;
    let report = ingest(&place, &path, &FileOptions::default()).await.unwrap();
    assert_eq!((report.spans, report.quarantined, report.rejected, report.lines_bad), (19_366, 0, 0, 0));
    assert!(!report.already_ingested);
    assert_eq!(report.columns[&Field::InputTokens], "ContextTokens");
    let again = ingest(&place, &path, &FileOptions::default()).await.unwrap();
    assert_eq!((again.spans, again.already_ingested), (0, true));
    let packed = write(&place, "packed.csv.gz", gzip(&fs::read(&path).unwrap()));
    assert!(ingest(&place, &packed, &FileOptions::default()).await.unwrap().already_ingested);

    let rows = place.rows("spans").await;
    assert_eq!(rows.iter().map(|rows| rows.num_rows()).sum::<usize>(), 19_366);
    assert_eq!(integers(&rows, "input_tokens").iter().sum::<i64>(), 22_361_870);
    assert_eq!(integers(&rows, "output_tokens").iter().sum::<i64>(), 4_088_665);
    assert_eq!(integers(&rows, "start_unix_nano").iter().min(), Some(&1_700_158_546_680_590_000));
    let traces: std::collections::BTreeSet<_> = strings(&rows, "trace_id").into_iter().collect();
    assert_eq!(traces.len(), 19_366);
    assert!(strings(&rows, "kind").iter().all(|kind| kind == "model_call"));
    assert!(strings(&rows, "workflow").iter().all(|workflow| workflow == "AzureLLMInferenceTrace_conv"));
    assert_eq!(nulls(&rows, "duration_ms"), 19_366);
}

/// A trace whose times count from its own start needs one, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn relative_times_need_a_start() {
    let Some(path) = shared("data/mooncake/conversation_trace.jsonl") else { return };
    let place = Place::new().await;
    let error = ingest(&place, &path, &FileOptions::default()).await.unwrap_err();
    assert!(matches!(error, FileError::RelativeTime { .. }), "{error}");
    let options =
        FileOptions { start: Some("2026-01-01T00:00:00Z".parse().unwrap()), ..FileOptions::default() };
    let report = ingest(&place, &path, &options).await.unwrap();
    assert_eq!((report.spans, report.lines_bad), (12_031, 0));
    assert_eq!(report.ignored_columns, ["hash_ids"]);
}

/// Everything a row can say, in its unit; what it doesn't say is null, not zero.
#[tokio::test(flavor = "multi_thread")]
async fn rows_say_what_they_say() {
    let place = Place::new().await;
    let csv = "Start Time;model;prompt_tokens;completion_tokens;latency_sec;ttft_ms;status;tenant;unheard of\n\
               2026-03-01T10:00:00.123456789Z;gpt-5.2;100;20;1.5;250;200;acme;x\n\
               2026-03-01 10:00:01;gpt-5.2;;;;;429;;\n\
               not a time;gpt-5.2;1;1;1;1;200;acme;x\n";
    let options = FileOptions {
        constants: BTreeMap::from([(Field::Provider, "azure.ai.openai".to_owned())]),
        source: Some("gateway".to_owned()),
        ..FileOptions::default()
    };
    let report = ingest(&place, &write(&place, "trace.csv", csv), &options).await.unwrap();
    assert_eq!((report.spans, report.lines_bad), (2, 1));
    assert_eq!((report.bad[0].item, report.bad[0].reason.contains("not a time")), (3, true));
    assert_eq!(report.ignored_columns, ["unheard of"]);
    let rows = place.rows("spans").await;
    assert_eq!(strings(&rows, "model"), ["gpt-5.2", "gpt-5.2"]);
    assert_eq!(strings(&rows, "provider"), ["azure.ai.openai", "azure.ai.openai"]);
    assert_eq!(strings(&rows, "source"), ["file/gateway", "file/gateway"]);
    assert_eq!(strings(&rows, "duration_ms"), ["1500.0", ""]);
    assert_eq!(strings(&rows, "ttft_ms"), ["250.0", ""]);
    assert_eq!(strings(&rows, "tenant"), ["acme", ""]);
    assert_eq!(strings(&rows, "http_status"), ["200", "429"]);
    assert_eq!(strings(&rows, "status")[1], "error");
    assert_eq!((integers(&rows, "input_tokens"), nulls(&rows, "input_tokens")), (vec![100], 1));
    assert_eq!(integers(&rows, "start_unix_nano")[0] % 1_000_000_000, 123_456_789);
}

/// JSON lines may nest, and may lack a key here and there.
#[tokio::test(flavor = "multi_thread")]
async fn json_rows_are_mapped_by_name() {
    let place = Place::new().await;
    let lines = "{\"ts\": 1700000000.5, \"usage\": {\"in\": 7, \"out\": 3}, \"model\": \"m\"}\n\
                 \n\
                 {\"model\": \"m\", \"ts\": 1700000001}\n\
                 {\"ts\": \"2023-11-14T22:13:22Z\", \"usage\": {\"in\": \"NaN\"}}\n\
                 {\"ts\": 17\n";
    let options = FileOptions {
        columns: BTreeMap::from([
            (Field::InputTokens, "usage.in".to_owned()),
            (Field::OutputTokens, "usage.out".to_owned()),
        ]),
        ..FileOptions::default()
    };
    let report = ingest(&place, &write(&place, "calls.jsonl", lines), &options).await.unwrap();
    assert_eq!((report.spans, report.lines_bad), (3, 1));
    let rows = place.rows("spans").await;
    assert_eq!(integers(&rows, "input_tokens"), [7]);
    assert_eq!(integers(&rows, "output_tokens"), [3]);
    assert_eq!(
        integers(&rows, "start_unix_nano"),
        [1_700_000_000_500_000_000, 1_700_000_001_000_000_000, 1_700_000_002_000_000_000]
    );
}

/// OTLP in each of its file forms gives the spans that the wire would give.
#[tokio::test(flavor = "multi_thread")]
async fn otlp_files_are_read_in_every_form() {
    let place = Place::new().await;
    let mixed = request(vec![span("proto"), timeless("odd"), nameless("bad")]);
    let report = text(&place, "a.pb", mixed.encode_to_vec()).await;
    assert_eq!((report.spans, report.quarantined, report.rejected), (1, 1, 1));
    let zstd = zstd::encode_all(&body(&["zstd"])[..], 1).unwrap();
    assert_eq!(text(&place, "b.pb.zst", zstd).await.spans, 1);
    let delimited = |name: &str| {
        let body = body(&[name]);
        [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
    };
    assert_eq!(text(&place, "c.bin", [delimited("one"), delimited("two")].concat()).await.spans, 2);
    let json = |name: &str| serde_json::to_string(&request(vec![span(name)])).unwrap();
    assert_eq!(text(&place, "d.json", json("line")).await.spans, 1);
    let pretty = serde_json::to_string_pretty(&request(vec![span("pretty")])).unwrap();
    assert_eq!(text(&place, "e.json", pretty).await.spans, 1);
    let lines = format!(
        "{}\n{{\"resourceMetrics\": []}}\n{}\n{{\"resourceSpans\": 5}}\n",
        json("first"),
        json("second")
    );
    let report = text(&place, "f.jsonl", lines).await;
    assert_eq!((report.spans, report.lines_bad), (2, 2));
    assert_eq!(text(&place, "empty.json", "").await.spans, 0);
    let names: Vec<_> = place.names().await.into_keys().collect();
    assert_eq!(names, ["first", "line", "one", "pretty", "proto", "second", "two", "zstd"]);
}

/// A dead letter gives what its body gives now, however it was packed, and only once; what is still wrong
/// with one is told and costs the others nothing.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_replayed() {
    let place = Place::new().await;
    let letter = |hints: [&str; 3], body: &[u8]| {
        let [signal, encoding, coding] =
            hints.map(|hint| if hint.is_empty() { "null".to_owned() } else { format!("\"{hint}\"") });
        let body = STANDARD.encode(body);
        format!(
            r#"{{"plimsoll_dead_letter":1,"received":"2026-01-05T10:00:00Z","from":{{"kafka":{{"cluster":"c","topic":"t","topic_id":"t","partition":0,"offset":7}}}},"reason":"\"resourceSpans\" it lacks","signal":{signal},"encoding":{encoding},"content_encoding":{coding},"headers":{{"n":null}},"key":null,"body":"{body}"}}"#
        )
    };
    let json = serde_json::to_vec(&request(vec![span("json")])).unwrap();
    let lines = [
        letter(["traces", "otlp_proto", ""], &body(&["told"])),
        letter(["", "", ""], &body(&["shown"])),
        letter(["traces", "otlp_proto", "gzip"], &gzip(&body(&["packed"]))),
        letter(["", "", ""], &json),
        letter(["", "", ""], b"junk"),
        letter(["", "", ""], b""),
        letter(["", "", "br"], &json),
        letter(["", "", ""], &json).replace("letter\":1", "letter\":2"),
        String::from_utf8(json.clone()).unwrap().replace("json", "no letter"),
    ];
    let report = text(&place, "letters.json", lines.join("\n")).await;
    assert_eq!((report.spans, report.lines_bad), (5, 4), "{:?}", report.bad);
    assert_eq!(report.bad.iter().map(|bad| bad.item).collect::<Vec<_>>(), [5, 6, 7, 8]);
    let names: Vec<_> = place.names().await.into_keys().collect();
    assert_eq!(names, ["json", "no letter", "packed", "shown", "told"]);
    assert!(text(&place, "again.json", lines.join("\n")).await.already_ingested);
}

/// A trace request in protobuf may start like JSON does: a line feed, and a length that is a brace.
#[tokio::test(flavor = "multi_thread")]
async fn a_length_is_no_brace() {
    let place = Place::new().await;
    let bodies = (1..200).map(|length| body(&["x".repeat(length).as_str()]));
    let like_json = bodies.into_iter().find(|body| body.starts_with(b"\n{")).unwrap();
    assert_eq!(text(&place, "like.json", like_json).await.spans, 1);
    let json = serde_json::to_string_pretty(&request(vec![span("json")])).unwrap();
    assert_eq!(text(&place, "json.json", format!("\n{json}")).await.spans, 1);
}

/// A crash half-way leaves whole chunks; the next ingest adds the rest, so that each row is there once.
#[tokio::test(flavor = "multi_thread")]
async fn an_ingest_that_was_cut_short_goes_on() {
    let place = Place::new().await;
    // Some 150 bytes of OTLP a row: more than two chunks.
    let rows: String = (0..250_000).map(|n| format!("{},{n},1\n", 1_700_000_000 + n)).collect();
    let path = write(&place, "long.csv", format!("timestamp,input_tokens,output_tokens\n{rows}"));
    let input = FileInput::Path(path.clone());
    let options = FileOptions::default();
    let mut chunks = 0;
    {
        let (told, mut first) = tokio::sync::mpsc::unbounded_channel();
        let ingest = ingest_file(&input, &options, &place.lake, &place.decoder, |progress| {
            told.send(progress.spans).unwrap()
        });
        tokio::select! {
            _ = ingest => panic!("it was to be cut short"),
            committed = first.recv() => assert!(committed.unwrap() < 250_000),
        }
    }
    let progress = |_| chunks += 1;
    let report = ingest_file(&input, &options, &place.lake, &place.decoder, progress).await.unwrap();
    assert!(report.spans < 250_000 && chunks > 1, "{report:?} in {chunks}");
    let mut tokens = integers(&place.rows("spans").await, "input_tokens");
    tokens.sort_unstable();
    assert_eq!(tokens, (0..250_000).collect::<Vec<_>>());
    assert!(
        ingest_file(&input, &options, &place.lake, &place.decoder, |_| {}).await.unwrap().already_ingested
    );
}

/// What is wrong with a whole file is an error that says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn unusable_files_are_refused_with_a_reason() {
    let place = Place::new().await;
    let options = FileOptions::default();
    let missing = ingest(&place, &place.directory.path().join("missing.csv"), &options).await.unwrap_err();
    assert!(matches!(missing, FileError::Read { .. }));
    let folder = ingest(&place, place.directory.path(), &options).await.unwrap_err();
    assert!(matches!(folder, FileError::Read { .. }));
    let no_time = ingest(&place, &write(&place, "a.csv", "model,tokens\nm,1\n"), &options).await.unwrap_err();
    assert!(no_time.to_string().contains("model, tokens"), "{no_time}");
    let mapped = FileOptions {
        columns: BTreeMap::from([(Field::Model, "engine".to_owned())]),
        ..FileOptions::default()
    };
    let no_column =
        ingest(&place, &write(&place, "b.csv", "ts,model\n1700000000,m\n"), &mapped).await.unwrap_err();
    assert!(matches!(no_column, FileError::NoColumn { .. }));
    let mut cut = body(&["cut"]);
    cut.truncate(cut.len() - 2);
    let cut = ingest(&place, &write(&place, "c.pb", cut), &options).await.unwrap_err();
    assert!(matches!(cut, FileError::NotOtlp { .. }));
    let relative = FileOptions { time_unit: Some(TimeUnit::Seconds), ..FileOptions::default() };
    let report = ingest(&place, &write(&place, "d.csv", "ts,model\n5,m\n"), &relative).await.unwrap();
    assert_eq!((report.spans, report.quarantined), (0, 1), "5 seconds after 1970 is no plausible start");
}
