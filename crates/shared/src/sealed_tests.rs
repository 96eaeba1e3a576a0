//! Scenarios of sealed items: what is written is read, and nothing else is.

use super::*;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

const SECRET: &[u8] = b"0123456789abcdef";
/// A limit at which a few kilobytes need chunks.
const ITEM_BYTES_MAX: usize = ITEM_OVERHEAD_BYTES + 1000;
const ID: u128 = 0xfeed;

fn open_to_all() -> Sealer {
    Sealer::new(None).unwrap()
}

fn secret() -> Sealer {
    Sealer::new(Some(SECRET)).unwrap()
}

fn both() -> [Sealer; 2] {
    [open_to_all(), secret()]
}

fn joined(pieces: &[Bytes]) -> Bytes {
    pieces.concat().into()
}

/// Content in which no two positions are alike.
fn content(length: usize) -> Bytes {
    (0..length).flat_map(|n| (n as u32).to_be_bytes()).take(length).collect()
}

fn sealed(sealer: &Sealer, content: &Bytes) -> Sealed {
    // In two parts, which need not end where a chunk does.
    let mut rest = content.clone();
    let first = rest.split_to(content.len() / 3);
    sealer.seal(vec![first, rest], ITEM_BYTES_MAX, || ID).unwrap()
}

fn manifest(sealer: &Sealer, item: &Bytes) -> Manifest {
    match sealer.open(item.clone()) {
        Ok(Opened::Chunks(manifest)) => manifest,
        other => panic!("no manifest: {other:?}"),
    }
}

/// The content that is read back; the number of chunks.
fn opened(sealer: &Sealer, sealed: &Sealed) -> (Bytes, usize) {
    match sealer.open(joined(&sealed.first)).unwrap() {
        Opened::Whole(content) => (content, 0),
        Opened::Chunks(manifest) => {
            let chunks: Vec<Bytes> = sealed.chunks.iter().map(|chunk| joined(chunk)).collect();
            assert_eq!((manifest.id(), manifest.chunks() as usize), (ID, chunks.len()));
            for (number, chunk) in chunks.iter().enumerate() {
                assert_eq!(manifest.check(number as u32, chunk), Ok(()), "chunk {number}");
            }
            let content = joined(&chunks);
            assert_eq!(manifest.length(), content.len() as u64);
            (content, chunks.len())
        }
    }
}

/// An item with a correct checksum: what a forger writes where there is no secret.
fn forged(kind: &str, content: &str) -> Bytes {
    let digest = xxh3_128(format!("KASOKU/1 {kind} xxh3-128\r\n{content}").as_bytes());
    format!("KASOKU/1 {kind} xxh3-128 {digest:032x}\r\n{content}").into()
}

#[test]
fn an_item_is_what_another_program_writes() {
    // PHP: hash('xxh128', "KASOKU/1 whole xxh3-128\r\nhello")
    let item = "KASOKU/1 whole xxh3-128 6b54fdcd2b875efa0f691310d73ed012\r\nhello";
    let parts = || vec![Bytes::from("hel"), Bytes::from("lo")];
    assert_eq!(joined(&open_to_all().seal(parts(), 1 << 20, || ID).unwrap().first), item);
    assert_eq!(open_to_all().open(item.into()), Ok(Opened::Whole("hello".into())));
    // Python: hmac.new(b"0123456789abcdef", b"KASOKU/1 whole hmac-sha256\r\nhello", "sha256").hexdigest()
    let digest = "25af7673f4ab03c49b501941a9ee3f8912d6037ab1ec70abaf6575a4e320238a";
    let item = format!("KASOKU/1 whole hmac-sha256 {digest}\r\nhello");
    assert_eq!(joined(&secret().seal(parts(), 1 << 20, || ID).unwrap().first), item);
    assert_eq!(secret().open(item.into()), Ok(Opened::Whole("hello".into())));
}

#[test]
fn content_of_any_size_comes_back() {
    let room = ITEM_BYTES_MAX - ITEM_OVERHEAD_BYTES;
    for sealer in both() {
        let whole_max = room - sealer.first_line_bytes(Kind::Whole);
        for (length, chunks) in [
            (0, 0),
            (1, 0),
            (whole_max, 0),
            (whole_max + 1, 1),
            (room, 1),
            (room + 1, 2),
            (2 * room - 1, 2),
            (2 * room, 2),
            (7 * room + 5, 8),
        ] {
            let content = content(length);
            let sealed = sealed(&sealer, &content);
            assert_eq!(opened(&sealer, &sealed), (content, chunks), "{length}");
            let sizes = sealed.chunks.iter().chain([&sealed.first]).map(|pieces| joined(pieces).len());
            assert!(sizes.max() <= Some(room), "{length}");
        }
    }
}

#[test]
fn bodies_are_not_copied() {
    let content = content(2500);
    let sealed = open_to_all().seal(vec![content.clone()], ITEM_BYTES_MAX, || ID).unwrap();
    let first = sealed.chunks.first().and_then(|chunk| chunk.first()).unwrap();
    assert_eq!(first.as_ptr(), content.as_ptr());
    let item = joined(&open_to_all().seal(vec![content.slice(..9)], ITEM_BYTES_MAX, || ID).unwrap().first);
    let Ok(Opened::Whole(read)) = open_to_all().open(item.clone()) else { panic!("not whole") };
    assert_eq!(read.as_ptr(), item[item.len() - 9..].as_ptr());
}

#[test]
fn what_no_item_can_hold_is_not_sealed() {
    let seal = |length: usize, item_bytes_max| {
        open_to_all().seal(vec![Bytes::from(vec![0; length])], item_bytes_max, || ID).map(|sealed| sealed.chunks.len())
    };
    assert_eq!(seal(0, ITEM_OVERHEAD_BYTES), Err(TooLarge));
    assert_eq!(seal(1, 0), Err(TooLarge));
    // A manifest of 1,000 bytes has room for 23 chunks.
    assert!(matches!(seal(23_000, ITEM_BYTES_MAX), Ok(23)));
    assert_eq!(seal(40_000, ITEM_BYTES_MAX), Err(TooLarge));
    // More chunks than allowed, though their manifest has room.
    let room = 150_000;
    let parts = |count: usize| vec![Bytes::from(vec![0; room]); count];
    let seal = |count| open_to_all().seal(parts(count), room + ITEM_OVERHEAD_BYTES, || ID);
    assert_eq!(seal(CHUNKS_MAX as usize + 1), Err(TooLarge));
    // More than a gibibyte. The parts share their memory.
    let mebibyte = Bytes::from(vec![0; 1 << 20]);
    let mut parts = vec![mebibyte; 1025];
    assert_eq!(open_to_all().seal(parts.clone(), 1 << 21, || ID), Err(TooLarge));
    parts.truncate(3);
    assert!(open_to_all().seal(parts, 1 << 21, || ID).is_ok());
}

#[test]
fn no_byte_can_change_and_none_can_be_missing() {
    for sealer in both() {
        let (small, large) = (sealed(&sealer, &content(40)), sealed(&sealer, &content(2500)));
        for item in [joined(&small.first), joined(&large.first)] {
            for at in 0..item.len() {
                assert!(sealer.open(item.slice(..at)).is_err(), "cut at {at}");
                for bit in 0..8 {
                    let mut changed = item.to_vec();
                    changed[at] ^= 1 << bit;
                    assert!(sealer.open(changed.into()).is_err(), "bit {bit} of {at}");
                }
            }
            assert!(sealer.open([&item[..], b"\n"].concat().into()).is_err());
        }
        let manifest = manifest(&sealer, &joined(&large.first));
        let chunk = joined(&large.chunks[1]);
        for at in 0..chunk.len() {
            let mut changed = chunk.to_vec();
            changed[at] ^= 1;
            assert!(manifest.check(1, &changed.into()).is_err());
            assert_eq!(manifest.check(1, &chunk.slice(..at)), Err(Damaged::Cut));
        }
        assert_eq!(manifest.check(1, &[&chunk[..], b"x"].concat().into()), Err(Damaged::Cut));
    }
}

#[test]
fn a_chunk_fits_only_its_own_place() {
    for sealer in both() {
        let sealed = sealed(&sealer, &content(2500));
        let manifest = manifest(&sealer, &joined(&sealed.first));
        let [first, second, last] = &sealed.chunks[..] else { panic!("three chunks") };
        assert!(matches!(manifest.check(1, &joined(first)), Err(Damaged::Checksum | Damaged::Forged)));
        assert!(matches!(manifest.check(0, &joined(second)), Err(Damaged::Checksum | Damaged::Forged)));
        assert_eq!(manifest.check(0, &joined(last)), Err(Damaged::Cut));
        for number in [3, CHUNKS_MAX, u32::MAX] {
            assert_eq!(
                (manifest.check(number, &joined(last)), manifest.chunk_bytes(number)),
                (Err(Damaged::Limits), None)
            );
        }
        assert_eq!([0, 1, 2].map(|number| manifest.chunk_bytes(number)), [Some(1000), Some(1000), Some(500)]);
    }
}

#[test]
fn a_manifest_is_not_read_as_content_nor_content_as_a_manifest() {
    for sealer in both() {
        let item = joined(&sealed(&sealer, &content(2500)).first);
        let swapped = String::from_utf8(item.to_vec()).unwrap().replacen("chunks", "whole", 1);
        assert!(matches!(sealer.open(swapped.into()), Err(Damaged::Checksum | Damaged::Forged)));
        let (_, manifest) = item.split_at(sealer.first_line_bytes(Kind::Chunks));
        let whole = sealer.seal(vec![manifest.to_vec().into()], 1 << 20, || ID).unwrap();
        let swapped = String::from_utf8(joined(&whole.first).to_vec()).unwrap().replacen("whole", "chunks", 1);
        assert!(matches!(sealer.open(swapped.into()), Err(Damaged::Checksum | Damaged::Forged)));
    }
}

#[test]
fn only_the_same_secret_opens_an_item() {
    let item = |sealer: &Sealer| joined(&sealed(sealer, &content(40)).first);
    let other = Sealer::new(Some(b"fedcba9876543210")).unwrap();
    assert_eq!(secret().open(item(&other)), Err(Damaged::Forged));
    assert_eq!(secret().open(item(&open_to_all())), Err(Damaged::Forged), "a checksum is no HMAC");
    assert_eq!(open_to_all().open(item(&secret())), Err(Damaged::Foreign));
    assert_eq!(Sealer::new(Some(&[0; SECRET_BYTES_MIN - 1])).err(), Some(SecretTooShort));
    assert!(!format!("{:?}", secret()).contains("0123") && format!("{:?}", secret()).contains("HmacSha256"));
}

#[test]
fn an_error_says_what_is_wrong() {
    let open = |item: &str| open_to_all().open(Bytes::copy_from_slice(item.as_bytes()));
    let digest = "6b54fdcd2b875efa0f691310d73ed012";
    assert_eq!(open(""), Err(Damaged::Cut));
    assert_eq!(open("KASO"), Err(Damaged::Cut));
    assert_eq!(open("KASOKU/1 whole xxh3-128 6b54"), Err(Damaged::Cut));
    assert_eq!(open("<html>"), Err(Damaged::Foreign));
    assert_eq!(open(&format!("KASOKU/2 whole xxh3-128 {digest}\r\nhello")), Err(Damaged::Version));
    assert_eq!(open(&format!("KASOKU/11 whole xxh3-128 {digest}\r\nhello")), Err(Damaged::Version));
    assert_eq!(open(&format!("KASOKU/1 part xxh3-128 {digest}\r\nhello")), Err(Damaged::Foreign));
    assert_eq!(open(&format!("KASOKU/1 whole md5 {digest}\r\nhello")), Err(Damaged::Foreign));
    assert_eq!(open(&format!("KASOKU/1 whole xxh3-128 {digest} \r\nhello")), Err(Damaged::Foreign));
    assert_eq!(open(&format!("KASOKU/1 whole xxh3-128 {}\r\nhello", digest.to_uppercase())), Err(Damaged::Checksum));
    assert_eq!(open(&format!("KASOKU/1 {}\r\n", "x".repeat(200))), Err(Damaged::Foreign));
    assert_eq!(open(&format!("KASOKU/1 whole xxh3-128 {digest}\r\nhell")), Err(Damaged::Checksum));
}

#[test]
fn a_forger_s_numbers_are_refused() {
    let id = "0".repeat(32);
    let digests = |count: usize| format!("{}\r\n", "a".repeat(32)).repeat(count);
    let open = |head: &str, digests: &str| open_to_all().open(forged("chunks", &format!("{head}\r\n{digests}")));
    let head = |length: &str, chunk: &str| format!("Id: {id}\r\nLength: {length}\r\nChunk-Length: {chunk}\r\n");
    let Ok(Opened::Chunks(manifest)) = open(&head("10", "4"), &digests(3)) else { panic!("a manifest") };
    assert_eq!((manifest.length(), manifest.chunks()), (10, 3));
    for count in [0, 2, 4] {
        assert_eq!(open(&head("10", "4"), &digests(count)), Err(Damaged::Manifest), "{count} digests for 3 chunks");
    }
    for (length, chunk) in [("0", "4"), ("4", "0"), ("-4", "4"), ("+4", "4"), ("", "4"), ("04", "4"), ("4", " 4")] {
        assert_eq!(open(&head(length, chunk), &digests(1)), Err(Damaged::Manifest), "{length:?}, {chunk:?}");
    }
    let huge = u64::MAX.to_string();
    for (length, chunk) in [("1073741825", "1073741824"), (&huge, "1"), (&huge, &huge), ("5", &huge), ("4097", "1")] {
        assert_eq!(open(&head(length, chunk), &digests(1)), Err(Damaged::Limits), "{length}, {chunk}");
    }
    assert_eq!(open(&head(&format!("{huge}0"), "4"), &digests(1)), Err(Damaged::Limits));
    assert!(matches!(open(&head("4096", "1"), &digests(4096)), Ok(Opened::Chunks(_))));
    assert_eq!(open(&head("4", "4"), &digests(1).to_uppercase()), Err(Damaged::Manifest));
    assert_eq!(open(&head("4", "4"), &format!("{}\n\n", "a".repeat(32))), Err(Damaged::Manifest));
    let order = format!("Length: 4\r\nId: {id}\r\nChunk-Length: 4\r\n");
    assert_eq!(open(&order, &digests(1)), Err(Damaged::Manifest));
    assert_eq!(open(&head("4", "4").replacen(&id, "12", 1), &digests(1)), Err(Damaged::Manifest));
    assert_eq!(open(&head("4", "4").replacen(&id, &"g".repeat(32), 1), &digests(1)), Err(Damaged::Manifest));
}

/// What is opened is the only form of its content.
fn reseals(sealer: &Sealer, item: &Bytes) {
    if let Ok(Opened::Whole(content)) = sealer.open(item.clone()) {
        let again = sealer.seal(vec![content], item.len() + ITEM_OVERHEAD_BYTES, || ID).unwrap();
        assert_eq!(joined(&again.first), item);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "(KASOKU/1 (whole|chunks) (xxh3-128|hmac-sha256) )?[ -~\r\n]*") {
        for sealer in both() {
            for item in [Bytes::from(bytes.clone()), text.clone().into()] {
                reseals(&sealer, &item);
            }
        }
    }

    #[test]
    fn no_manifest_makes_it_panic(
        id in "[0-9a-f]{32}|[0-9a-g]*",
        (length, chunk_length) in ("[0-9]{1,12}|[0-9 -]*", "[0-9]{1,12}|[0-9 -]*"),
        lines in proptest::collection::vec("[0-9a-f]{32}", 0..6),
    ) {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let item = forged("chunks", &format!("Id: {id}\r\nLength: {length}\r\nChunk-Length: {chunk_length}\r\n\r\n{lines}"));
        if let Ok(Opened::Chunks(manifest)) = open_to_all().open(item.clone()) {
            let sum: u64 = (0..manifest.chunks()).filter_map(|number| manifest.chunk_bytes(number)).sum();
            assert_eq!(sum, manifest.length());
            assert_eq!(manifest.chunk_bytes(manifest.chunks()), None);
        }
    }

    #[test]
    fn any_content_comes_back(bytes: Vec<u8>, limit in 1usize..400) {
        for sealer in both() {
            let content = Bytes::from(bytes.clone());
            if let Ok(sealed) = sealer.seal(vec![content.clone()], ITEM_OVERHEAD_BYTES + limit, || ID) {
                assert_eq!(opened(&sealer, &sealed).0, content);
            }
        }
    }
}
