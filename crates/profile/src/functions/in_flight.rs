//! `in_flight(started, ended)`: how many intervals were open at once, minute by minute.
//!
//! Gives a list with a row per minute in which any was: `bucket`, its start; `max`, the most at one instant;
//! `mean`, weighted by time over the whole minute. Intervals are half-open, so that an end and a start at
//! the same instant do not overlap; one without length, or without a start or an end, is not there.
//! Invariant: an exact sweep in whole microseconds, whatever the order of the rows.

use std::{mem::size_of, sync::Arc};

use arrow::{
    array::{
        Array, ArrayBuilder, ArrayRef, AsArray, BooleanArray, Float64Builder, Int64Array, Int64Builder,
        ListArray, StructArray, TimestampMicrosecondBuilder,
    },
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, FieldRef, Fields, Int64Type, TimestampMicrosecondType},
};
use datafusion::{
    common::Result,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{
    one_group::{OneGroup, row_by_row},
    time::instant,
};

const MINUTE: i64 = 60_000_000;

/// The function, for registration.
pub(super) fn udaf() -> AggregateUDF {
    let signature = Signature::exact(vec![instant(), instant()], Volatility::Immutable);
    AggregateUDF::from(InFlight { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct InFlight {
    signature: Signature,
}

/// A row of the answer.
fn fields() -> Fields {
    Fields::from(vec![
        Field::new("bucket", instant(), true),
        Field::new("max", DataType::Int64, true),
        Field::new("mean", DataType::Float64, true),
    ])
}

fn row() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Struct(fields()), true))
}

fn micros() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Int64, true))
}

impl AggregateUDFImpl for InFlight {
    fn name(&self) -> &str {
        "in_flight"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(row()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let list = |what| {
            Arc::new(Field::new(format_state_name(args.name, what), DataType::List(micros()), true))
                as FieldRef
        };
        Ok(vec![list("started"), list("ended")])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(Sweeps::default())))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Sweeps::default()))
    }
}

/// Where the intervals of one group start, and where they end.
#[derive(Debug, Default)]
struct Edges {
    started: Vec<i64>,
    ended: Vec<i64>,
}

/// The groups' intervals.
#[derive(Debug, Default)]
struct Sweeps {
    groups: Vec<Edges>,
    held: usize,
}

impl Sweeps {
    fn grow(&mut self, groups: usize) {
        if self.groups.len() < groups {
            self.groups.resize_with(groups, Edges::default);
        }
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Edges> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.held -= groups.iter().map(|edges| edges.started.len()).sum::<usize>();
        groups
    }
}

impl GroupsAccumulator for Sweeps {
    fn update_batch(
        &mut self,
        arguments: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let started = arguments[0].as_primitive::<TimestampMicrosecondType>();
        let ended = arguments[1].as_primitive::<TimestampMicrosecondType>();
        for (row, &group) in group_indices.iter().enumerate() {
            let known = started.is_valid(row) && ended.is_valid(row);
            let wanted = filter.is_none_or(|f| f.is_valid(row) && f.value(row));
            if known && wanted && started.value(row) < ended.value(row) {
                self.groups[group].started.push(started.value(row));
                self.groups[group].ended.push(ended.value(row));
                self.held += 1;
            }
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let (started, ended) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (row, &group) in group_indices.iter().enumerate() {
            if started.is_valid(row) && ended.is_valid(row) {
                let starts = started.value(row);
                self.held += starts.len();
                self.groups[group].started.extend_from_slice(starts.as_primitive::<Int64Type>().values());
                let ends = ended.value(row);
                self.groups[group].ended.extend_from_slice(ends.as_primitive::<Int64Type>().values());
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut minutes = Minutes::default();
        let lengths: Vec<usize> = self.take(emit_to).into_iter().map(|edges| minutes.sweep(edges)).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(minutes.bucket.finish().with_timezone("UTC")),
            Arc::new(minutes.max.finish()),
            Arc::new(minutes.mean.finish()),
        ];
        let rows = StructArray::try_new(fields(), columns, None)?;
        Ok(Arc::new(ListArray::try_new(row(), OffsetBuffer::from_lengths(lengths), Arc::new(rows), None)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit_to);
        let lists = |of: fn(&Edges) -> &Vec<i64>| -> Result<ArrayRef> {
            let offsets = OffsetBuffer::from_lengths(groups.iter().map(|edges| of(edges).len()));
            let values: Vec<i64> = groups.iter().flat_map(of).copied().collect();
            Ok(Arc::new(ListArray::try_new(micros(), offsets, Arc::new(Int64Array::from(values)), None)?))
        };
        Ok(vec![lists(|edges| &edges.started)?, lists(|edges| &edges.ended)?])
    }

    fn convert_to_state(
        &self,
        arguments: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        row_by_row(Self::default(), arguments, filter)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.groups.capacity() * size_of::<Edges>() + 4 * self.held * size_of::<i64>()
    }
}

/// Minutes of all groups, one after the other.
#[derive(Default)]
struct Minutes {
    bucket: TimestampMicrosecondBuilder,
    max: Int64Builder,
    mean: Float64Builder,
}

/// The minute that a sweep is in.
struct Minute {
    number: i64,
    max: i64,
    /// Intervals times microseconds.
    area: i128,
}

impl Minutes {
    /// Sweeps over one group's edges; says how many minutes came of it.
    fn sweep(&mut self, edges: Edges) -> usize {
        let Edges { mut started, mut ended } = edges;
        started.sort_unstable();
        ended.sort_unstable();
        let before = self.max.len();
        let mut open: Option<Minute> = None;
        let (mut starts, mut level, mut at) = (0, 0, i64::MIN);
        for (ends, &end) in ended.iter().enumerate() {
            // Every start before this end comes first; one at the same instant comes after it.
            while let Some(&start) = started.get(starts).filter(|start| **start < end) {
                self.hold(&mut open, at, start, level);
                (at, starts) = (start, starts + 1);
                level = (starts - ends) as i64;
            }
            self.hold(&mut open, at, end, level);
            at = end;
            level = (starts - ends) as i64 - 1;
        }
        self.close(open);
        self.max.len() - before
    }

    /// `level` intervals were open from one instant to another.
    fn hold(&mut self, open: &mut Option<Minute>, mut from: i64, to: i64, level: i64) {
        if level == 0 {
            return;
        }
        while from < to {
            let number = from.div_euclid(MINUTE);
            let until = to.min((number + 1).saturating_mul(MINUTE));
            if open.as_ref().is_none_or(|minute| minute.number != number) {
                self.close(open.replace(Minute { number, max: 0, area: 0 }));
            }
            if let Some(minute) = open {
                minute.max = minute.max.max(level);
                minute.area += i128::from(level) * i128::from(until - from);
            }
            from = until;
        }
    }

    fn close(&mut self, minute: Option<Minute>) {
        if let Some(Minute { number, max, area }) = minute {
            self.bucket.append_value(number.saturating_mul(MINUTE));
            self.max.append_value(max);
            self.mean.append_value(area as f64 / MINUTE as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, TimestampMicrosecondArray};
    use proptest::prelude::*;

    use super::*;

    fn swept(intervals: &[(i64, i64)]) -> Vec<(i64, i64, f64)> {
        let mut minutes = Minutes::default();
        let edges = Edges {
            started: intervals.iter().map(|i| i.0).collect(),
            ended: intervals.iter().map(|i| i.1).collect(),
        };
        minutes.sweep(edges);
        let bucket: TimestampMicrosecondArray = minutes.bucket.finish();
        let (max, mean): (Int64Array, Float64Array) = (minutes.max.finish(), minutes.mean.finish());
        (0..bucket.len()).map(|at| (bucket.value(at) / MINUTE, max.value(at), mean.value(at))).collect()
    }

    /// An end and a start at the same instant do not overlap, and a minute holds only its own part.
    #[test]
    fn half_open() {
        let half = MINUTE / 2;
        assert_eq!(swept(&[(0, half), (half, 3 * half)]), [(0, 1, 1.0), (1, 1, 0.5)]);
        assert_eq!(swept(&[(0, 3 * half), (half, MINUTE)]), [(0, 2, 1.5), (1, 1, 0.5)]);
        assert_eq!(swept(&[]), []);
    }

    /// Minutes in which nothing was open have no row, before 1970 neither.
    #[test]
    fn gaps() {
        let second = MINUTE / 60;
        assert_eq!(
            swept(&[(-second, second), (5 * MINUTE, 5 * MINUTE + 6 * second)]),
            [(-1, 1, 1.0 / 60.0), (0, 1, 1.0 / 60.0), (5, 1, 0.1)]
        );
    }

    proptest! {
        /// The sweep says what counting at every start says, and loses no time.
        #[test]
        fn counts(intervals in prop::collection::vec((0_i64..300, 1_i64..200), 1..30)) {
            let second = MINUTE / 60;
            let intervals: Vec<(i64, i64)> =
                intervals.iter().map(|(from, length)| (from * second, (from + length) * second)).collect();
            let minutes = swept(&intervals);
            for &(minute, max, _) in &minutes {
                let (from, to) = (minute * MINUTE, (minute + 1) * MINUTE);
                let open_at = |t: i64| intervals.iter().filter(|i| i.0 <= t && t < i.1).count() as i64;
                let starts = intervals.iter().map(|i| i.0).filter(|t| (from..to).contains(t));
                prop_assert_eq!(Some(max), starts.chain([from]).map(open_at).max());
            }
            let total: f64 = minutes.iter().map(|m| m.2).sum();
            let length: i64 = intervals.iter().map(|i| i.1 - i.0).sum();
            prop_assert!((total - length as f64 / MINUTE as f64).abs() < 1e-9);
        }
    }
}
