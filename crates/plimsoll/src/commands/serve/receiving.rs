//! From the settings to running receivers and writers.

use plimsoll_ingest::{
    DeadLetterPlace, Ingest, IngestConfig, KafkaConnection, KafkaLog, KafkaSource, LogKind,
};
use plimsoll_lake::Lake;
use tokio::runtime::Handle;

use crate::{
    failure::Failure,
    open,
    settings::{Kafka, Role, Settings},
};

/// Threads of the roles that take telemetry.
#[derive(Debug, Default)]
pub(in crate::commands) struct Threads {
    pub(super) receive: Option<Handle>,
    pub(super) write: Option<Handle>,
}

/// Starts what takes telemetry, by the settings; without the role of a writer, no lake is looked at.
pub(in crate::commands) async fn start(
    settings: &Settings,
    lake: Option<&Lake>,
    threads: Threads,
) -> Result<Ingest, Failure> {
    let decoder = match lake {
        Some(lake) => open::decoder(settings, lake)?,
        None => open::decoder_of(settings, &open::schemas()?)?,
    };
    let written = lake.filter(|_| settings.serve.roles.has(Role::Write));
    let mut config = config(settings)?;
    config.write_on = threads.write;
    let starting = Ingest::start(config, written.cloned(), decoder);
    let started = match threads.receive {
        Some(there) => there.spawn(starting).await.map_err(Failure::internal)?,
        None => starting.await,
    };
    started.map_err(Failure::input)
}

fn config(settings: &Settings) -> Result<IngestConfig, Failure> {
    let mut config = IngestConfig::new(settings.journal());
    let receives = settings.serve.roles.has(Role::Receive);
    config.grpc = receives.then_some(settings.otlp.grpc);
    config.http = receives.then_some(settings.otlp.http);
    config.allow_remote = settings.otlp.allow_remote;
    config.limits.max_message_bytes = settings.otlp.max_message_bytes;
    config.journal.max_bytes = settings.journal.max_bytes;
    config.dead_letters.max_age = settings.journal.keep.duration();
    if let Some(kafka) = &settings.kafka {
        let connection = KafkaConnection { brokers: kafka.brokers.clone(), properties: kafka.properties()? };
        if let Some(topic) = kafka.dead_letter.clone() {
            config.dead_letters.place = DeadLetterPlace::Topic { connection: connection.clone(), topic };
        }
        if let Some(topic) = settings.journal.topic.clone() {
            config.log = LogKind::Kafka(KafkaLog { connection: connection.clone(), topic });
        }
        if settings.serve.roles.has(Role::Write) {
            config.kafka = source(kafka, settings.journal.topic.as_deref(), connection);
        }
    }
    Ok(config)
}

/// What a writer reads: the topics that are named, and the one on which receivers keep requests.
fn source(kafka: &Kafka, journal: Option<&str>, connection: KafkaConnection) -> Option<KafkaSource> {
    let mut topics = kafka.topics.clone();
    topics
        .extend(journal.filter(|topic| !kafka.topics.iter().any(|named| named == topic)).map(str::to_owned));
    let (group, encoding) = (kafka.group.clone(), kafka.encoding());
    (!topics.is_empty()).then_some(KafkaSource { connection, topics, group, encoding })
}
