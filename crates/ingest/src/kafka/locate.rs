//! Where partitions are to be read from: the cluster says which topics they are of, the tables how far
//! they were stored.
//!
//! Nothing here is remembered. Invariant: an answer is of one moment before which nothing was read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;

use super::consumer::Consumer;
use super::librdkafka::topic_ids;
use super::place::{Place, Placed, TopicPartition};
use crate::tables::Tables;

/// How long the cluster may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks cluster and tables.
///
/// # Errors
/// One of them gives no answer; ask again.
pub(super) async fn locate(
    consumer: Arc<Consumer>,
    tables: Tables,
    partitions: Vec<TopicPartition>,
) -> Result<Vec<Placed>, String> {
    let topics: BTreeSet<String> = partitions.iter().map(|at| at.topic.clone()).collect();
    let asked = blocking(move || {
        let cluster = consumer.client().fetch_cluster_id(TIMEOUT).ok_or("the cluster tells no id yet")?;
        Ok((cluster, ids(&consumer, &topics)?))
    });
    let (cluster, ids) = asked.await?;
    let place = |at: &TopicPartition| {
        let id = ids.get(&at.topic).ok_or_else(|| format!("topic {} is not there", at.topic))?;
        Ok(Arc::new(Place::new(&cluster, id, at)))
    };
    let places: Vec<Arc<Place>> = partitions.iter().map(place).collect::<Result<_, String>>()?;
    let sources: Vec<&str> = places.iter().map(|place| &*place.source).collect();
    let held = tables
        .held_by(&sources)
        .await
        .map_err(|error| format!("the lake does not say where to read from: {error}"))?;
    Ok(places.into_iter().zip(held).map(|(place, held)| Placed { place, held }).collect())
}

/// Which topics are others than they were, by their names and ids; none where the cluster gives no answer.
pub(super) async fn recreated(
    consumer: Arc<Consumer>,
    known: BTreeMap<String, String>,
) -> Option<Vec<String>> {
    let asked = blocking(move || {
        let topics: BTreeSet<String> = known.keys().cloned().collect();
        if topics.is_empty() {
            // Any answer will do.
            consumer.fetch_metadata(None, TIMEOUT).map_err(|error| error.to_string())?;
            return Ok(Vec::new());
        }
        let now = ids(&consumer, &topics)?;
        let other =
            |(topic, id): (String, String)| now.get(&topic).is_some_and(|now| *now != id).then_some(topic);
        Ok(known.into_iter().filter_map(other).collect())
    });
    asked.await.ok()
}

fn ids(consumer: &Consumer, topics: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    topic_ids(consumer.client(), &topics, TIMEOUT)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
