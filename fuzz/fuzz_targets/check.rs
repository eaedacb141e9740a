//! What must hold for every file.

use luminal_core::weights::{MetadataValue, Weights};

pub fn file(bytes: Vec<u8>) {
    let weights = match Weights::from_named_bytes("fuzzed", bytes) {
        Ok(weights) => weights,
        Err(error) => {
            assert!(error.to_string().starts_with("weight file `fuzzed`: "), "{error}");
            return;
        }
    };
    for name in weights.names() {
        let tensor = weights.tensor(name).expect("a name that is listed");
        let elements: usize = tensor.shape.iter().product();
        let (block, bytes) = tensor.dtype.block();
        assert_eq!(tensor.data.len(), elements / block * bytes, "{name}");
    }
    for key in weights.metadata_keys() {
        walk(weights.metadata(key).expect("a key that is listed"));
    }
}

fn walk(value: MetadataValue) {
    if let Some(array) = value.as_array() {
        assert_eq!(array.iter().inspect(|value| walk(*value)).count(), array.len());
    }
}
