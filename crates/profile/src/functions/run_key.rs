//! `run_key(service, name, scope, session_id, run_key, link_trace_id, attributes)`: what tells a span's
//! run apart, where it isn't the trace.
//!
//! The `[[run]]` rules of `plimsoll.toml` go before what the dialect says. Without rules the call is
//! replaced by its argument `run_key` while planning, and no other column is read for it.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, StringArray, StringBuilder},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        expr::ScalarFunction,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};
use plimsoll_assembly::naming::Names;

use super::naming::attribute;
use crate::policy::Policy;

/// Named arguments before the attributes, in order.
const NAMES: usize = 6;
/// Place of the argument that the dialect filled.
const BY_DIALECT: usize = 4;

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    ScalarUDF::from(RunKey {
        policy: Arc::clone(policy),
        signature: Signature::user_defined(Volatility::Immutable),
    })
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
        match types.split_at_checked(NAMES) {
            Some((_, [attributes @ (DataType::Map(..) | DataType::Null)])) => {
                let mut wanted = vec![DataType::Utf8; NAMES];
                wanted.push(attributes.clone());
                Ok(wanted)
            }
            _ => plan_err!(
                "run_key takes service, name, scope, session_id, run_key, link_trace_id and attributes"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let naming = &self.policy.naming;
        if !naming.names_runs() && args.len() > BY_DIALECT {
            return Ok(ExprSimplifyResult::Simplified(args.swap_remove(BY_DIALECT)));
        }
        let null = Expr::Literal(ScalarValue::Null, None);
        match args.last_mut() {
            Some(last) if naming.run_attributes_needed().is_empty() && *last != null => {
                *last = null;
                let udf = Arc::new(udf(&self.policy));
                Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(ScalarFunction::new_udf(udf, args))))
            }
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some((names, [attributes])) = arrays.split_at_checked(NAMES) else {
            return exec_err!("run_key got {} arguments", arrays.len());
        };
        let names: Vec<&StringArray> = names.iter().map(|array| array.as_string::<i32>()).collect();
        let attributes = attributes.as_map_opt();
        let mut keys = StringBuilder::new();
        for row in 0..args.number_rows {
            let text = |at: usize| names[at].is_valid(row).then(|| names[at].value(row));
            let lookup = |key: &str| attributes.and_then(|map| attribute(map, row, key));
            let names = Names {
                service: text(0),
                name: text(1),
                scope: text(2),
                session_id: text(3),
                run_key: text(BY_DIALECT),
                link: text(5),
                attribute: Some(&lookup),
                ..Names::default()
            };
            keys.append_option(self.policy.naming.run_key(&names));
        }
        Ok(ColumnarValue::Array(Arc::new(keys.finish())))
    }
}
