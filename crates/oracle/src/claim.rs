//! What a response says it is, and the bytes that prove it.
//!
//! Each response of the origin carries a [`Claim`] in the field X-Oracle: which representation it is, when it was made, and for which
//! request. The body repeats the representation every 64 bytes, numbered, so that any slice of it can be checked: the claim and the
//! offset determine each byte. Head and body must agree, so a cache that mixes them is detected, and wrong bytes still say where they
//! come from ([`Representation::parse`]).

/// The field that carries the claim.
pub const FIELD: &str = "X-Oracle";

/// The length of one record of a body, in bytes: 64 of them in 4 KiB.
pub const RECORD_BYTES: usize = 64;

/// Which bytes a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// The page's number.
    pub page: u32,
    /// The visitor whose label it has; 0: it is the same for all.
    pub visitor: u16,
    /// Which variant.
    pub variant: u8,
    /// Which version.
    pub version: u32,
    /// The length of the whole body, in bytes.
    pub length: u64,
}

/// What a response says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The representation.
    pub of: Representation,
    /// When the origin chose the version, in microseconds of the world's clock.
    pub at: u64,
    /// The request that the origin answered.
    pub by: u64,
    /// A number that no other response of the origin has.
    pub serial: u64,
    /// The other page that an unsafe request changed, and its new version.
    pub also: Option<(u32, u32)>,
}

impl Representation {
    fn record(&self, number: u64) -> [u8; RECORD_BYTES] {
        let text = format!(
            "{:08x} {:04x} {:02x} {:08x} {:08x} {:08x} ",
            self.page, self.visitor, self.variant, self.version, self.length, number
        );
        let mut record = [b'.'; RECORD_BYTES];
        record[..text.len()].copy_from_slice(text.as_bytes());
        record[RECORD_BYTES - 1] = b'\n';
        record
    }

    /// Reads the record at the start of `bytes`: the representation that it belongs to, and the number of the record.
    pub fn parse(bytes: &[u8]) -> Option<(Self, u64)> {
        let text = std::str::from_utf8(bytes.get(..44)?).ok()?;
        let is_aligned = [8, 13, 16, 25, 34, 43].iter().all(|space| text.as_bytes()[*space] == b' ');
        let text = is_aligned.then_some(text)?;
        let numbers: Vec<u64> =
            text.split_terminator(' ').map_while(|part| u64::from_str_radix(part, 16).ok()).collect();
        let [page, visitor, variant, version, length, number] = *numbers.as_slice() else { return None };
        let (page, visitor, variant) = (page as u32, visitor as u16, variant as u8);
        Some((Self { page, visitor, variant, version: version as u32, length }, number))
    }

    /// `count` bytes, from the offset `first` on; both lie within the length.
    pub fn bytes(&self, first: u64, count: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(count as usize + 2 * RECORD_BYTES);
        let start = first / RECORD_BYTES as u64;
        let end = (first + count).div_ceil(RECORD_BYTES as u64);
        let mut record = self.record(start);
        for number in start..end {
            // Records differ only in the eight digits of their number.
            record[35..43].copy_from_slice(&hex(number));
            out.extend_from_slice(&record);
        }
        let skip = (first % RECORD_BYTES as u64) as usize;
        out.drain(..skip);
        out.truncate(count as usize);
        out
    }

    /// Compares bytes that lie at the offset `first` with what they must be; `Err` says what they are instead.
    pub fn matches(&self, first: u64, bytes: &[u8]) -> Result<(), String> {
        let count = bytes.len() as u64;
        if first + count > self.length {
            return Err(format!("wrong length: bytes {first}+{count} of a body of {} bytes", self.length));
        }
        let expected = self.bytes(first, count);
        if expected == bytes {
            return Ok(());
        }
        let Some(at) = expected.iter().zip(bytes).position(|(one, other)| one != other) else { return Ok(()) };
        // Foreign bytes may have records at other offsets, so look for one at each place near the difference.
        let near = at.saturating_sub(RECORD_BYTES)..(at + RECORD_BYTES).min(bytes.len());
        let found = near
            .filter_map(|from| Self::parse(bytes.get(from..)?).map(|(of, number)| (of, number, from)))
            .find(|(of, number, from)| of != self || number * RECORD_BYTES as u64 != first + *from as u64);
        let what = match found {
            Some((of, ..)) if of.page != self.page => "mixed objects",
            Some((of, ..)) if of.visitor != self.visitor => "foreign visitor",
            Some((of, ..)) if of.version != self.version => "mixed versions",
            Some((of, ..)) if of.variant != self.variant => "mixed variants",
            Some((of, ..)) if of.length != self.length => "wrong length",
            Some(_) => "bytes in the wrong place",
            None => "bytes of no page",
        };
        Err(format!("{what}: expected {self:?}, byte {} is of {found:?}", first + at as u64))
    }

    /// The entity tag, without `W/`.
    pub fn etag(&self) -> String {
        format!("\"{:x}-{:x}-{:x}-{:x}\"", self.page, self.visitor, self.variant, self.version)
    }
}

fn hex(number: u64) -> [u8; 8] {
    std::array::from_fn(|place| b"0123456789abcdef"[(number >> (28 - 4 * place)) as usize & 15])
}

impl Claim {
    /// The value of the field.
    pub fn write(&self) -> String {
        let Self { of, at, by, serial, also } = self;
        let Representation { page, visitor, variant, version, length } = of;
        let also = also.map(|(page, version)| format!(" {page} {version}")).unwrap_or_default();
        format!("{page} {visitor} {variant} {version} {length} {at} {by} {serial}{also}")
    }

    /// Reads the value of the field.
    pub fn parse(value: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = value.split(' ').map(|part| part.parse().ok()).collect();
        let numbers = numbers?;
        let (&[page, visitor, variant, version, length, at, by, serial], rest) = numbers.split_first_chunk::<8>()?;
        let also = match rest {
            [page, version] => Some((*page as u32, *version as u32)),
            _ => None,
        };
        let (page, visitor, variant, version) = (page as u32, visitor as u16, variant as u8, version as u32);
        Some(Self { of: Representation { page, visitor, variant, version, length }, at, by, serial, also })
    }
}
