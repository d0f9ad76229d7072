//! `assemble(span)`: the aggregate that makes the runs of a group of spans.
//!
//! It only collects: the rules are in the pure crate `assembly`. The argument is a struct of the
//! columns named in `sql/jobs/10_assembled.sql`, the group holds all traces that may share a run, and
//! the result is the struct of `assembled.rs`. The state is the list of a group's spans, so that partial groups travel,
//! merge and spill like any other aggregate's.

use std::{mem::size_of, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, StructArray, UInt64Array},
    buffer::OffsetBuffer,
    compute::{concat, interleave, take},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};
use plimsoll_assembly::assemble_runs;

use super::{
    assembled::{AssembledBuilder, data_type},
    span_view::SpanColumns,
};

/// The function, for registration.
pub(super) fn udaf() -> AggregateUDF {
    AggregateUDF::from(Assemble { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Assemble {
    signature: Signature,
}

impl AggregateUDFImpl for Assemble {
    fn name(&self) -> &str {
        "assemble"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::Struct(_)] => Ok(types.to_vec()),
            _ => plan_err!("assemble takes one struct of span columns"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(data_type())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(args.input_fields[0].data_type().clone(), true);
        let name = format_state_name(args.name, "spans");
        Ok(vec![Arc::new(Field::new_list(name, item, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneRun(Collected::default())))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Collected::default()))
    }
}

/// Where a span lies: its batch and its row therein.
type Place = (u32, u32);

/// The spans collected so far, and the groups that they belong to.
#[derive(Debug, Default)]
struct Collected {
    batches: Vec<StructArray>,
    groups: Vec<Vec<Place>>,
    bytes: usize,
}

impl Collected {
    fn add(
        &mut self,
        spans: &StructArray,
        group_of: impl Iterator<Item = Option<usize>>,
        groups: usize,
    ) -> Result<()> {
        if self.groups.len() < groups {
            self.groups.resize_with(groups, Vec::new);
        }
        let Ok(batch) = u32::try_from(self.batches.len()) else {
            return exec_err!("too many batches of spans in one round");
        };
        let mut kept = 0;
        for (row, group) in group_of.enumerate() {
            if let Some(group) = group {
                self.groups[group].push((batch, row as u32));
                kept += 1;
            }
        }
        if kept > 0 {
            self.bytes += spans.get_array_memory_size() + kept * size_of::<Place>();
            self.batches.push(spans.clone());
        }
        Ok(())
    }

    /// Takes groups out; when none is left the batches go too.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<Vec<Place>>, Vec<StructArray>) {
        let groups = emit_to.take_needed(&mut self.groups);
        let batches = if self.groups.is_empty() {
            self.bytes = 0;
            std::mem::take(&mut self.batches)
        } else {
            self.batches.clone()
        };
        (groups, batches)
    }

    fn assembled(&mut self, emit_to: EmitTo) -> Result<StructArray> {
        let (groups, batches) = self.take(emit_to);
        let columns = batches.iter().map(SpanColumns::of).collect::<Result<Vec<_>>>()?;
        let mut builder = AssembledBuilder::default();
        for places in groups {
            let spans = places
                .iter()
                .map(|&(batch, row)| columns[batch as usize].span(row as usize))
                .collect::<Vec<_>>();
            builder.push(&assemble_runs(spans));
        }
        builder.finish()
    }

    fn spans(&mut self, emit_to: EmitTo) -> Result<ListArray> {
        let (groups, batches) = self.take(emit_to);
        let lengths = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
        let places: Vec<(usize, usize)> =
            groups.into_iter().flatten().map(|(batch, row)| (batch as usize, row as usize)).collect();
        let arrays: Vec<&dyn Array> = batches.iter().map(|b| b as &dyn Array).collect();
        let values = match arrays.as_slice() {
            [] => return exec_err!("assemble has no spans to hand on"),
            [one] => {
                let rows: UInt64Array = places.iter().map(|&(_, row)| row as u64).collect();
                take(*one, &rows, None)?
            }
            many => interleave(many, &places)?,
        };
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        Ok(ListArray::try_new(item, lengths, values, None)?)
    }
}

impl GroupsAccumulator for Collected {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let groups = group_indices
            .iter()
            .enumerate()
            .map(|(row, &group)| filter.is_none_or(|f| f.is_valid(row) && f.value(row)).then_some(group));
        self.add(values[0].as_struct(), groups, total_num_groups)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let lists = values[0].as_list::<i32>();
        let offsets = lists.value_offsets();
        let mut groups = vec![None; lists.values().len()];
        for (row, &group) in group_indices.iter().enumerate() {
            if lists.is_valid(row) {
                groups[offsets[row] as usize..offsets[row + 1] as usize].fill(Some(group));
            }
        }
        self.add(lists.values().as_struct(), groups.into_iter(), total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(self.assembled(emit_to)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(self.spans(emit_to)?)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let spans = &values[0];
        let item = Arc::new(Field::new_list_field(spans.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, spans.len()));
        let nulls = filter.map(|f| (0..f.len()).map(|row| f.is_valid(row) && f.value(row)).collect());
        Ok(vec![Arc::new(ListArray::try_new(item, offsets, Arc::clone(spans), nulls)?)])
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes + self.groups.capacity() * size_of::<Vec<Place>>()
    }
}

/// A query without GROUP BY: every span is of one run.
#[derive(Debug)]
struct OneRun(Collected);

impl Accumulator for OneRun {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let spans = values[0].as_struct();
        self.0.add(spans, std::iter::repeat_n(Some(0), spans.len()), 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for spans in states[0].as_list::<i32>().iter().flatten() {
            self.update_batch(&[spans])?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let one: Vec<&dyn Array> = self.0.batches.iter().map(|b| b as &dyn Array).collect();
        if one.is_empty() {
            return exec_err!("assemble has no spans to hand on");
        }
        let spans = concat(&one)?;
        let item = Arc::new(Field::new_list_field(spans.data_type().clone(), true));
        let list = ListArray::try_new(item, OffsetBuffer::from_lengths([spans.len()]), spans, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let array = self.0.assembled(EmitTo::All)?;
        ScalarValue::try_from_array(&array, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.0.bytes
    }
}
