//! Runs a model function once. It is the user's code: it may panic.

use crate::Model;
use luminal_core::graph::Graph;
use luminal_core::tensor::{self, Mistake, Place};
use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The last panic of the model: where, and the message.
    static PANIC: RefCell<Option<(Option<Place>, String)>> = const { RefCell::new(None) };
}

static HOOK: Mutex<()> = Mutex::new(());

/// The graph of a model and what is wrong with it. The graph is well formed if nothing is.
pub(super) fn trace(model: &Model) -> (Graph, Vec<Mistake>) {
    match quietly(|| tensor::trace(model.trace)) {
        Ok(tensor::Traced { graph, mut mistakes }) => {
            if mistakes.is_empty() {
                mistakes.extend(check(&graph));
            }
            (graph, mistakes)
        }
        Err((place, message)) => {
            let message = format!("the model panicked while it was traced: {message}");
            (Graph::default(), vec![Mistake { place, message }])
        }
    }
}

/// Runs code that may panic: gives where it did, and the message, instead of printing them.
pub(super) fn quietly<T>(work: impl FnOnce() -> T + panic::UnwindSafe) -> Result<T, (Option<Place>, String)> {
    // The hook belongs to the process: one at a time.
    let _one = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(Place::from);
        let message = info.payload_as_str().unwrap_or("no message").to_string();
        PANIC.set(Some((place, message)));
    }));
    let result = panic::catch_unwind(work);
    panic::set_hook(hook);
    result.map_err(|_| PANIC.take().unwrap_or((None, "no message".into())))
}

/// What only the whole graph shows, such as tensors that no memory can hold.
fn check(graph: &Graph) -> Option<Mistake> {
    let error = graph.verify().err()?;
    let place =
        error.origin.as_ref().map(|at| Place { file: at.file.to_string(), line: at.line, column: at.column });
    let message = match &error.origin {
        Some(at) => format!("{}: {}", at.op, error.rule),
        None => error.to_string(),
    };
    Some(Mistake { place, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use luminal_core::tensor::{Axis, D, Tensor, input, output};

    fn model(trace: fn()) -> Model {
        Model { name: "m", file: file!(), line: line!(), trace }
    }

    #[test]
    fn a_right_model_has_a_graph() {
        let (graph, mistakes) = trace(&model(|| output(&input::<Tensor<(D<2>,)>>("x").exp())));
        assert_eq!(mistakes, []);
        assert_eq!(graph.outputs.len(), 1);
    }

    #[test]
    fn panics_are_mistakes_at_their_line() {
        let line = line!() + 1;
        let (_, mistakes) = trace(&model(|| panic!("no {}", "way")));
        assert_eq!(mistakes.len(), 1);
        assert_eq!(mistakes[0].message, "the model panicked while it was traced: no way");
        let place = mistakes[0].place.as_ref().unwrap();
        assert_eq!((place.file.as_str(), place.line), (file!(), line));
        // The next model starts from nothing.
        let (_, mistakes) = trace(&model(|| output(&input::<Tensor<(D<2>,)>>("x"))));
        assert_eq!(mistakes, []);
    }

    #[test]
    fn tensors_too_large_for_memory_are_mistakes() {
        type Huge = Tensor<(D<4294967295>, D<4294967295>, D<4294967295>)>;
        let (_, mistakes) = trace(&model(|| output(&Huge::zeros().sum(Axis::<0>).sum(Axis::<0>))));
        assert_eq!(mistakes.len(), 1);
        assert!(mistakes[0].message.starts_with("zeros: the result "), "{}", mistakes[0].message);
        assert!(mistakes[0].place.is_some());
    }
}
