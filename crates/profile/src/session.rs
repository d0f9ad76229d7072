//! Sessions of the query engine over a lake.
//!
//! A [`SessionFactory`] holds what every session shares: the functions' policy, the SQL files, the
//! limits. A [`Reader`] is one session with tables in it. What people and plans read is pinned to the
//! latest finished round; the runner of jobs sees every table as it is now. Invariant: a reader
//! cannot change anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    sync::Arc,
    thread::available_parallelism,
};

use arrow::{
    array::{AsArray as _, RecordBatch, StringArray},
    datatypes::{DataType, Field, Int64Type, Schema},
};
use datafusion::{
    catalog::{MemTable, MemorySchemaProvider, TableProvider},
    common::{ParamValues, ScalarValue, TableReference},
    error::DataFusionError,
    execution::{
        SessionStateBuilder, context::SQLOptions, memory_pool::GreedyMemoryPool,
        runtime_env::RuntimeEnvBuilder,
    },
    prelude::{DataFrame, SessionConfig, SessionContext},
};
use futures::future::try_join_all;
use plimsoll_lake::{DataFile, Lake, Table, TableSchema};

use crate::{
    error::ProfileError,
    functions,
    lake_table::{LakeTable, store_url},
    policy::Policy,
    round::UNPINNED,
    snapshot::{SnapshotRow, latest_snapshot},
    sql_files::SqlFiles,
};

/// The schema that holds tables as they are stored; views stand in the default schema.
const STORED: &str = "lake";

/// What a session may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of memory for queries; past them the engine spills to temporary files.
    pub memory_bytes: usize,
    /// Threads that a query runs on; 0 for one a core.
    pub threads: usize,
}

/// What a span takes while its run is made: its columns, its run's rows, what is being written, and as much
/// again for what else there is.
const BYTES_A_SPAN: usize = 6 << 10;
/// Spans in a slice beyond which a larger one gains nothing.
const SPANS_A_SLICE: usize = 1 << 16;

impl Limits {
    /// Threads that there are.
    pub(crate) fn workers(&self) -> usize {
        if self.threads > 0 { self.threads } else { available_parallelism().map_or(1, NonZero::get) }
    }

    /// Spans whose runs one thread makes at once.
    pub(crate) fn spans_a_slice(&self) -> u64 {
        (self.memory_bytes / self.workers() / BYTES_A_SPAN).min(SPANS_A_SLICE) as u64
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 2 << 30, threads: 0 }
    }
}

/// What all sessions share.
#[derive(Debug, Clone)]
pub struct SessionFactory {
    pub(crate) policy: Arc<Policy>,
    pub(crate) sql: Arc<SqlFiles>,
    pub(crate) limits: Limits,
}

impl SessionFactory {
    /// Takes the policy of the functions, the SQL files and the limits.
    pub fn new(policy: Policy, sql: SqlFiles, limits: Limits) -> Self {
        Self { policy: Arc::new(policy), sql: Arc::new(sql), limits }
    }

    /// What the functions decide by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The SQL files.
    pub fn sql(&self) -> &SqlFiles {
        &self.sql
    }

    fn context(&self, lake: &Lake) -> Result<SessionContext, DataFusionError> {
        let mut config = SessionConfig::new().with_information_schema(true);
        if self.limits.threads > 0 {
            config = config.with_target_partitions(self.limits.threads);
        }
        let options = config.options_mut();
        // Joins on run ids keep their partitioning, so that `assemble` above them runs in one phase.
        options.optimizer.hash_join_single_partition_threshold = 0;
        options.optimizer.hash_join_single_partition_threshold_rows = 0;
        // A `VARCHAR` is what the tables have, also where a query makes one of nothing for a union with theirs.
        options.sql_parser.map_string_types_to_utf8view = false;
        let runtime = RuntimeEnvBuilder::new()
            // Whoever asks first: fair shares among a plan's operators leave a profile, whose few groups hold
            // all the numbers of a month, with a fraction of what is there.
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(self.limits.memory_bytes)))
            .build_arc()?;
        runtime.register_object_store(store_url()?.as_ref(), lake.store());
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .build();
        let ctx = SessionContext::new_with_state(state);
        functions::register(&ctx, &self.policy);
        if let Some(catalog) = ctx.catalog("datafusion") {
            catalog.register_schema(STORED, Arc::new(MemorySchemaProvider::new()))?;
        }
        Ok(ctx)
    }
}

/// One read-only session.
#[derive(Clone)]
pub struct Reader {
    ctx: SessionContext,
    pinned: Option<Arc<SnapshotRow>>,
    left_out: Arc<Vec<LeftOut>>,
}

/// Files of a table that a reader leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Table.
    pub table: String,
    /// Their paths in the table's folder.
    pub files: Vec<String>,
    /// Rows in them, as the log says.
    pub rows: u64,
    /// Rows of the table with them.
    pub of: u64,
}

impl Reader {
    /// A session without tables.
    ///
    /// # Errors
    /// An engine that cannot be set up.
    pub(crate) fn bare(lake: &Lake, factory: &SessionFactory) -> Result<Self, ProfileError> {
        Ok(Self { ctx: factory.context(lake)?, pinned: None, left_out: Arc::default() })
    }

    /// All tables as the latest finished round left them, and the views. Before the first round the
    /// tables are as they are now.
    ///
    /// # Errors
    /// A table or view that cannot be read.
    pub async fn pinned(lake: &Lake, factory: &SessionFactory) -> Result<Self, ProfileError> {
        Self::pinned_without(lake, factory, &BTreeSet::new()).await
    }

    /// As [`Self::pinned`], but some files, by table and path, are left out: those that are damaged.
    ///
    /// # Errors
    /// As [`Self::pinned`].
    pub async fn pinned_without(
        lake: &Lake,
        factory: &SessionFactory,
        damaged: &BTreeSet<(String, String)>,
    ) -> Result<Self, ProfileError> {
        let mut reader = Self::bare(lake, factory)?;
        reader.pinned = latest_snapshot(lake, factory).await?.map(Arc::new);
        let pinned = reader.pinned.as_deref();
        let opened = lake.schemas().iter().map(|described| open(lake, described, pinned, damaged));
        let mut left_out = Vec::new();
        for (name, table, without) in try_join_all(opened).await? {
            reader.register(name, Arc::new(table))?;
            left_out.extend(without);
        }
        reader.left_out = Arc::new(left_out);
        reader.describe_columns(lake)?;
        reader.describe_codes(lake)?;
        for (file, sql) in factory.sql.folder("views") {
            reader.view(file, sql).await?;
        }
        Ok(reader)
    }

    /// The round that this reader is pinned to.
    pub fn snapshot(&self) -> Option<&SnapshotRow> {
        self.pinned.as_deref()
    }

    /// What this reader leaves out.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The engine's own session, for what wants to plan or stream by itself.
    pub fn context(&self) -> &SessionContext {
        &self.ctx
    }

    /// Plans one read-only statement.
    ///
    /// # Errors
    /// SQL that is wrong, or that would change anything.
    pub async fn plan(&self, sql: &str) -> Result<DataFrame, ProfileError> {
        let read_only =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        Ok(self.ctx.sql_with_options(sql, read_only).await?)
    }

    /// Runs one read-only statement.
    ///
    /// # Errors
    /// As [`Self::plan`], or a failure while it runs.
    pub async fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, ProfileError> {
        Ok(self.plan(sql).await?.collect().await?)
    }

    /// The number that a statement counts.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub(crate) async fn count(&self, sql: &str) -> Result<u64, ProfileError> {
        let counted = self.query(sql).await?;
        let rows = counted.first().and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>().cloned());
        Ok(rows.map_or(0, |rows| rows.value(0).unsigned_abs()))
    }

    /// Plans a statement with values for its `$name` parameters; those it does not use are let go.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub(crate) async fn plan_with(
        &self,
        file: &str,
        sql: &str,
        parameters: &BTreeMap<&'static str, ScalarValue>,
    ) -> Result<DataFrame, ProfileError> {
        let used: Vec<(String, ScalarValue)> = parameters
            .iter()
            .filter(|(name, _)| sql.contains(&format!("${name}")))
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let plan = self.plan(sql).await.map_err(|error| in_file(file, error))?;
        if used.is_empty() {
            return Ok(plan);
        }
        plan.with_param_values(ParamValues::from(used)).map_err(ProfileError::query(file))
    }

    /// Puts a table into the session, in place of one of that name.
    pub(crate) fn register(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<(), ProfileError> {
        for reference in [TableReference::bare(name), TableReference::partial(STORED, name)] {
            self.ctx.deregister_table(reference.clone())?;
            self.ctx.register_table(reference, Arc::clone(&table))?;
        }
        Ok(())
    }

    /// Takes a table out of the session; plans made with it keep it.
    pub(crate) fn forget(&self, name: &str) -> Result<(), ProfileError> {
        for reference in [TableReference::bare(name), TableReference::partial(STORED, name)] {
            self.ctx.deregister_table(reference)?;
        }
        Ok(())
    }

    /// The same tables, in a session whose queries are not dealt out among threads.
    pub fn on_one_thread(&self) -> Self {
        let mut state = self.ctx.state();
        state.config_mut().options_mut().execution.target_partitions = 1;
        Self { ctx: SessionContext::new_with_state(state), ..self.clone() }
    }

    /// Puts some files of a lake table into the session.
    pub(crate) fn register_files(
        &self,
        name: &str,
        table: &Table,
        files: Vec<DataFile>,
    ) -> Result<(), ProfileError> {
        self.register(name, Arc::new(LakeTable::new(table, files)))
    }

    /// Puts rows in memory into the session.
    pub(crate) fn register_rows(&self, name: &str, batch: RecordBatch) -> Result<(), ProfileError> {
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        self.register(name, Arc::new(table))
    }

    /// Puts texts in memory into the session, one a row.
    pub(crate) fn register_texts<'a>(
        &self,
        name: &str,
        column: &str,
        rows: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), ProfileError> {
        let rows = StringArray::from_iter_values(rows);
        let schema = Schema::new(vec![Field::new(column, DataType::Utf8, false)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(rows)]);
        self.register_rows(name, batch.map_err(DataFusionError::from)?)
    }

    /// Puts a file of `sql/views` into the session, under its name.
    pub(crate) async fn view(&self, file: &str, sql: &str) -> Result<(), ProfileError> {
        let name = file.trim_end_matches(".sql");
        let view = self.plan(sql).await.map_err(|error| in_file(&format!("views/{file}"), error))?;
        self.register_view(name, view)
    }

    /// Puts a planned statement into the session, to be read under a name.
    pub(crate) fn register_view(&self, name: &str, statement: DataFrame) -> Result<(), ProfileError> {
        self.ctx.deregister_table(name)?;
        self.ctx.register_table(name, statement.into_view())?;
        Ok(())
    }

    /// The table `columns`: what `schemas/tables` says of every column.
    fn describe_columns(&self, lake: &Lake) -> Result<(), ProfileError> {
        let mut rows: [Vec<String>; 5] = Default::default();
        for table in lake.schemas().iter() {
            for column in &table.columns {
                let field = table.arrow().field_with_name(&column.name).map(|f| f.data_type().to_string());
                let [tables, names, types, units, docs] = &mut rows;
                tables.push(table.name.clone());
                names.push(column.name.clone());
                types.push(field.unwrap_or_default());
                units.push(column.unit.clone().unwrap_or_default());
                docs.push(column.doc.clone());
            }
        }
        let names = ["table_name", "column_name", "data_type", "unit", "description"];
        self.register_rows("columns", texts(names, rows)?)
    }

    /// The table `quality_codes`: what `schemas/tables/quality.toml` says of every code.
    fn describe_codes(&self, lake: &Lake) -> Result<(), ProfileError> {
        let codes = lake.schemas().get("quality").into_iter().flat_map(|table| &table.codes);
        let (names, docs): (Vec<String>, Vec<String>) =
            codes.map(|(code, doc)| (code.clone(), doc.clone())).unzip();
        self.register_rows("quality_codes", texts(["code", "description"], [names, docs])?)
    }
}

/// Rows of texts under the names of their columns.
fn texts<const N: usize>(names: [&str; N], columns: [Vec<String>; N]) -> Result<RecordBatch, ProfileError> {
    let fields = names.map(|name| Field::new(name, DataType::Utf8, false));
    let columns = columns.map(|column| Arc::new(StringArray::from(column)) as _).to_vec();
    let schema = Arc::new(Schema::new(fields.to_vec()));
    Ok(RecordBatch::try_new(schema, columns).map_err(DataFusionError::from)?)
}

/// A table as a round pinned it; one that no round makes, or before the first round, as it is now. Says
/// too which of its files are left out for being `damaged`.
async fn open<'a>(
    lake: &Lake,
    described: &'a TableSchema,
    pinned: Option<&SnapshotRow>,
    damaged: &BTreeSet<(String, String)>,
) -> Result<(&'a str, LakeTable, Option<LeftOut>), ProfileError> {
    let name = described.name.as_str();
    let Some(table) = lake.existing(name).await? else {
        return Ok((name, LakeTable::empty(described), None));
    };
    let snapshot = match pinned.filter(|_| !UNPINNED.contains(&name)) {
        None => table.snapshot().await?,
        Some(row) => match row.versions.get(name) {
            Some(version) => table.snapshot_at(*version).await?,
            None => return Ok((name, LakeTable::empty(described), None)),
        },
    };
    let is_damaged = |file: &DataFile| damaged.contains(&(name.to_owned(), file.path.clone()));
    let (without, files): (Vec<_>, Vec<_>) = snapshot.files().iter().cloned().partition(is_damaged);
    let left_out = (!without.is_empty()).then(|| LeftOut {
        table: name.to_owned(),
        rows: without.iter().map(|file| file.rows).sum(),
        of: snapshot.rows(),
        files: without.into_iter().map(|file| file.path).collect(),
    });
    Ok((name, LakeTable::new(&table, files), left_out))
}

fn in_file(file: &str, error: ProfileError) -> ProfileError {
    match error {
        ProfileError::Query { source, .. } => ProfileError::Query { context: file.to_owned(), source },
        other => other,
    }
}
