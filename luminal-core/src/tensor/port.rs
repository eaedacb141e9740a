//! Inputs and outputs of a model.

use super::element::Element;
use super::module::{Module, weights_scope};
use super::shape::Shape;
use super::trace::{op_at, record};
use super::value::Tensor;
use super::view::{Outputs, View};
use std::panic::Location;

/// An argument of the model, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    name: &'a str,
    location: &'static Location<'static>,
}

/// The argument of this name, at the caller's line.
#[track_caller]
pub fn argument(name: &str) -> Argument<'_> {
    Argument { name, location: Location::caller() }
}

/// What a model can take by value: a tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an input of a model",
    label = "inputs are tensors by value; weights are `&T`, state is `&mut T`"
)]
pub trait Input {
    /// Shape of the tensor.
    type Shape: Shape;
    /// Element type of the tensor.
    type Element: Element;
    /// Declares the input.
    fn input(argument: Argument<'_>) -> Self;
}

impl<S: Shape, E: Element> Input for Tensor<S, E> {
    type Shape = S;
    type Element = E;

    fn input(argument: Argument<'_>) -> Self {
        let _scope = op_at("input", argument.location);
        Tensor::of(record(|recorder| recorder.input(argument.name, S::DIMS, E::DTYPE)))
    }
}

/// What a model can return: a tensor, a tuple of outputs, or a struct that derives it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a model",
    label = "return a tensor, a tuple of tensors, or a struct with `#[derive(Output)]`"
)]
pub trait Output {
    /// The results as the program sees them: the same structure, of views.
    type View<'a>;
    /// Declares the outputs. The name is empty for the whole return value.
    fn output(&self, name: &str);
    /// Takes the results of a run in the order of `output`.
    fn view<'a>(outputs: &mut Outputs<'a>) -> Self::View<'a>;
}

/// The name of a part of a return value.
pub fn part(whole: &str, part: &str) -> String {
    if whole.is_empty() { part.into() } else { format!("{whole}.{part}") }
}

impl<S: Shape, E: Element> Output for Tensor<S, E> {
    type View<'a> = View<'a, S, E>;

    fn output(&self, name: &str) {
        let name = if name.is_empty() { "output" } else { name };
        record(|recorder| recorder.output(name, self.node, S::DIMS));
    }

    fn view<'a>(outputs: &mut Outputs<'a>) -> View<'a, S, E> {
        outputs.next()
    }
}

macro_rules! tuple {
    ($($output:ident $index:tt)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($output: Output),*> Output for ($($output,)*) {
            type View<'a> = ($($output::View<'a>,)*);

            fn output(&self, _name: &str) {
                $(self.$index.output(&part(_name, stringify!($index)));)*
            }

            #[allow(clippy::unused_unit)]
            fn view<'a>(_outputs: &mut Outputs<'a>) -> Self::View<'a> {
                ($($output::view(_outputs),)*)
            }
        }
    };
}
tuple!();
tuple!(A 0);
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 E 3);
tuple!(A 0 B 1 C 2 E 3 F 4);
tuple!(A 0 B 1 C 2 E 3 F 4 G 5);
tuple!(A 0 B 1 C 2 E 3 F 4 G 5 H 6);
tuple!(A 0 B 1 C 2 E 3 F 4 G 5 H 6 I 7);

/// Declares an input: what `#[model]` does for an argument by value.
#[track_caller]
pub fn input<T: Input>(name: &str) -> T {
    T::input(argument(name))
}

/// Declares weights: what `#[model]` does for an argument `&T`.
#[track_caller]
pub fn weights<T: Module>(name: &str) -> T {
    T::build(&weights_scope(name))
}

/// Declares outputs: what `#[model]` does with the return value.
pub fn output<T: Output>(value: &T) {
    value.output("");
}
