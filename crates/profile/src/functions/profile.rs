//! `profile(numbers, weight)`: for each field of a struct of numbers what is known of it: how many values,
//! their weight, mean, exact percentiles, greatest and spread.
//!
//! Gives a list with a row per field that has a value, called `metric` after the field; so one pass over
//! rows profiles all of their numbers. A value of weight w counts w times, save in `n`, which is the values
//! seen. Missing numbers are not values. What a percentile is is told in `sample.rs`.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, Float64Builder, Int64Builder, ListArray, StringBuilder, StructArray},
    buffer::OffsetBuffer,
    compute::cast,
    datatypes::{DataType, Field, FieldRef, Fields},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
};

use super::{
    one_group::OneGroup,
    sample::{Sample, Sums},
    samples::{Finish, Samples, state_fields},
};

/// Levels of `p50`, `p95` and `p99`.
const LEVELS: [f64; 3] = [0.5, 0.95, 0.99];

/// The function, for registration.
pub(super) fn udaf() -> AggregateUDF {
    AggregateUDF::from(Profile { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Profile {
    signature: Signature,
}

/// A row of the answer.
fn fields() -> Fields {
    let double = |name: &str| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        Field::new("metric", DataType::Utf8, true),
        Field::new("n", DataType::Int64, true),
        double("weight"),
        double("mean"),
        double("p50"),
        double("p95"),
        double("p99"),
        double("max"),
        double("cv2"),
    ])
}

fn row() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Struct(fields()), true))
}

fn metrics(argument: &DataType) -> Result<&Fields> {
    match argument {
        DataType::Struct(fields)
            if fields.iter().all(|field| field.data_type().is_numeric() || field.data_type().is_null()) =>
        {
            Ok(fields)
        }
        other => plan_err!(
            "profile takes a struct of numbers, as in profile(named_struct('x', x), 1), not {other}"
        ),
    }
}

impl AggregateUDFImpl for Profile {
    fn name(&self) -> &str {
        "profile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [numbers, weight] if weight.is_numeric() || weight.is_null() => {
                metrics(numbers)?;
                Ok(vec![numbers.clone(), DataType::Float64])
            }
            _ => plan_err!("profile takes a struct of numbers and a weight"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(row()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(state_fields(args.name, metrics(args.input_fields[0].data_type())?.len()))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(Samples::new(Metrics::of(&args)?))))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Samples::new(Metrics::of(&args)?)))
    }
}

/// Names of the fields that are profiled.
#[derive(Debug, Clone)]
struct Metrics(Vec<String>);

impl Metrics {
    fn of(args: &AccumulatorArgs) -> Result<Self> {
        let fields = metrics(args.expr_fields[0].data_type())?;
        Ok(Self(fields.iter().map(|field| field.name().clone()).collect()))
    }
}

impl Finish for Metrics {
    fn columns(&self, arguments: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Option<ArrayRef>)> {
        let [numbers, weight] = arguments else {
            return exec_err!("profile got {} arguments", arguments.len());
        };
        let columns = numbers.as_struct().columns().iter().map(|column| cast(column, &DataType::Float64));
        Ok((columns.collect::<Result<_, _>>()?, Some(Arc::clone(weight))))
    }

    fn width(&self) -> usize {
        self.0.len()
    }

    fn finish(&self, samples: &mut [Sample]) -> Result<ArrayRef> {
        let mut metrics = StringBuilder::new();
        let mut counts = Int64Builder::new();
        let mut figures = [(); 7].map(|()| Float64Builder::new());
        let mut lengths = Vec::with_capacity(samples.len() / self.width().max(1));
        for group in samples.chunks_exact_mut(self.width().max(1)) {
            let mut length = 0;
            for (metric, sample) in self.0.iter().zip(group) {
                let Some(percentiles) = sample.percentiles(&LEVELS) else {
                    continue;
                };
                let sums = sample.sums();
                length += 1;
                metrics.append_value(metric);
                counts.append_value(i64::try_from(sample.len()).unwrap_or(i64::MAX));
                let told = [Some(sums.weight), Some(sums.total / sums.weight)]
                    .into_iter()
                    .chain(percentiles.into_iter().map(Some))
                    .chain([sample.values().iter().copied().max_by(f64::total_cmp), spread(&sums)]);
                for (builder, figure) in figures.iter_mut().zip(told) {
                    builder.append_option(figure);
                }
            }
            lengths.push(length);
        }
        let mut columns: Vec<ArrayRef> = vec![Arc::new(metrics.finish()), Arc::new(counts.finish())];
        columns.extend(figures.map(|mut figure| Arc::new(figure.finish()) as ArrayRef));
        let rows = StructArray::try_new(fields(), columns, None)?;
        Ok(Arc::new(ListArray::try_new(row(), OffsetBuffer::from_lengths(lengths), Arc::new(rows), None)?))
    }
}

/// Squared coefficient of variation; none where the mean is not positive.
fn spread(sums: &Sums) -> Option<f64> {
    let spread = sums.squares * sums.weight / (sums.total * sums.total) - 1.0;
    (sums.total > 0.0).then_some(spread.max(0.0))
}
