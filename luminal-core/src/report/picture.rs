//! A picture before it is laid out: shapes and arrows.

/// What a shape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An input of the model or of a region.
    Input,
    /// A result.
    Output,
    /// What stays between runs.
    State,
    /// A tensor between kernels.
    Tensor,
    /// An operation of the user or a primitive.
    Operation,
    /// A kernel.
    Kernel,
}

/// A shape with text in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it stands for.
    pub kind: Kind,
    /// The first line.
    pub title: String,
    /// The others.
    pub lines: Vec<String>,
    /// Where a click leads: an identifier on the page.
    pub link: Option<String>,
    /// What appears when it is pointed at.
    pub tip: String,
}

/// An arrow between two shapes, by their positions in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Where it starts.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

/// Shapes and arrows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// All shapes.
    pub shapes: Vec<Shape>,
    /// All arrows, each once.
    pub edges: Vec<Edge>,
}

impl Picture {
    /// Adds a shape.
    pub(super) fn shape(&mut self, kind: Kind, title: impl Into<String>, lines: Vec<String>) -> usize {
        self.shapes.push(Shape { kind, title: title.into(), lines, link: None, tip: String::new() });
        self.shapes.len() - 1
    }

    /// Adds an arrow, if it is new and leads elsewhere.
    pub(super) fn edge(&mut self, from: usize, to: usize) {
        let edge = Edge { from, to };
        if from != to && !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }
}
