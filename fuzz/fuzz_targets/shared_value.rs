#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kasoku_fuzz_targets::run("shared_value", data));
