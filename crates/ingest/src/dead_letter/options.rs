//! Where dead letters go and how long they stay.

use std::path::PathBuf;
use std::time::Duration;

use crate::kafka::KafkaConnection;

/// What is done with messages and records that give no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterOptions {
    /// Where they go.
    pub place: DeadLetterPlace,
    /// Age at which a file of the folder is deleted.
    pub max_age: Duration,
    /// Bytes of all files of the folder, past which the oldest are deleted.
    pub max_bytes: u64,
}

/// Where dead letters go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetterPlace {
    /// A folder, readable by its owner alone; a file a letter.
    Folder(PathBuf),
    /// A topic of a cluster, which expires what it holds by its own settings. What is too large for it goes to
    /// the folder `dead` of the journal.
    Topic {
        /// The cluster.
        connection: KafkaConnection,
        /// The topic.
        topic: String,
    },
}

impl DeadLetterOptions {
    /// The defaults: a folder, 30 days, 1 GiB.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            place: DeadLetterPlace::Folder(folder.into()),
            max_age: Duration::from_secs(30 * 24 * 3600),
            max_bytes: 1 << 30,
        }
    }
}
