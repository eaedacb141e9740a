//! Any bytes: weights or an error, and if weights, then every tensor is as large as it says.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod check;

fuzz_target!(|bytes: &[u8]| check::file(bytes.to_vec()));
