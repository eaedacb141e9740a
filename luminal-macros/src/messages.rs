//! The wording of every error that the macros report.

pub const DIM_NEEDS_MAX: &str = "a free dimension needs a bound: `#[dim(max = 64)]`";
pub const DIM_IS_UNIT_STRUCT: &str =
    "a free dimension is a struct without fields and parameters: `#[dim(max = 64)] pub struct Batch;`";
pub const MODULE_IS_STRUCT: &str =
    "`Module` can be derived for structs only: weights always have the same fields";
pub const OUTPUT_IS_STRUCT: &str =
    "`Output` can be derived for structs only: a model always returns the same tensors";
pub const OUTPUT_HAS_NAMES: &str =
    "`Output` needs named fields, which become the fields of the views; for unnamed ones return a tuple";
pub const OUTPUT_IS_CONCRETE: &str =
    "`Output` needs a struct without generic parameters: a model has concrete sizes";
pub const PARAM_KEYS: &str = "expected `name = \"..\"`, `tied = \"..\"`, `value = ..` or `present = ..`";
pub const PARAM_VALUE_ALONE: &str = "`value` makes the field no weight, so the other keys mean nothing";
pub const PARAM_NAME_AND_TIED: &str = "`tied` holds the whole name already: remove `name`";
pub const PARAM_NAME_EMPTY: &str = "a name in the weight file is not empty";
pub const MODEL_IS_FUNCTION: &str = "`#[model]` belongs on a function";
pub const MODEL_KEYS: &str = "expected `#[model]` or `#[model(name = \"other_name\")]`";
pub const MODEL_NAME: &str =
    "the name of a model consists of letters, digits and `_`, and does not start with a digit";
pub const MODEL_IS_PLAIN: &str = "a model is an ordinary function: it runs in the build script, so `async`, `unsafe`, `const` and `extern` mean \
     nothing";
pub const MODEL_HAS_NO_SELF: &str = "a model is a free function: take the weights as an argument `&T`";
pub const ARGUMENT_NEEDS_NAME: &str = "give this argument a name: it becomes part of `run` and of messages";

pub fn model_is_generic(name: &str) -> String {
    format!(
        "a model has concrete sizes and no generic parameters: make `{name}` an ordinary function and call it from a \
         `#[model]` function with the sizes"
    )
}

pub fn no_build_script(name: &str) -> String {
    format!(
        "the model `{name}` is not compiled: this package has no build script. Put this into build.rs, with the file of \
         the model:

    luminal::models!(\"src/model.rs\": {name});

and this into Cargo.toml:

    [build-dependencies]
    luminal = {{ version = \"0.1\", features = [\"build\"] }}"
    )
}

pub fn not_listed(name: &str, listed: &[String]) -> String {
    let mut names = listed.to_vec();
    names.push(name.into());
    let names = names.join(", ");
    format!(
        "the build script does not compile the model `{name}`: name it in build.rs, as in \
         `luminal::models!(\"src/model.rs\": {names});`"
    )
}

pub fn not_compiled(name: &str) -> String {
    format!("the model `{name}` was not compiled: the build reported why")
}
