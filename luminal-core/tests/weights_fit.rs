//! Do weights fit a model? Names, prefixes, tied weights, types, and what is left over.

use luminal_core::dtype::Dtype;
use luminal_core::plan::{Param, Text};
use luminal_core::weights::Weights;

fn param(name: &str, dtype: Dtype, shape: &[usize]) -> Param {
    let name = Text::Owned(name.into());
    Param { name, aliases: vec![].into(), dtype, shape: shape.to_vec().into(), packings: vec![].into() }
}

fn tensors(list: &[(&str, Dtype, &[usize])]) -> Weights {
    let make = |(name, dtype, shape): &(&str, Dtype, &[usize])| {
        let bytes = dtype.bytes() * shape.iter().product::<usize>();
        (name.to_string(), *dtype, shape.to_vec(), vec![0; bytes])
    };
    Weights::from_tensors(list.iter().map(make)).unwrap()
}

#[test]
fn one_error_lists_all_that_does_not_fit() {
    let weights = tensors(&[
        ("bias", Dtype::I32, &[10]),
        ("extra", Dtype::F32, &[1]),
        ("good", Dtype::F32, &[3]),
        ("weight", Dtype::F32, &[10, 255]),
    ]);
    let params = [
        param("absent", Dtype::F32, &[2, 3]),
        param("bias", Dtype::F32, &[10]),
        param("good", Dtype::F32, &[3]),
        param("gone", Dtype::Bool, &[]),
        param("weight", Dtype::F32, &[10, 256]),
    ];
    let message = weights.check("classify", &params).unwrap_err().to_string();
    let expected = "\
weight file `in memory` does not fit the model `classify`:
  missing: `absent` f32 [2, 3]
  missing: `gone` bool []
  `bias`: the model asks for type F32 or F16 or BF16, the file has I32
  `weight`: the model asks for shape [10, 256], the file has [10, 255]
  unused: `extra` F32 [1]
  a model that does not use a tensor may have forgotten it; if it is right, say so with `weights.allow_unused()`, or \
leave the tensor out with `weights.retain(..)`";
    assert_eq!(message, expected);
}

#[test]
fn what_a_model_does_not_use_is_an_error_unless_allowed() {
    let weights = tensors(&[("bias", Dtype::F32, &[1]), ("weight", Dtype::F32, &[1])]);
    let params = [param("weight", Dtype::F32, &[1])];
    let message = weights.check("m", &params).unwrap_err().to_string();
    assert!(message.contains("unused: `bias` F32 [1]") && message.contains("allow_unused()"), "{message}");
    weights.clone().allow_unused().check("m", &params).unwrap();
    weights.retain(|name| name != "bias").check("m", &params).unwrap();
}

fn tied(name: &str, field: &str, shape: &[usize]) -> Param {
    Param { aliases: vec![Text::Owned(field.into())].into(), ..param(name, Dtype::F32, shape) }
}

fn floats(list: &[(&str, [f32; 2])]) -> Weights {
    let bytes = |values: &[f32; 2]| values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Weights::from_tensors(list.iter().map(|(name, values)| (*name, Dtype::F32, vec![2], bytes(values))))
        .unwrap()
}

/// W09 of the cases.
#[test]
fn tied_weights() {
    let params = [tied("embed.weight", "lm_head.weight", &[2])];
    // Without the copy, with an equal one, under the other name alone.
    floats(&[("embed.weight", [1.0, 2.0])]).check("m", &params).unwrap();
    floats(&[("embed.weight", [1.0, 2.0]), ("lm_head.weight", [1.0, 2.0])]).check("m", &params).unwrap();
    floats(&[("lm_head.weight", [1.0, 2.0])]).check("m", &params).unwrap();
    // With one that differs: the model would be wrong.
    let differing = floats(&[("embed.weight", [1.0, 2.0]), ("lm_head.weight", [1.0, 3.0])]);
    let message = differing.check("m", &params).unwrap_err().to_string();
    assert!(message.contains("`lm_head.weight`: the model ties it to `embed.weight`"), "{message}");
    assert!(message.contains("two different tensors: declare it without `tied`"), "{message}");
    // Not tied, and not there.
    let untied = [param("embed.weight", Dtype::F32, &[2]), param("lm_head.weight", Dtype::F32, &[2])];
    let message = floats(&[("embed.weight", [1.0, 2.0])]).check("m", &untied).unwrap_err().to_string();
    assert!(message.contains("missing: `lm_head.weight` f32 [2]"), "{message}");
}

/// W10 of the cases.
#[test]
fn a_missing_prefix_is_named_with_all_that_is_missing_and_unused() {
    let weights = tensors(&[("layers.0.w", Dtype::F32, &[1]), ("layers.1.w", Dtype::F32, &[1])]);
    let params = [param("model.layers.0.w", Dtype::F32, &[1]), param("model.layers.1.w", Dtype::F32, &[1])];
    let message = weights.check("m", &params).unwrap_err().to_string();
    for part in [
        "missing: `model.layers.0.w` f32 [1]",
        "missing: `model.layers.1.w` f32 [1]",
        "unused: `layers.0.w` F32 [1]",
        "unused: `layers.1.w` F32 [1]",
        "every name is there without the prefix `model.`",
        "use `weights.with_prefix(\"model.\")`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let table = [("layers.0.w", "model.layers.0.w"), ("layers.1.w", "model.layers.1.w")];
    weights.clone().rename_table(table).unwrap().check("m", &params).unwrap();
    weights.with_prefix("model.").unwrap().check("m", &params).unwrap();
}

#[test]
fn a_quantised_tensor_fits_only_its_own_format() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/weights/formats.gguf");
    let weights = Weights::open(path).unwrap().retain(|name| name == "Q4_1");
    let planes = |format: &str, rows: usize, blocks: usize| {
        [("d", vec![rows, blocks]), ("m", vec![rows, blocks]), ("qs", vec![rows, blocks, 16])]
            .map(|(plane, shape)| param(&format!("Q4_1@{format}.{plane}"), Dtype::F32, &shape))
    };
    weights.check("m", &planes("Q4_1", 3, 16)).unwrap();
    let message = weights.check("m", &planes("Q4_1", 3, 8)).unwrap_err().to_string();
    assert!(
        message.ends_with("`Q4_1`: the model asks for shape [3, 256], the file has [3, 512]"),
        "{message}"
    );
    let message = weights.check("m", &planes("Q5_1", 3, 16)).unwrap_err().to_string();
    let expected = "`Q4_1`: the model asks for type Q5_1, the file has Q4_1: write `Q4_1` in place of `Q5_1` in the type";
    assert!(message.ends_with(expected), "{message}");
    let missing =
        weights.clone().retain(|_| false).check("m", &planes("Q4_1", 3, 16)).unwrap_err().to_string();
    assert!(missing.ends_with("missing: `Q4_1` Q4_1 [3, 512]"), "{missing}");

    // As floats only if asked for.
    let floats = [param("Q4_1", Dtype::F32, &[3, 512])];
    let message = weights.check("m", &floats).unwrap_err().to_string();
    assert!(
        message.contains("the file has Q4_1: write `Q4_1` in the type, as in `Linear<I, O, Q4_1>`"),
        "{message}"
    );
    assert!(message.contains("weights.dequantise()"), "{message}");
    weights.clone().dequantise().check("m", &floats).unwrap();
}

#[test]
fn a_prefix_is_found_and_can_be_mended() {
    let long = tensors(&[("model.a.w", Dtype::F32, &[1]), ("model.b.w", Dtype::F32, &[2])]);
    let short = tensors(&[("a.w", Dtype::F32, &[1]), ("b.w", Dtype::F32, &[2])]);
    let asks_short = [param("a.w", Dtype::F32, &[1]), param("b.w", Dtype::F32, &[2])];
    let asks_long = [param("model.a.w", Dtype::F32, &[1]), param("model.b.w", Dtype::F32, &[2])];

    let message = long.check("m", &asks_short).unwrap_err().to_string();
    assert!(message.contains("the file has `model.a.w`, the model asks for `a.w`"), "{message}");
    assert!(message.contains("weights.without_prefix(\"model.\")"), "{message}");
    long.without_prefix("model.").unwrap().check("m", &asks_short).unwrap();

    let message = short.check("m", &asks_long).unwrap_err().to_string();
    assert!(message.contains("the file has `a.w`, the model asks for `model.a.w`"), "{message}");
    assert!(message.contains("weights.with_prefix(\"model.\")"), "{message}");
    short.with_prefix("model.").unwrap().check("m", &asks_long).unwrap();
}

#[test]
fn no_prefix_is_made_up() {
    // `raw` ends with `w`, and only one of the two names lacks the prefix.
    let weights = tensors(&[("raw", Dtype::F32, &[1]), ("a.w", Dtype::F32, &[1]), ("b", Dtype::F32, &[1])]);
    for missing in ["w2", "aw", "w"] {
        let message = weights.check("m", &[param("a.w", Dtype::F32, &[1]), param(missing, Dtype::F32, &[1])]);
        let message = message.unwrap_err().to_string();
        assert_eq!(message.contains("prefix"), missing == "w", "{message}");
        assert!(!message.contains("`ra`"), "{message}");
    }
    let message = weights.check("m", &[param("a.w", Dtype::F32, &[1]), param("x.b", Dtype::F32, &[1])]);
    let message = message.unwrap_err().to_string();
    assert!(!message.contains("prefix"), "the other name would be lost: {message}");
}

#[test]
fn renaming_two_tensors_to_one_name_is_an_error() {
    let weights = tensors(&[("x.a", Dtype::F32, &[1]), ("a", Dtype::F32, &[1])]);
    let message = weights.without_prefix("x.").unwrap_err().to_string();
    assert!(message.contains("two tensors are renamed to `a`"), "{message}");
}
