//! `run_key(service, name, scope, session_id, run_key, link_trace_id, attributes)`: what tells a span's
//! run apart, where it isn't the trace.
//!
//! The `[[run]]` rules of `plimsoll.toml` go before what the dialect says. Without rules the call is
//! replaced by its argument `run_key` while planning, and no other column is read for it.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, StringArray, StringBuilder},
    datatypes::DataType,
};
use datafusion::{
    common::Result,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};
use plimsoll_assembly::naming::Names;

use super::rule_columns::{RuleColumns, coerce, without_attributes};
use crate::policy::Policy;

/// Columns of `spans` that it takes before `attributes`, in order.
pub(crate) const COLUMNS: [&str; 6] = ["service", "name", "scope", "session_id", "run_key", "link_trace_id"];
/// Place of the one that the dialect filled.
const BY_DIALECT: usize = 4;

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    ScalarUDF::from(RunKey {
        policy: Arc::clone(policy),
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

/// The keys of `rows` spans; `arguments` are [`COLUMNS`] and `attributes`.
///
/// # Errors
/// A column that is no text.
pub(crate) fn run_keys(policy: &Policy, arguments: &[ArrayRef], rows: usize) -> Result<StringArray> {
    let columns = RuleColumns::of(arguments, &COLUMNS)?;
    let mut keys = StringBuilder::new();
    for row in 0..rows {
        let lookup = |key: &str| columns.attribute(row, key);
        let names = Names {
            service: columns.text(0, row),
            name: columns.text(1, row),
            scope: columns.text(2, row),
            session_id: columns.text(3, row),
            run_key: columns.text(BY_DIALECT, row),
            link: columns.text(5, row),
            attribute: Some(&lookup),
            ..Names::default()
        };
        keys.append_option(policy.naming.run_key(&names));
    }
    Ok(keys.finish())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RunKey {
    policy: Arc<Policy>,
    signature: Signature,
}

impl ScalarUDFImpl for RunKey {
    fn name(&self) -> &str {
        "run_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        coerce(self.name(), &COLUMNS, types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let naming = &self.policy.naming;
        if !naming.names_runs() && args.len() > BY_DIALECT {
            return Ok(ExprSimplifyResult::Simplified(args.swap_remove(BY_DIALECT)));
        }
        let needed = !naming.run_attributes_needed().is_empty();
        Ok(without_attributes(args, needed, || udf(&self.policy)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        Ok(ColumnarValue::Array(Arc::new(run_keys(&self.policy, &arguments, args.number_rows)?)))
    }
}
