//! `match_rules(service, name, ..., attributes)`: the match rules of `plimsoll.toml` in SQL.
//!
//! Gives a struct of workflow (null where no rule names one: then the measured name stands), account
//! and pool key. Where no rule looks at other attributes, the last argument is replaced by null while
//! planning, so that the widest column of `spans` is not even read.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, MapArray, StringArray, StringBuilder, StructArray},
    datatypes::{DataType, Field, Fields},
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

use crate::policy::Policy;

/// Named arguments before the attributes, in order.
const NAMES: usize = 13;

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    ScalarUDF::from(MatchRules {
        policy: Arc::clone(policy),
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MatchRules {
    policy: Arc<Policy>,
    signature: Signature,
}

fn fields() -> Fields {
    ["workflow", "account", "pool"].map(|name| Field::new(name, DataType::Utf8, true)).into_iter().collect()
}

impl ScalarUDFImpl for MatchRules {
    fn name(&self) -> &str {
        "match_rules"
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
                "match_rules takes service, name, workflow, step, provider, model, response_model, \
                 endpoint, region, scope, tenant, request_class, account and attributes"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let null = Expr::Literal(ScalarValue::Null, None);
        match args.last_mut() {
            Some(last) if self.policy.naming.attributes_needed().is_empty() && *last != null => {
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
            return exec_err!("match_rules got {} arguments", arrays.len());
        };
        let names: Vec<&StringArray> = names.iter().map(|array| array.as_string::<i32>()).collect();
        let attributes = attributes.as_map_opt();
        let mut columns = [(); 3].map(|()| StringBuilder::new());
        for row in 0..args.number_rows {
            let text = |at: usize| names[at].is_valid(row).then(|| names[at].value(row));
            let lookup = |key: &str| attributes.and_then(|map| attribute(map, row, key));
            let names = Names {
                service: text(0),
                name: text(1),
                workflow: text(2),
                step: text(3),
                provider: text(4),
                model: text(5),
                response_model: text(6),
                endpoint: text(7),
                region: text(8),
                scope: text(9),
                tenant: text(10),
                request_class: text(11),
                account: text(12),
                attribute: Some(&lookup),
                ..Names::default()
            };
            let naming = &self.policy.naming;
            columns[0].append_option(naming.workflow_by_rule(&names));
            columns[1].append_option(naming.account(&names));
            columns[2].append_option(naming.pool(&names));
        }
        let columns = columns.map(|mut column| Arc::new(column.finish()) as ArrayRef).to_vec();
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields(), columns, None)?)))
    }
}

/// A value of the map in a row.
pub(crate) fn attribute<'a>(map: &'a MapArray, row: usize, key: &str) -> Option<&'a str> {
    if map.is_null(row) {
        return None;
    }
    let offsets = map.value_offsets();
    let keys = map.keys().as_string_opt::<i32>()?;
    let values = map.values().as_string_opt::<i32>()?;
    (offsets[row] as usize..offsets[row + 1] as usize)
        .find(|&at| keys.value(at) == key && values.is_valid(at))
        .map(|at| values.value(at))
}
