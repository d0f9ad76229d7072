//! The arguments of SQL functions that ask the match rules: named columns of spans, then `attributes`.
//!
//! Where no rule looks at other attributes, that last argument is replaced by null while planning, so that
//! the widest column of `spans` is not even read.

use arrow::{
    array::{Array, ArrayRef, AsArray, MapArray, StringArray},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{Expr, ScalarUDF, expr::ScalarFunction, simplify::ExprSimplifyResult},
};

/// One batch of the arguments.
pub(super) struct RuleColumns<'a> {
    named: Vec<&'a StringArray>,
    attributes: Option<&'a MapArray>,
}

impl<'a> RuleColumns<'a> {
    /// The arguments as arrays; `names` are those of the columns before the attributes.
    pub(super) fn of(arguments: &'a [ArrayRef], names: &[&str]) -> Result<Self> {
        let named = arguments.iter().zip(names).filter_map(|(array, _)| array.as_string_opt::<i32>());
        let (named, attributes): (Vec<_>, _) = (named.collect(), arguments.get(names.len()));
        match attributes {
            Some(attributes) if named.len() == names.len() => {
                Ok(Self { named, attributes: attributes.as_map_opt() })
            }
            _ => exec_err!("match rules want texts for {}, and attributes", names.join(", ")),
        }
    }

    /// The text of the column at a place.
    pub(super) fn text(&self, at: usize, row: usize) -> Option<&'a str> {
        let column = self.named[at];
        column.is_valid(row).then(|| column.value(row))
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, row: usize, key: &str) -> Option<&'a str> {
        let map = self.attributes.filter(|map| map.is_valid(row))?;
        let offsets = map.value_offsets();
        let keys = map.keys().as_string_opt::<i32>()?;
        let values = map.values().as_string_opt::<i32>()?;
        (offsets[row] as usize..offsets[row + 1] as usize)
            .find(|&at| keys.value(at) == key && values.is_valid(at))
            .map(|at| values.value(at))
    }
}

/// The types that a function takes: texts for `names`, then a map or null.
pub(super) fn coerce(function: &str, names: &[&str], types: &[DataType]) -> Result<Vec<DataType>> {
    match types.split_at_checked(names.len()) {
        Some((_, [attributes @ (DataType::Map(..) | DataType::Null)])) => {
            let mut wanted = vec![DataType::Utf8; names.len()];
            wanted.push(attributes.clone());
            Ok(wanted)
        }
        _ => plan_err!("{function} takes {} and attributes", names.join(", ")),
    }
}

/// The call without its attributes, where the rules need none.
pub(super) fn without_attributes(
    mut arguments: Vec<Expr>,
    needed: bool,
    udf: impl FnOnce() -> ScalarUDF,
) -> ExprSimplifyResult {
    let null = Expr::Literal(ScalarValue::Null, None);
    match arguments.last_mut() {
        Some(last) if !needed && *last != null => {
            *last = null;
            let call = ScalarFunction::new_udf(udf().into(), arguments);
            ExprSimplifyResult::Simplified(Expr::ScalarFunction(call))
        }
        _ => ExprSimplifyResult::Original(arguments),
    }
}
