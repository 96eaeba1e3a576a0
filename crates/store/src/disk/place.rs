//! Where objects are: the values by which the index, the log and the segments speak of them.

/// Where an object's head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Location {
    /// The number of the segment.
    pub(super) segment: u32,
    /// The offset of the head in the segment's file, in bytes.
    pub(super) offset: u64,
}

/// What the index knows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The keyed hash of the key.
    pub(super) hash: u64,
    /// The lower half of the variant's number.
    pub(super) variant: u32,
    pub(super) segment: u32,
    /// The offset of the head, in units of [`UNIT_BYTES`].
    offset: u32,
    /// The length of head and chunks where the chunks follow the head, otherwise of the head alone; in units of [`UNIT_BYTES`].
    length: u32,
    /// The length of the head in units of [`UNIT_BYTES`], and flags above [`HEAD_BITS`].
    head: u32,
    /// When the object was stored, in seconds since 1970.
    pub(super) stored: u32,
}

/// The unit of offsets and lengths, in bytes: heads begin and end at multiples of it.
pub(super) const UNIT_BYTES: u64 = 8;

/// How many bits of [`Place::head`] are the length.
const HEAD_BITS: u32 = 24;
const HEAD_MASK: u32 = (1 << HEAD_BITS) - 1;

/// Two bits that count hits, up to three.
const HITS_SHIFT: u32 = HEAD_BITS;
const HITS_MAX: u32 = 3;

/// Whether the origin must confirm the object before it is used.
const UNCONFIRMED: u32 = 1 << (HEAD_BITS + 2);

/// The length of a place in files, in bytes.
pub(super) const PLACE_BYTES: usize = 32;

impl Place {
    /// `None` where a number is too large for a place.
    pub(super) fn new(
        (hash, variant): (u64, u64),
        at: Location,
        (head_bytes, bytes): (u64, u64),
        stored_ms: u64,
    ) -> Option<Self> {
        let units = |bytes: u64| u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok();
        let head = units(head_bytes).filter(|head| *head <= HEAD_MASK)?;
        Some(Self {
            hash,
            variant: variant as u32,
            segment: at.segment,
            offset: units(at.offset)?,
            length: units(bytes)?,
            head,
            stored: u32::try_from(stored_ms / 1000).unwrap_or(u32::MAX),
        })
    }

    pub(super) fn location(&self) -> Location {
        Location { segment: self.segment, offset: u64::from(self.offset) * UNIT_BYTES }
    }

    /// The length of the head, in bytes.
    pub(super) fn head_bytes(&self) -> u64 {
        u64::from(self.head & HEAD_MASK) * UNIT_BYTES
    }

    /// The length of head and chunks where the chunks follow the head, otherwise of the head alone, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.length) * UNIT_BYTES
    }

    pub(super) fn hits(&self) -> u32 {
        (self.head >> HITS_SHIFT) & HITS_MAX
    }

    pub(super) fn count_hit(&mut self) {
        self.set_hits(self.hits() + 1);
    }

    pub(super) fn set_hits(&mut self, hits: u32) {
        self.head = self.head & !(HITS_MAX << HITS_SHIFT) | hits.min(HITS_MAX) << HITS_SHIFT;
    }

    pub(super) fn is_unconfirmed(&self) -> bool {
        self.head & UNCONFIRMED != 0
    }

    #[must_use]
    pub(super) fn unconfirmed(self) -> Self {
        Self { head: self.head | UNCONFIRMED, ..self }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.to_le_bytes());
        for number in [self.variant, self.segment, self.offset, self.length, self.head, self.stored] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(super) fn read(input: &mut super::input::Input<'_>) -> Option<Self> {
        Some(Self {
            hash: input.u64()?,
            variant: input.u32()?,
            segment: input.u32()?,
            offset: input.u32()?,
            length: input.u32()?,
            head: input.u32()?,
            stored: input.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let at = Location { segment: 9, offset: 4096 };
        let mut place = Place::new((1, 2), at, (100, 1000), 1_700_000_000_123).unwrap();
        assert_eq!((place.location(), place.head_bytes(), place.bytes()), (at, 104, 1000));
        for hits in [1, 2, 3, 3] {
            place.count_hit();
            assert_eq!(place.hits(), hits);
        }
        let place = place.unconfirmed();
        let mut bytes = Vec::new();
        place.write(&mut bytes);
        assert_eq!(bytes.len(), PLACE_BYTES);
        let read = Place::read(&mut Input(&bytes)).unwrap();
        assert_eq!(read, place);
        assert!(read.is_unconfirmed());
        assert_eq!((read.head_bytes(), read.stored), (104, 1_700_000_000));
    }

    #[test]
    fn what_is_too_large_has_no_place() {
        let at = |offset| Location { segment: 0, offset };
        assert!(Place::new((1, 2), at(u64::from(u32::MAX) * 8), (8, 8), 0).is_some());
        assert!(Place::new((1, 2), at(u64::from(u32::MAX) * 8 + 8), (8, 8), 0).is_none());
        assert!(Place::new((1, 2), at(0), (8 << 24, 8), 0).is_none());
    }
}
