//! A file written piece by piece: its rows come row group by row group, and its bytes leave as they come to
//! be.
//!
//! For what rewrites rows, whose files may be larger than what should be held in memory;
//! [`Table::write`] encodes a flush at once. Invariant: a file whose writer fails or is dropped before
//! `finish` never gets its name.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::ArrayRef;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::parquet_columns::encode_columns;
use crate::stats::FileStats;
use crate::write::new_path;
use crate::{DataFile, Error, Order, Result, Table, parquet_file};

/// Bytes of a piece; object stores want at least 5 MiB.
pub(crate) const PIECE: usize = 8 << 20;

/// Pieces that wait to be sent.
const WAITING: usize = 1;

/// A file that is being encoded, by a thread that may block.
pub(crate) struct Output {
    writer: SerializedFileWriter<Buffer>,
    sending: Sending,
    rows: u64,
}

impl Output {
    /// Begins a file of about `rows` rows in a partition. Must be called within the runtime.
    pub(crate) fn begin(
        table: &Table,
        values: BTreeMap<String, Option<String>>,
        order: Order,
        rows: u64,
    ) -> Result<Self> {
        let sorted = order == Order::Sorted;
        let writer = parquet_file::group_writer(table.schema(), sorted, rows, Buffer::default())?;
        Ok(Self { writer, sending: Sending::begin(table, values, order), rows: 0 })
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.sending.file.size + self.writer.inner().len() as u64
    }

    /// Adds a row group of so many rows. `column` gives their values in the column of a place in the file;
    /// several threads ask it, for as long as that takes.
    pub(crate) fn write(
        &mut self,
        rows: usize,
        column: impl Fn(usize) -> Result<ArrayRef> + Sync,
    ) -> Result<()> {
        let schema = self.sending.table.shared_schema();
        let wrong = |e: ParquetError| parquet_file::encode_error(&schema, &e);
        let chunks = encode_columns(&schema, &self.writer, column)?;
        let mut group = self.writer.next_row_group().map_err(wrong)?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group).map_err(wrong)?;
        }
        group.close().map_err(wrong)?;
        self.rows += rows as u64;
        if self.writer.inner().len() >= PIECE {
            self.sending.pass(self.writer.inner_mut().take())?;
        }
        Ok(())
    }

    /// Ends the file: it is durable then, and not yet part of the table.
    pub(crate) fn finish(mut self) -> Result<DataFile> {
        let schema = self.sending.table.shared_schema();
        let footer = self.writer.finish().map_err(|e| parquet_file::encode_error(&schema, &e))?;
        self.sending.pass(self.writer.inner_mut().take())?;
        self.sending.finish(self.rows, FileStats::from_footer(&schema, &footer))
    }
}

/// The way of a file's bytes to the store.
pub(crate) struct Sending {
    table: Table,
    file: DataFile,
    pieces: mpsc::Sender<Message>,
    sent: JoinHandle<Result<()>>,
    runtime: Handle,
}

enum Message {
    Piece(Bytes),
    /// All pieces have come.
    Whole,
}

impl Sending {
    /// Begins a file in a partition. Must be called within the runtime.
    pub(crate) fn begin(table: &Table, values: BTreeMap<String, Option<String>>, order: Order) -> Self {
        let file = DataFile {
            path: new_path(&values, order),
            size: 0,
            partition_values: values,
            rows: 0,
            stats: Arc::default(),
            modified_ms: 0,
        };
        let (pieces, arriving) = mpsc::channel(WAITING);
        let runtime = Handle::current();
        let sent = runtime.spawn(send(Arc::clone(table.store()), table.location(&file), arriving));
        Self { table: table.clone(), file, pieces, sent, runtime }
    }

    /// Passes on bytes that follow those before.
    pub(crate) fn pass(&mut self, piece: Vec<u8>) -> Result<()> {
        self.file.size += piece.len() as u64;
        if self.pieces.blocking_send(Message::Piece(piece.into())).is_ok() {
            return Ok(());
        }
        // The sender has stopped: it knows why.
        self.runtime.block_on(&mut self.sent).map_err(|e| stopped(&self.table, &e))?
    }

    /// Says that all bytes have come, and waits until they are durable.
    pub(crate) fn finish(self, rows: u64, stats: FileStats) -> Result<DataFile> {
        let Self { table, mut file, pieces, sent, runtime } = self;
        // Where the sender has stopped, it says below why.
        let _ = pieces.blocking_send(Message::Whole);
        runtime.block_on(sent).map_err(|e| stopped(&table, &e))??;
        file.rows = rows;
        file.stats = Arc::new(stats);
        file.modified_ms = jiff::Timestamp::now().as_millisecond();
        Ok(file)
    }
}

fn stopped(table: &Table, error: &tokio::task::JoinError) -> Error {
    let reason = format!("the sender of a file stopped: {error}");
    Error::Encode { table: table.schema().name.clone(), reason }
}

/// Sends the pieces of a file as they come: in one request where it is one piece.
async fn send(
    store: Arc<dyn ObjectStore>,
    location: Path,
    mut arriving: mpsc::Receiver<Message>,
) -> Result<()> {
    let wrong = || Error::store(format!("writing {location}"));
    let Some(Message::Piece(first)) = arriving.recv().await else { return Ok(()) };
    let second = match arriving.recv().await {
        Some(Message::Piece(second)) => second,
        Some(Message::Whole) => return store.put(&location, first.into()).await.map(drop).map_err(wrong()),
        None => return Ok(()),
    };
    let mut upload = store.put_multipart(&location).await.map_err(wrong())?;
    let outcome = send_parts(upload.as_mut(), [first, second], &mut arriving).await;
    match outcome {
        Ok(true) => upload.complete().await.map(drop).map_err(wrong()),
        Ok(false) => upload.abort().await.map_err(wrong()),
        Err(error) => {
            // What a failed abort leaves, the store's own rules for unfinished uploads remove.
            let _ = upload.abort().await;
            Err(wrong()(error))
        }
    }
}

/// Sends pieces until all have come; says whether they have.
async fn send_parts(
    upload: &mut dyn MultipartUpload,
    begin: [Bytes; 2],
    arriving: &mut mpsc::Receiver<Message>,
) -> object_store::Result<bool> {
    for piece in begin {
        upload.put_part(PutPayload::from(piece)).await?;
    }
    loop {
        match arriving.recv().await {
            Some(Message::Piece(piece)) => upload.put_part(PutPayload::from(piece)).await?,
            Some(Message::Whole) => return Ok(true),
            None => return Ok(false),
        }
    }
}

/// What the encoder has written and nobody has taken.
#[derive(Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes what was written so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
