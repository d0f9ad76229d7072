//! The protobuf wire format: tags, varints, fixed and length-delimited fields.
//!
//! Knows no message. Invariant: never reads past its bytes and never recurses deeper than
//! [`MAX_GROUPS`], whatever the bytes are.

/// Nested groups that are skipped before a body counts as malformed; OTLP has no groups at all.
const MAX_GROUPS: usize = 32;

/// Bytes that are not the protobuf message they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("it ends in the middle of a field")]
    Truncated,
    #[error("a number has more than ten bytes")]
    LongVarint,
    #[error("a field has an impossible tag")]
    BadTag,
    #[error("field {0} is of another kind than such a request has there")]
    WrongKind(u32),
    #[error("groups are nested too deep")]
    TooDeep,
}

/// One field's content, by its wire type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
    Group,
}

impl<'a> Field<'a> {
    /// A string, bytes or message.
    #[inline]
    pub(crate) fn bytes(self, tag: u32) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed::WrongKind(tag)),
        }
    }

    /// A varint.
    #[inline]
    pub(crate) fn varint(self, tag: u32) -> Result<u64, Malformed> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(Malformed::WrongKind(tag)),
        }
    }

    /// A fixed64 or double.
    #[inline]
    pub(crate) fn fixed64(self, tag: u32) -> Result<u64, Malformed> {
        match self {
            Self::Fixed64(value) => Ok(value),
            _ => Err(Malformed::WrongKind(tag)),
        }
    }
}

/// A field's number, its value, and the bytes of both.
pub(crate) type Whole<'a> = (u32, Field<'a>, &'a [u8]);

/// Reads the fields of one message in the order in which they stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and content; none at the end of the message.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Field<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (tag, wire) = self.tag()?;
        Ok(Some((tag, self.content(tag, wire, 0)?)))
    }

    /// The next field's number and content, and all of its bytes, the tag included.
    pub(crate) fn next_whole(&mut self) -> Result<Option<Whole<'a>>, Malformed> {
        let before = self.rest;
        Ok(self.next()?.map(|(tag, field)| (tag, field, &before[..before.len() - self.rest.len()])))
    }

    #[inline(always)]
    fn tag(&mut self) -> Result<(u32, u32), Malformed> {
        let key = u32::try_from(self.varint()?).map_err(|_| Malformed::BadTag)?;
        match key >> 3 {
            0 => Err(Malformed::BadTag),
            tag => Ok((tag, key & 7)),
        }
    }

    #[inline(always)]
    fn content(&mut self, tag: u32, wire: u32, depth: usize) -> Result<Field<'a>, Malformed> {
        match wire {
            0 => Ok(Field::Varint(self.varint()?)),
            1 => Ok(Field::Fixed64(u64::from_le_bytes(self.array()?))),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| Malformed::Truncated)?;
                Ok(Field::Bytes(self.take(len)?))
            }
            3 => self.skip_group(tag, depth),
            5 => {
                self.take(4)?;
                Ok(Field::Fixed32)
            }
            _ => Err(Malformed::BadTag),
        }
    }

    /// Skips to the end of a group, a form that protobuf has given up but readers must pass over.
    #[cold]
    fn skip_group(&mut self, group: u32, depth: usize) -> Result<Field<'a>, Malformed> {
        if depth == MAX_GROUPS {
            return Err(Malformed::TooDeep);
        }
        loop {
            match self.tag()? {
                (tag, 4) if tag == group => return Ok(Field::Group),
                (_, 4) => return Err(Malformed::BadTag),
                (tag, wire) => self.content(tag, wire, depth + 1)?,
            };
        }
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Malformed> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            // The tenth byte holds the 64th bit alone.
            if index == 9 && *byte > 1 {
                return Err(Malformed::LongVarint);
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { Malformed::Truncated } else { Malformed::LongVarint })
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Field, Malformed};

    /// Numbers of one, two and ten bytes come out as sent; an eleventh byte is refused.
    #[test]
    fn varints() -> Result<(), Malformed> {
        let mut cursor = Cursor::new(&[0x08, 0x05, 0x10, 0xac, 0x02]);
        assert!(matches!(cursor.next()?, Some((1, Field::Varint(5)))));
        assert!(matches!(cursor.next()?, Some((2, Field::Varint(300)))));
        assert!(cursor.next()?.is_none());
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert!(matches!(Cursor::new(&minus_one).next()?, Some((1, Field::Varint(u64::MAX)))));
        assert_eq!(Cursor::new(&[0x08; 1]).next().err(), Some(Malformed::Truncated));
        assert_eq!(Cursor::new(&[0xff; 12]).next().err(), Some(Malformed::LongVarint));
        Ok(())
    }

    /// A group is passed over; one that never ends, or ends as another, is malformed.
    #[test]
    fn groups() -> Result<(), Malformed> {
        let mut cursor = Cursor::new(&[0x0b, 0x10, 0x01, 0x0c, 0x18, 0x07]);
        assert!(matches!(cursor.next()?, Some((1, Field::Group))));
        assert!(matches!(cursor.next()?, Some((3, Field::Varint(7)))));
        assert_eq!(Cursor::new(&[0x0b, 0x14]).next().err(), Some(Malformed::BadTag));
        assert_eq!(Cursor::new(&[0x0b; 40]).next().err(), Some(Malformed::TooDeep));
        Ok(())
    }
}
