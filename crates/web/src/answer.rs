//! `POST /v1/sql`: what a query is asked as, and what its rows are answered as.
//!
//! | answer | when |
//! |---|---|
//! | 200 | the rows: a JSON array of objects, or an Arrow stream where `Accept` asks for one |
//! | 400 | the query is wrong, or its answer has too many rows |
//! | 403 | the request was not made to this machine by its own name |
//! | 415 | the content type is neither `application/sql` nor `application/json` |
//! | 429 | as many queries as are taken are running |
//! | 504, 507 | over its time, over its memory |
//!
//! Invariant: no page of a browser reads a lake. The content types make a browser ask first, and it gets
//! no answer; a `Host` that is not loopback is a name that somebody has pointed here.

use std::{net::IpAddr, sync::Arc};

use arrow::{
    ipc::writer::StreamWriter,
    json::writer::{JsonArray, WriterBuilder},
};
use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use crate::queries::{Queries, Refused, Rows};

const ARROW: &str = "application/vnd.apache.arrow.stream";
const JSON: &str = "application/json";
const SQL: &str = "application/sql";
const LAKE_VERSION: HeaderName = HeaderName::from_static("plimsoll-lake-version");

#[derive(Deserialize)]
struct Asked {
    query: String,
}

/// Answers one query.
pub(crate) async fn sql(State(queries): State<Arc<Queries>>, headers: HeaderMap, body: Bytes) -> Response {
    if !is_loopback(&headers) {
        let why = "queries are answered to http://127.0.0.1 and http://localhost only";
        return refuse(StatusCode::FORBIDDEN, why);
    }
    let query = match asked(&headers, &body) {
        Ok(query) => query,
        Err((status, why)) => return refuse(status, &why),
    };
    let arrow = wants_arrow(&headers);
    match queries.run(query).await.and_then(|rows| written(&rows, arrow)) {
        Ok(response) => response,
        Err(refused) => refuse(status(&refused), &refused.to_string()),
    }
}

fn asked(headers: &HeaderMap, body: &Bytes) -> Result<String, (StatusCode, String)> {
    let wrong = |why: &str| (StatusCode::BAD_REQUEST, why.to_owned());
    let text = || String::from_utf8(body.to_vec()).map_err(|_| wrong("the query is not UTF-8 text"));
    match media_type(headers) {
        Some(SQL) => text(),
        Some(JSON) => serde_json::from_slice(body)
            .map(|asked: Asked| asked.query)
            .map_err(|error| wrong(&format!("write {{\"query\": \"...\"}}: {error}"))),
        _ => Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("send {SQL} with the query, or {JSON} with {{\"query\": \"...\"}}"),
        )),
    }
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    Some(headers.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim())
}

fn wants_arrow(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).is_some_and(|value| value.to_str().is_ok_and(|accept| accept.contains(ARROW)))
}

/// Whether the request names this machine as it names itself.
fn is_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|value| value.to_str().ok()) else { return true };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn written(rows: &Rows, arrow: bool) -> Result<Response, Refused> {
    let (media_type, body) = if arrow { (ARROW, stream(rows)) } else { (JSON, array(rows)) };
    let body = body.map_err(|error| Refused::Failed(error.to_string()))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (LAKE_VERSION, HeaderValue::from(rows.lake_version)),
    ];
    Ok((headers, body).into_response())
}

fn stream(rows: &Rows) -> Result<Vec<u8>, arrow::error::ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema)?;
    for batch in &rows.batches {
        writer.write(batch)?;
    }
    writer.into_inner()
}

fn array(rows: &Rows) -> Result<Vec<u8>, arrow::error::ArrowError> {
    let mut bytes = Vec::new();
    // As the command prints them: a null is there, not left out.
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut bytes);
    for batch in &rows.batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(bytes)
}

fn status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::Wrong(_) | Refused::TooManyRows(_) => StatusCode::BAD_REQUEST,
        Refused::TooSlow(_) => StatusCode::GATEWAY_TIMEOUT,
        Refused::TooLarge(_) => StatusCode::INSUFFICIENT_STORAGE,
        Refused::Busy => StatusCode::TOO_MANY_REQUESTS,
        Refused::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that somebody has pointed at this machine is no name of its own.
    #[test]
    fn hosts() {
        let host =
            |host: &'static str| HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        for own in ["localhost:4320", "localhost", "127.0.0.1:4320", "127.0.0.1", "[::1]:4320", "[::1]"] {
            assert!(is_loopback(&host(own)), "{own}");
        }
        for other in ["example.com", "localhost.example.com:4320", "10.0.0.1:4320", "127.example.com"] {
            assert!(!is_loopback(&host(other)), "{other}");
        }
    }
}
