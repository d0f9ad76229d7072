//! `catalog_row(pool, time)`: what the catalog knows of a pool.
//!
//! Gives a struct of `key`, that of the row that answers for the pool on that day (with `*` parts where it stands
//! for pools that have none of their own, null where none does), and `nearest`, the key that the pool was probably
//! meant to be where no row answers.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, StringBuilder, StructArray},
    datatypes::{DataType, Field, Fields, TimestampMicrosecondType},
};
use datafusion::{
    common::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};
use jiff::tz::TimeZone;
use plimsoll_catalog::{Catalog, PoolKey};

use super::time::instant;
use crate::{policy::Policy, windows::civil_day};

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    ScalarUDF::from(CatalogRow {
        policy: Arc::clone(policy),
        signature: Signature::exact(vec![DataType::Utf8, instant()], Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CatalogRow {
    policy: Arc<Policy>,
    signature: Signature,
}

fn fields() -> Fields {
    ["key", "nearest"].map(|name| Field::new(name, DataType::Utf8, true)).into_iter().collect()
}

/// The keys of the row that answers, and of the nearest where none does.
fn known(catalog: &Catalog, pool: &str, micros: i64) -> [Option<String>; 2] {
    let Ok(key) = PoolKey::parse(pool) else { return [None, None] };
    match civil_day(&TimeZone::UTC, micros).and_then(|day| catalog.find(&key, day)) {
        Some(row) => [Some(row.key.to_string()), None],
        None => [None, catalog.did_you_mean(&key).map(PoolKey::to_string)],
    }
}

impl ScalarUDFImpl for CatalogRow {
    fn name(&self) -> &str {
        "catalog_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (pools, times) =
            (arrays[0].as_string::<i32>(), arrays[1].as_primitive::<TimestampMicrosecondType>());
        let mut columns = [StringBuilder::new(), StringBuilder::new()];
        for row in 0..args.number_rows {
            let told = pools.is_valid(row) && times.is_valid(row);
            let found = if told {
                known(&self.policy.catalog, pools.value(row), times.value(row))
            } else {
                [None, None]
            };
            for (column, text) in columns.iter_mut().zip(found) {
                column.append_option(text);
            }
        }
        let columns = columns.map(|mut column| Arc::new(column.finish()) as ArrayRef).to_vec();
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields(), columns, None)?)))
    }
}
