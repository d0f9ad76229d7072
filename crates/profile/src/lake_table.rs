//! A lake table at one version, as a table of the query engine.
//!
//! Which files hold the rows comes from the snapshot, never from listing a folder; files that the
//! filters rule out by partition or by statistics are left out of the plan. What remains is a plain
//! Parquet scan, which serialises and runs anywhere the engine does. A file that lacks a column, because
//! an older version wrote it, has nulls there.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{DFSchema, Result, ScalarValue, exec_datafusion_err, stats::Precision},
    datasource::{
        TableType,
        listing::PartitionedFile,
        physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource},
        source::DataSourceExec,
        table_schema::TableSchema as ScanSchema,
    },
    execution::object_store::ObjectStoreUrl,
    logical_expr::{Expr, TableProviderFilterPushDown, utils::conjunction},
    physical_plan::{ColumnStatistics, ExecutionPlan, Statistics, empty::EmptyExec},
};
use object_store::path::Path;
use plimsoll_lake::{DataFile, Table, TableSchema};

use crate::pruning::{bound, date, live_files};

/// URL under which a session knows the lake's object store.
pub(crate) fn store_url() -> Result<ObjectStoreUrl> {
    ObjectStoreUrl::parse("lake://tables/")
}

/// Files of one table, at one version.
#[derive(Debug)]
pub(crate) struct LakeTable {
    root: Path,
    /// Columns in the files, then partition columns.
    schema: SchemaRef,
    scan: ScanSchema,
    partition_by: Vec<String>,
    files: Arc<Vec<DataFile>>,
}

impl LakeTable {
    /// Some files of a table: a whole snapshot's, or those that are new.
    pub(crate) fn new(table: &Table, files: Vec<DataFile>) -> Self {
        Self::of(table.schema(), table.root().clone(), files)
    }

    /// A table that has no files yet.
    pub(crate) fn empty(schema: &TableSchema) -> Self {
        Self::of(schema, Path::from(schema.name.as_str()), Vec::new())
    }

    fn of(described: &TableSchema, root: Path, files: Vec<DataFile>) -> Self {
        let partition_by = described.partition_by.clone();
        let (partition, columns): (Vec<Arc<Field>>, Vec<Arc<Field>>) =
            described.arrow().fields().iter().cloned().partition(|field| partition_by.contains(field.name()));
        let scan =
            ScanSchema::builder(Arc::new(Schema::new(columns))).with_table_partition_cols(partition).build();
        Self { root, schema: Arc::clone(scan.table_schema()), scan, partition_by, files: Arc::new(files) }
    }

    /// Name of the table whose files these are.
    pub(crate) fn name(&self) -> &str {
        self.root.as_ref()
    }

    fn partitioned_file(&self, file: &DataFile) -> Result<PartitionedFile> {
        let path = format!("{}/{}", self.root, file.path);
        let mut partitioned = PartitionedFile::new(path, file.size);
        partitioned.partition_values = self
            .partition_by
            .iter()
            .map(|column| match file.partition_values.get(column).and_then(Option::as_deref) {
                None => Ok(ScalarValue::Date32(None)),
                Some(text) => date(text).map(|days| ScalarValue::Date32(Some(days))).ok_or_else(|| {
                    exec_datafusion_err!("{}: partition {column} is {text:?}, not a date", file.path)
                }),
            })
            .collect::<Result<_>>()?;
        Ok(partitioned.with_statistics(Arc::new(self.statistics(file))))
    }

    /// Rows and bytes of all files.
    fn total(&self, files: &[PartitionedFile]) -> Statistics {
        let known = files.iter().filter_map(|file| file.statistics.as_deref());
        let (rows, bytes) = known.fold((Precision::Exact(0), Precision::Exact(0)), |(rows, bytes), file| {
            (rows.add(&file.num_rows), bytes.add(&file.total_byte_size))
        });
        Statistics { num_rows: rows, total_byte_size: bytes, ..Statistics::new_unknown(&self.schema) }
    }

    /// Statistics of one file; bounds of texts may be cut, so none is called exact.
    fn statistics(&self, file: &DataFile) -> Statistics {
        let columns = self.scan.file_schema().fields().iter().map(|field| {
            let Some(known) = file.stats.column(field.name()) else {
                return ColumnStatistics::new_unknown();
            };
            let inexact = |value: &Option<plimsoll_lake::Value>| {
                value
                    .as_ref()
                    .and_then(|value| bound(value, field.data_type()))
                    .map_or(Precision::Absent, Precision::Inexact)
            };
            ColumnStatistics {
                null_count: known.null_count.map_or(Precision::Absent, |n| Precision::Exact(n as usize)),
                min_value: inexact(&known.min),
                max_value: inexact(&known.max),
                ..ColumnStatistics::new_unknown()
            }
        });
        Statistics {
            num_rows: Precision::Exact(file.rows as usize),
            total_byte_size: Precision::Inexact(file.size as usize),
            column_statistics: columns.collect(),
        }
    }
}

#[async_trait]
impl TableProvider for LakeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let predicate = match conjunction(filters.to_vec()) {
            None => None,
            Some(filter) => {
                let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
                Some(state.create_physical_expr(filter, &schema)?)
            }
        };
        let files = live_files(&self.files, &self.schema, &self.partition_by, predicate.as_ref())
            .map(|file| self.partitioned_file(file))
            .collect::<Result<Vec<_>>>()?;
        if files.is_empty() {
            let schema = match projection {
                Some(columns) => Arc::new(self.schema.project(columns)?),
                None => Arc::clone(&self.schema),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let mut source = ParquetSource::new(self.scan.clone()).with_enable_page_index(true);
        if let Some(predicate) = predicate {
            source = source.with_predicate(predicate);
        }
        let statistics = self.total(&files);
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let config = FileScanConfigBuilder::new(store_url()?, Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
