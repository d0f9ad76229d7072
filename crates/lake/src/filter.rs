//! Taking rows out of a file: the file anew, without those that are not to be kept.
//!
//! Which rows stay is the caller's to say, and that the new file takes the old one's place is
//! [`Table::rewrite`]'s. Invariant: rows that stay are the same, in the same order.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use crate::{DataFile, Order, Result, Table, batch};

/// What became of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Filtered {
    /// All its rows stay: there is no new file.
    Unchanged,
    /// Some rows went.
    Changed {
        /// The rows that stay, written and not yet committed; none where none stay.
        file: Option<DataFile>,
        /// Rows that went.
        removed: u64,
    },
}

impl Table {
    /// Writes a file anew with the rows for which `keep` is true (null counts as false). `keep` sees all
    /// columns of the table, some thousands of rows at a time.
    ///
    /// # Errors
    /// Like [`Table::read`] and [`Table::write`]; [`Error::Unsupported`] where the table has columns
    /// that are not known here; what `keep` says.
    pub async fn filter(
        &self,
        file: &DataFile,
        mut keep: impl FnMut(&RecordBatch) -> Result<BooleanArray> + Send,
    ) -> Result<Filtered> {
        self.all_columns_known(&self.snapshot().await?)?;
        let mut kept = Vec::new();
        let mut removed = 0;
        for rows in self.read(file).await? {
            let stay = keep(&rows)?;
            let rest =
                filter_record_batch(&rows, &stay).map_err(|e| batch::encode_error(self.schema(), e))?;
            removed += (rows.num_rows() - rest.num_rows()) as u64;
            kept.push(rest);
        }
        if removed == 0 {
            return Ok(Filtered::Unchanged);
        }
        let order = if file.is_sorted() { Order::Sorted } else { Order::AsIs };
        let file = self.write(&kept, order).await?.into_iter().next();
        Ok(Filtered::Changed { file, removed })
    }
}
