//! As `safetensors`, for bytes behind the magic number of GGUF.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod check;

fuzz_target!(|bytes: &[u8]| {
    let mut file = b"GGUF".to_vec();
    // The seeds have the number already.
    file.extend(bytes.strip_prefix(b"GGUF").unwrap_or(bytes));
    check::file(file)
});
