//! Replays the seeds of the fuzz targets, and checks that libFuzzer has exactly these targets.
//!
//! `make fuzz` looks for new inputs; each run of these tests replays every input that was worth keeping once, with debug assertions and
//! overflow checks as in `make fuzz`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use kasoku_fuzz_targets::{TARGETS, run};
use std::path::{Path, PathBuf};
use std::{fs, panic};

/// A larger collection would be a corpus, which belongs in `fuzz/corpus`, outside of the repository.
const SEEDS_MAX: usize = 450;
const SEED_BYTES_MAX: u64 = 8 * 1024;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names(folder: &str) -> Vec<String> {
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files(&fuzz().join(folder)).iter().map(name).collect()
}

fn replay(name: &str) {
    let seeds = files(&fuzz().join("seeds").join(name));
    assert!(seeds.len() >= 3, "{name} has too few seeds");
    for seed in seeds {
        let bytes = fs::read(&seed).unwrap();
        let held = panic::catch_unwind(|| run(name, &bytes));
        assert!(held.is_ok(), "{} breaks a property", seed.display());
    }
}

macro_rules! replayed {
    ($($name:ident)*) => {
        /// The targets whose seeds are replayed here.
        const REPLAYED: &[&str] = &[$(stringify!($name)),*];
        mod what_is_sent_as {
            $(#[test] fn $name() { super::replay(stringify!($name)) })*
        }
    };
}

replayed! {
    proxy_protocol request_head request_target url_path rewrite response_head chunked_body form fastcgi_records cgi_head links list
    cache_control targeted_field age date vary entity_tag range content_range exchange difference sealed_item
    shared_value configuration
}

#[test]
fn each_target_is_replayed_has_seeds_and_is_given_to_libfuzzer() {
    let mut all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(all, REPLAYED);
    all.sort_unstable();
    assert_eq!(names("seeds"), all);
    assert_eq!(names("fuzz_targets"), all);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in all {
        let source = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        let expected =
            format!("libfuzzer_sys::fuzz_target!(|data: &[u8]| kasoku_fuzz_targets::run(\"{name}\", data));\n");
        assert_eq!(source, format!("#![no_main]\n{expected}"));
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n")), "{name}");
    }
}

#[test]
fn seeds_stay_few_and_small() {
    let seeds: Vec<PathBuf> = files(&fuzz().join("seeds")).iter().flat_map(|folder| files(folder)).collect();
    assert!(seeds.len() <= SEEDS_MAX, "{} seeds", seeds.len());
    for seed in seeds {
        assert!(fs::metadata(&seed).unwrap().len() <= SEED_BYTES_MAX, "{}", seed.display());
    }
}
