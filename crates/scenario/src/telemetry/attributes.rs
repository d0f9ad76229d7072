//! A list of attributes under construction.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// Attributes, in the order in which they were set.
#[derive(Debug)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(super) fn text(&mut self, key: &str, text: impl Into<String>) {
        self.set(key, Value::StringValue(text.into()));
    }

    pub(super) fn whole(&mut self, key: &str, number: impl TryInto<i64>) {
        self.set(key, Value::IntValue(number.try_into().unwrap_or(i64::MAX)));
    }

    pub(super) fn real(&mut self, key: &str, number: f64) {
        self.set(key, Value::DoubleValue(number));
    }

    pub(super) fn truth(&mut self, key: &str, truth: bool) {
        self.set(key, Value::BoolValue(truth));
    }

    /// A list of one text: the shape that the conventions give to headers and finish reasons.
    pub(super) fn listed(&mut self, key: &str, text: impl Into<String>) {
        let value = AnyValue { value: Some(Value::StringValue(text.into())) };
        self.set(key, Value::ArrayValue(ArrayValue { values: vec![value] }));
    }

    pub(super) fn into_inner(self) -> Vec<KeyValue> {
        self.0
    }

    fn set(&mut self, key: &str, value: Value) {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        });
    }
}
