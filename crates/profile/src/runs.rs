//! The jobs that make runs and what belongs to them, slice by slice.
//!
//! A slice's spans are read once, by one thread, and its runs are unfolded into rows of every table while
//! they are in memory; several slices are made at once. So nothing is dealt out among threads, and memory
//! is bounded by the slices that are under way, however many spans a round has.

use std::sync::Arc;

use datafusion::{
    catalog::MemTable, common::runtime::SpawnedTask, error::DataFusionError, prelude::DataFrame,
};
use futures::{StreamExt, TryStreamExt, lock::Mutex, stream};
use plimsoll_lake::Table;

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    session::Reader,
    slices::Slice,
    tables::Tables,
    touched::{Parameters, Touched},
    write::{Made, Withheld, write},
};

/// Jobs that are run slice by slice: the one that makes runs, and those that unfold them.
pub(crate) struct ByRun {
    kept: Vec<Job>,
    unfolded: Vec<Job>,
}

impl ByRun {
    /// Takes these jobs out of all.
    pub(crate) fn out_of(jobs: &mut Vec<Job>) -> Self {
        let kept: Vec<Job> = jobs.extract_if(.., |job| job.replaces == Replaces::ForTheRound).collect();
        let unfolds = |job: &Job| {
            job.replaces == Replaces::TouchedRuns && kept.iter().any(|relation| job.names(&relation.makes))
        };
        let unfolded = jobs.extract_if(.., |job| unfolds(job)).collect();
        Self { kept, unfolded }
    }

    /// The jobs whose rows go into tables.
    pub(crate) fn unfolded(&self) -> &[Job] {
        &self.unfolded
    }

    /// Makes the rows of all slices, some at once: for each of [`Self::unfolded`] what it wrote, not yet visible.
    ///
    /// # Errors
    /// SQL that fails, or rows that cannot be written.
    #[tracing::instrument(name = "runs", skip_all, fields(slices = slices.len()))]
    pub(crate) async fn make(
        self: &Arc<Self>,
        found: &Tables,
        touched: &Touched,
        slices: Vec<Slice>,
        at_once: usize,
    ) -> Result<Vec<Made>, ProfileError> {
        let mut tables = Vec::with_capacity(self.unfolded.len());
        for job in &self.unfolded {
            let before = found.horizon.first_day(&job.makes);
            let withheld = Withheld { runs: Arc::clone(touched.unmade()), before };
            tables.push((found.base(&job.makes)?.0.clone(), withheld));
        }
        let maker = Arc::new(Maker {
            jobs: Arc::clone(self),
            reader: found.reader.on_one_thread(),
            tables,
            parameters: touched.parameters().clone(),
            planning: Mutex::new(()),
        });
        let mut made: Vec<(usize, Vec<Made>)> = stream::iter(slices.into_iter().enumerate())
            .map(|(number, slice)| {
                let maker = Arc::clone(&maker);
                async move {
                    let task = SpawnedTask::spawn(async move { maker.make(&slice).await });
                    let made = task.join().await.map_err(|e| DataFusionError::External(e.into()))?;
                    Ok::<_, ProfileError>((number, made?))
                }
            })
            .buffer_unordered(at_once)
            .try_collect()
            .await?;
        made.sort_unstable_by_key(|(number, _)| *number);
        let mut all = vec![Made::default(); self.unfolded.len()];
        for (whole, part) in made.into_iter().flat_map(|(_, made)| made).enumerate() {
            all[whole % self.unfolded.len()].add(part);
        }
        Ok(all)
    }
}

/// What every slice needs.
struct Maker {
    jobs: Arc<ByRun>,
    reader: Reader,
    tables: Vec<(Table, Withheld)>,
    parameters: Parameters,
    /// A plan holds the relations that it was made with, so slices may register theirs under one name, each
    /// in its turn.
    planning: Mutex<()>,
}

impl Maker {
    async fn make(&self, slice: &Slice) -> Result<Vec<Made>, ProfileError> {
        let mut relations = Vec::new();
        for job in &self.jobs.kept {
            let frame = {
                let _turn = self.planning.lock().await;
                let parameters = slice.register(&self.reader, &self.parameters)?;
                self.register(&relations)?;
                self.reader.plan_with(&job.file, &job.sql, &parameters).await?
            };
            let failed = || ProfileError::query(format!("jobs/{}", job.file));
            let schema = Arc::new(frame.schema().as_arrow().clone());
            let rows = frame.collect_partitioned().await.map_err(failed())?;
            let relation = MemTable::try_new(schema, rows).map_err(failed())?;
            relations.push((job.makes.as_str(), Arc::new(relation)));
        }
        let frames: Vec<DataFrame> = {
            let _turn = self.planning.lock().await;
            self.register(&relations)?;
            let mut frames = Vec::with_capacity(self.tables.len());
            for job in &self.jobs.unfolded {
                frames.push(self.reader.plan_with(&job.file, &job.sql, &self.parameters).await?);
            }
            for (name, _) in &relations {
                self.reader.forget(name)?;
            }
            frames
        };
        drop(relations);
        let mut made = Vec::with_capacity(frames.len());
        for ((job, (table, withheld)), frame) in self.jobs.unfolded.iter().zip(&self.tables).zip(frames) {
            made.push(write(job, table, vec![frame], withheld).await?);
        }
        Ok(made)
    }

    fn register(&self, relations: &[(&str, Arc<MemTable>)]) -> Result<(), ProfileError> {
        relations.iter().try_for_each(|(name, rows)| self.reader.register(name, Arc::clone(rows) as _))
    }
}
