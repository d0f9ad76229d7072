//! `KeyValue` and `AnyValue`, borrowed from the body.
//!
//! Lists and maps stay bytes until somebody asks for their elements, so content that is never stored
//! costs no more than the skip over it.

use super::{Cursor, Malformed};

/// An attribute as sent; the key need not be UTF-8 yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: Value<'a>,
}

/// An `AnyValue`. Text need not be UTF-8 yet; lists and maps are the bytes of their message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Empty,
    Text(&'a [u8]),
    Flag(bool),
    Int(i64),
    Double(f64),
    List(&'a [u8]),
    Map(&'a [u8]),
    Bytes(&'a [u8]),
}

impl<'a> Attribute<'a> {
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut attribute = Self { key: &[], value: Value::Empty };
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            match tag {
                1 => attribute.key = field.bytes(tag)?,
                2 => attribute.value.read(field.bytes(tag)?)?,
                _ => {}
            }
        }
        Ok(attribute)
    }
}

impl<'a> Value<'a> {
    /// Reads an `AnyValue`; of several members the last stands, and none leaves what was.
    #[inline]
    pub(crate) fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        while let Some((tag, field)) = cursor.next()? {
            *self = match tag {
                1 => Value::Text(field.bytes(tag)?),
                2 => Value::Flag(field.varint(tag)? != 0),
                3 => Value::Int(field.varint(tag)?.cast_signed()),
                4 => Value::Double(f64::from_bits(field.fixed64(tag)?)),
                5 => Value::List(field.bytes(tag)?),
                6 => Value::Map(field.bytes(tag)?),
                7 => Value::Bytes(field.bytes(tag)?),
                _ => continue,
            };
        }
        Ok(())
    }
}

/// The elements of a list, or the attributes of a map: both are field 1, repeated.
pub(crate) fn elements(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    let mut cursor = Cursor::new(bytes);
    std::iter::from_fn(move || {
        loop {
            match cursor.next().transpose()? {
                Ok((1, field)) => return Some(field.bytes(1)),
                Ok(_) => {}
                Err(malformed) => {
                    // Nothing after a fault can be trusted.
                    cursor = Cursor::new(&[]);
                    return Some(Err(malformed));
                }
            }
        }
    })
}
