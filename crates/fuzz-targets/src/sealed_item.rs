//! Fuzz target for the items of the shared tier. Input: the bytes that a server returns; the same bytes as what a forger puts under a
//! correct checksum; and as a content.

use bytes::Bytes;
use kasoku_shared::sealed::{CHUNKS_MAX, CONTENT_BYTES_MAX, ITEM_OVERHEAD_BYTES, Manifest, Opened, Sealer};
use xxhash_rust::xxh3::xxh3_128;

/// A limit at which few bytes need chunks.
const ITEM_BYTES_MAX: usize = ITEM_OVERHEAD_BYTES + 300;
const ID: u128 = 7;

pub(crate) fn run(data: &[u8]) {
    let open = Sealer::new(None).unwrap();
    let secret = Sealer::new(Some(b"a secret of 25 characters")).unwrap();
    for sealer in [&open, &secret] {
        returned(sealer, Bytes::copy_from_slice(data));
        comes_back(sealer, data);
    }
    for kind in ["whole", "chunks"] {
        let item = forged(kind, data);
        assert!(secret.open(item.clone()).is_err(), "a checksum alone");
        returned(&open, item);
    }
}

/// Whatever is opened has one form only.
fn returned(sealer: &Sealer, item: Bytes) {
    match sealer.open(item.clone()) {
        Ok(Opened::Whole(content)) => {
            let again = sealer.seal(vec![content], item.len() + ITEM_OVERHEAD_BYTES, || ID).unwrap();
            assert_eq!(again.first.concat(), item);
        }
        Ok(Opened::Chunks(manifest)) => numbers_agree(&manifest),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn numbers_agree(manifest: &Manifest) {
    assert!((1..=CONTENT_BYTES_MAX).contains(&manifest.length()));
    assert!((1..=CHUNKS_MAX).contains(&manifest.chunks()));
    let lengths = || (0..manifest.chunks()).map(|number| manifest.chunk_bytes(number).unwrap());
    assert_eq!(lengths().sum::<u64>(), manifest.length());
    assert!(lengths().all(|length| length > 0 && length <= lengths().next().unwrap()));
    assert_eq!(manifest.chunk_bytes(manifest.chunks()), None);
    assert!(manifest.check(0, &Bytes::from_static(b"not what an unknown digest is of")).is_err());
}

/// What is sealed is opened, whole or in chunks, and each chunk fits its own place only.
fn comes_back(sealer: &Sealer, data: &[u8]) {
    let content = Bytes::copy_from_slice(data);
    let Ok(sealed) = sealer.seal(vec![content.clone()], ITEM_BYTES_MAX, || ID) else { return };
    match sealer.open(sealed.first.concat().into()).unwrap() {
        Opened::Whole(read) => assert_eq!(read, content),
        Opened::Chunks(manifest) => {
            numbers_agree(&manifest);
            let chunks: Vec<Bytes> = sealed.chunks.iter().map(|pieces| pieces.concat().into()).collect();
            assert_eq!((manifest.id(), manifest.chunks() as usize), (ID, chunks.len()));
            assert_eq!(chunks.concat(), content);
            for (number, chunk) in chunks.iter().enumerate() {
                for (other, is_it) in chunks.iter().map(|other| (other, other == chunk)) {
                    assert_eq!(manifest.check(number as u32, other).is_ok(), is_it);
                }
            }
        }
    }
}

/// What a forger writes where no secret is set.
fn forged(kind: &str, content: &[u8]) -> Bytes {
    let words = format!("KASOKU/1 {kind} xxh3-128");
    let digest = xxh3_128(&[words.as_bytes(), b"\r\n", content].concat());
    [format!("{words} {digest:032x}\r\n").as_bytes(), content].concat().into()
}
