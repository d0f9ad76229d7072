//! Who writes dead letters: to the folder or to the topic, durable before anything is released for them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rdkafka::error::KafkaError;

use super::folder::Folder;
use super::letter::Letter;
use super::options::{DeadLetterOptions, DeadLetterPlace};
use super::topic::Topic;

/// Keeps dead letters; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct DeadLetters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// In use where there is no topic, and for what the topic will never take.
    folder: Folder,
    topic: Option<Topic>,
}

/// Letters that could not be kept; to be tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeadLetterError {
    /// The folder.
    #[error("dead letters cannot be written to their folder: {0}")]
    Folder(#[from] io::Error),
    /// The topic.
    #[error("dead letters cannot be put onto their topic: {0}")]
    Topic(#[from] KafkaError),
}

impl DeadLetters {
    /// `fallback` is the folder for what a topic won't take.
    ///
    /// # Errors
    /// The topic's client can't be made of its settings.
    pub(crate) fn new(options: DeadLetterOptions, fallback: PathBuf) -> Result<Self, KafkaError> {
        let DeadLetterOptions { place, max_age, max_bytes } = options;
        let (path, topic) = match place {
            DeadLetterPlace::Folder(path) => (path, None),
            DeadLetterPlace::Topic { connection, topic } => (fallback, Some(Topic::new(&connection, topic)?)),
        };
        let folder = Folder::new(path, max_age, max_bytes);
        Ok(Self(Arc::new(Inner { folder, topic })))
    }

    /// Keeps letters: durable when this returns.
    ///
    /// # Errors
    /// Not all are; give them again.
    pub(crate) async fn keep(&self, letters: &[Letter]) -> Result<(), DeadLetterError> {
        let rest: Vec<Letter> = match &self.0.topic {
            Some(topic) => topic.keep(letters).await?.into_iter().cloned().collect(),
            None => letters.to_vec(),
        };
        if rest.is_empty() {
            return Ok(());
        }
        self.in_folder(move |folder| folder.keep(&rest)).await
    }

    /// Deletes what is too old.
    ///
    /// # Errors
    /// The folder can't be read.
    pub(crate) async fn expire(&self) -> Result<(), DeadLetterError> {
        self.in_folder(Folder::expire).await
    }

    async fn in_folder(
        &self,
        work: impl FnOnce(&Folder) -> io::Result<u64> + Send + 'static,
    ) -> Result<(), DeadLetterError> {
        let inner = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&inner.folder)).await;
        let expired = done.map_err(io::Error::other)??;
        if expired > 0 {
            tracing::info!(letters = expired, "dead letters were deleted by age or for want of room");
        }
        Ok(())
    }
}
