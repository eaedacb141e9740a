//! Runs a model function once. It is the user's code: it may panic.

use crate::Model;
use luminal_core::graph::Graph;
use luminal_core::tensor::{self, Mistake, Place};
use std::cell::RefCell;
use std::panic;

thread_local! {
    /// The last panic of the model: where, and the message.
    static PANIC: RefCell<Option<(Option<Place>, String)>> = const { RefCell::new(None) };
}

/// The graph of a model and what is wrong with it. The graph is well formed if nothing is.
pub(super) fn trace(model: &Model) -> (Graph, Vec<Mistake>) {
    match quietly(|| tensor::trace(model.trace)) {
        Ok(tensor::Traced { graph, mut mistakes }) => {
            if mistakes.is_empty() {
                mistakes.extend(check(&graph));
            }
            (graph, mistakes)
        }
        Err(mistake) => (Graph::default(), vec![mistake]),
    }
}

/// Runs user code; a panic becomes a mistake at its line.
fn quietly<T>(work: impl FnOnce() -> T + panic::UnwindSafe) -> Result<T, Mistake> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(Place::from);
        let message = info.payload_as_str().unwrap_or("no message").to_string();
        PANIC.set(Some((place, message)));
    }));
    let result = panic::catch_unwind(work);
    panic::set_hook(hook);
    result.map_err(|_| {
        let (place, message) = PANIC.take().unwrap_or((None, "no message".into()));
        Mistake { place, message: format!("the model panicked while it was traced: {message}") }
    })
}

/// What only the whole graph shows, such as tensors that no memory can hold.
fn check(graph: &Graph) -> Option<Mistake> {
    let error = graph.verify().err()?;
    let place = error.origin.as_ref().map(|at| Place { file: at.file.to_string(), line: at.line, column: at.column });
    let message = match &error.origin {
        Some(at) => format!("{}: {}", at.op, error.rule),
        None => error.to_string(),
    };
    Some(Mistake { place, message })
}
