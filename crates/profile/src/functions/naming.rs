//! `match_rules(service, name, ..., attributes)`: the match rules of `plimsoll.toml` in SQL.
//!
//! Gives a struct of workflow (null where no rule names one: then the measured name stands), account,
//! region and pool key.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, StringBuilder, StructArray},
    datatypes::{DataType, Field, Fields},
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
const COLUMNS: [&str; 14] = [
    "service",
    "name",
    "workflow",
    "step",
    "provider",
    "model",
    "response_model",
    "endpoint",
    "region",
    "scope",
    "tenant",
    "request_class",
    "account",
    "service_tier",
];

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
    ["workflow", "account", "region", "pool"]
        .map(|name| Field::new(name, DataType::Utf8, true))
        .into_iter()
        .collect()
}

impl ScalarUDFImpl for MatchRules {
    fn name(&self) -> &str {
        "match_rules"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        coerce(self.name(), &COLUMNS, types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let needed = !self.policy.naming.attributes_needed().is_empty();
        Ok(without_attributes(args, needed, || udf(&self.policy)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        let given = RuleColumns::of(&arguments, &COLUMNS)?;
        let mut columns = [(); 4].map(|()| StringBuilder::new());
        for row in 0..args.number_rows {
            let text = |at: usize| given.text(at, row);
            let lookup = |key: &str| given.attribute(row, key);
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
                service_tier: text(13),
                attribute: Some(&lookup),
                ..Names::default()
            };
            let naming = &self.policy.naming;
            columns[0].append_option(naming.workflow_by_rule(&names));
            let place = naming.place(&names);
            columns[1].append_option(place.account);
            columns[2].append_option(place.region);
            columns[3].append_option(place.pool);
        }
        let columns = columns.map(|mut column| Arc::new(column.finish()) as ArrayRef).to_vec();
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields(), columns, None)?)))
    }
}
