//! Recording: while a model function runs inside the build script, every operation is added to one graph.
//!
//! A broken rule is recorded with the user's line and tracing goes on with a value of the type that the user named, so
//! that one build shows every mistake.

use super::dim::DimInfo;
use super::record::Recorder;
use crate::graph::{Graph, Origin};
use std::borrow::Cow;
use std::cell::RefCell;
use std::panic::Location;

/// A mistake in a model, found while it was traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where; `None` when it belongs to the model as a whole.
    pub place: Option<Place>,
    /// What is wrong and what would be right.
    pub message: String,
}

/// A place in the user's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Source file as the compiler names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for Place {
    fn from(location: &Location<'_>) -> Place {
        Place { file: location.file().into(), line: location.line(), column: location.column() }
    }
}

/// What tracing a model gives.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// The model as primitives. When there are mistakes it is still a valid graph, but not the user's model.
    pub graph: Graph,
    /// Everything wrong with the model, in the order of the trace.
    pub mistakes: Vec<Mistake>,
}

thread_local!(static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) });

/// Puts the recorder of an outer trace back, also when the model panics.
struct Restore(Option<Recorder>);

impl Drop for Restore {
    fn drop(&mut self) {
        RECORDER.set(self.0.take());
    }
}

/// Runs a model and returns the graph that its operations recorded.
///
/// ```
/// use luminal_core::tensor::{Axis, D, Tensor, input, output, trace};
///
/// let traced = trace(|| {
///     let x: Tensor<(D<2>, D<3>)> = input("x");
///     output(&x.sum(Axis::<1>));
/// });
/// assert!(traced.mistakes.is_empty());
/// assert_eq!(traced.graph.outputs[0].0, "output");
/// ```
pub fn trace(model: impl FnOnce()) -> Traced {
    let _restore = Restore(RECORDER.replace(Some(Recorder::default())));
    model();
    let recorder = RECORDER.take().expect("the recorder of this trace");
    recorder.finish()
}

/// Works on the graph that is being recorded.
pub(crate) fn record<T>(work: impl FnOnce(&mut Recorder) -> T) -> T {
    RECORDER.with_borrow_mut(|recorder| {
        let Some(recorder) = recorder else {
            panic!(
                "a tensor operation was called outside of a model: tensors exist only while a model is traced"
            )
        };
        recorder.stamped(work)
    })
}

/// While it lives, what is recorded belongs to one public operation at one line of the user.
#[must_use]
pub(crate) struct OpScope(());

impl Drop for OpScope {
    fn drop(&mut self) {
        RECORDER.with_borrow_mut(|recorder| {
            if let Some(recorder) = recorder {
                recorder.leave();
            }
        });
    }
}

/// Opens the scope of a public operation. Inside another one it changes nothing: the outermost names everything.
#[track_caller]
pub(crate) fn op(name: &'static str) -> OpScope {
    op_at(name, Location::caller())
}

/// As [`op`], at a place that was noted before.
pub(crate) fn op_at(name: &'static str, location: &'static Location<'static>) -> OpScope {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            recorder.enter(|| Origin {
                op: Cow::Borrowed(name),
                file: Cow::Borrowed(location.file()),
                line: location.line(),
                column: location.column(),
            });
        }
    });
    OpScope(())
}

/// Notes a mistake of the operation whose scope is open. The message starts with the operation's name.
pub(crate) fn report(message: impl Into<String>) {
    record(|recorder| recorder.report(message.into()));
}

/// A dimension must be known when the model is built; reports it if not.
pub(crate) fn require_fixed(what: &str, dim: DimInfo, dims: &[DimInfo]) -> Option<usize> {
    if dim.is_free() {
        let shape = super::dim::Dims(dims);
        report(format!(
            "{what} of {shape} is the free dimension {dim}; this operation needs a fixed size there"
        ));
    }
    dim.fixed()
}
