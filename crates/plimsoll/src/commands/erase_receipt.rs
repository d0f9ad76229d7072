//! The receipt of an erasure: a small JSON file in the lake, `_plimsoll/erasures/ID.json`.
//!
//! It is written before the first row goes, and again as the erasure goes on. Invariants: it says that an
//! identity was erased and not what the identity is, since only digests of it are kept; an erasure that
//! was broken off leaves a receipt without an end, which the same command finds and goes on with.

use std::collections::BTreeMap;

use datafusion::object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, path::Path};
use futures::TryStreamExt as _;
use jiff::{Timestamp, tz::TimeZone};
use plimsoll_lake::{Lake, Vacuumed};
use plimsoll_profile::{ErasureReport, Found, Subject};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{cli::Format, failure::Failure, output};

/// Folder of the receipts, in the lake.
const FOLDER: &str = "_plimsoll/erasures";

/// What an erasure leaves behind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// Version of this form.
    plimsoll_erasure: u32,
    /// When it began, as a name; part of every digest.
    id: String,
    began: Timestamp,
    /// None while it goes on, or where it was broken off.
    finished: Option<Timestamp>,
    whose: Vec<Digest>,
    /// Traces and runs that were found.
    traces: usize,
    runs: usize,
    /// Rows that were found, by table: when it began or when it was taken up again, whichever was more.
    rows: BTreeMap<String, u64>,
    /// Version of each table that no longer shows them.
    versions: BTreeMap<String, i64>,
    /// Round that no longer shows them.
    lake_version: Option<i64>,
    /// From when on no file holds them, on a lake that is kept up.
    files_gone_by: Option<Timestamp>,
    /// Files removed at once.
    files_removed: usize,
    /// Requests in the journal that came into the lake only afterwards.
    journal_held_requests: u64,
}

/// An identity that cannot be read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Digest {
    /// `tenant`, `user` or `session`.
    kind: String,
    /// SHA-256 of the receipt's id, the kind and the identity, each but the last followed by a line feed.
    sha256: String,
}

impl Receipt {
    /// The receipt of the same erasure that was broken off, else a new one.
    ///
    /// # Errors
    /// A lake whose receipts cannot be read.
    pub(super) async fn begin(lake: &Lake, subject: &Subject) -> Result<Self, Failure> {
        let store = lake.store();
        let mut receipts: Vec<_> =
            store.list(Some(&Path::from(FOLDER))).try_collect().await.map_err(failed)?;
        receipts.sort_by(|a, b| a.location.cmp(&b.location));
        for meta in receipts.into_iter().rev() {
            let bytes = store.get(&meta.location).await.map_err(failed)?.bytes().await.map_err(failed)?;
            // What is no receipt of this form is not ours to finish.
            let Ok(found) = serde_json::from_slice::<Self>(&bytes) else { continue };
            if found.finished.is_none() && found.whose == digests(&found.id, subject) {
                return Ok(found);
            }
        }
        let began = Timestamp::now();
        let id = began.to_zoned_datetime(TimeZone::UTC).strftime("%Y%m%dT%H%M%S%6fZ").to_string();
        Ok(Self {
            plimsoll_erasure: 1,
            whose: digests(&id, subject),
            id,
            began,
            finished: None,
            traces: 0,
            runs: 0,
            rows: BTreeMap::new(),
            versions: BTreeMap::new(),
            lake_version: None,
            files_gone_by: None,
            files_removed: 0,
            journal_held_requests: 0,
        })
    }

    /// Notes what is there to be removed.
    pub(super) fn found(&mut self, found: &Found) {
        self.traces = self.traces.max(found.traces.len());
        self.runs = self.runs.max(found.runs.len());
        for (table, rows) in &found.rows {
            let known = self.rows.entry(table.clone()).or_default();
            *known = (*known).max(*rows);
        }
    }

    /// Notes what was removed.
    ///
    /// # Errors
    /// A table that cannot be read.
    pub(super) async fn erased(&mut self, lake: &Lake, report: &ErasureReport) -> Result<(), Failure> {
        self.found(&report.found);
        self.lake_version = Some(report.lake_version);
        for table in self.rows.keys() {
            if let Some(table) = lake.existing(table).await? {
                self.versions.insert(table.schema().name.clone(), table.snapshot().await?.version());
            }
        }
        Ok(())
    }

    /// Notes what was removed from the disk at once.
    pub(super) fn removed(&mut self, vacuumed: Vacuumed) {
        self.files_removed += vacuumed.files;
    }

    /// Notes the end.
    pub(super) fn finish(&mut self, gone: Timestamp, journal_held_requests: u64) {
        self.journal_held_requests = journal_held_requests;
        self.finished = Some(Timestamp::now());
        self.files_gone_by = Some(gone);
    }

    /// Writes it to the lake.
    ///
    /// # Errors
    /// A lake that cannot be written.
    pub(super) async fn store(&self, lake: &Lake) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(Failure::internal)?;
        let path = Path::from(format!("{FOLDER}/{}.json", self.id));
        lake.store().put_opts(&path, text.into(), PutMode::Overwrite.into()).await.map_err(failed)?;
        Ok(())
    }

    /// Prints it.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub(super) fn tell(&self, beside: &str, format: Format) -> Result<(), Failure> {
        let mut lines = vec![
            ("erased".to_owned(), format!("{} traces, {} runs", self.traces, self.runs)),
            ("receipt".to_owned(), format!("{FOLDER}/{}.json in the lake", self.id)),
        ];
        for (table, rows) in &self.rows {
            let version = self.versions.get(table).map(|version| format!(" (version {version})"));
            lines.push((table.clone(), format!("{rows} rows{}", version.unwrap_or_default())));
        }
        if let Some(gone) = self.files_gone_by {
            let whole = gone.strftime("%Y-%m-%d %H:%M:%S UTC");
            let says = match self.files_removed {
                0 => format!("by {whole}, when `serve` or `compact` removes old versions"),
                files => format!("{files} removed"),
            };
            lines.push(("old files".to_owned(), says));
        }
        lines.push(("not in the lake".to_owned(), beside.to_owned()));
        output::answer(self, &lines, format)
    }
}

/// What stands for a subject in a receipt.
fn digests(id: &str, subject: &Subject) -> Vec<Digest> {
    let named = [("tenant", &subject.tenants), ("user", &subject.users), ("session", &subject.sessions)];
    let mut digests: Vec<Digest> = named
        .into_iter()
        .flat_map(|(kind, values)| values.iter().map(move |value| (kind, value)))
        .map(|(kind, value)| Digest {
            kind: kind.to_owned(),
            sha256: hex::encode(Sha256::digest(format!("{id}\n{kind}\n{value}"))),
        })
        .collect();
    digests.sort_by(|a, b| (&a.kind, &a.sha256).cmp(&(&b.kind, &b.sha256)));
    digests.dedup();
    digests
}

fn failed(error: datafusion::object_store::Error) -> Failure {
    Failure::internal(format!("receipts of erasures, {FOLDER}: {error}"))
}
