//! Text, registers, and values that are computed once, outside the loops that do not change them.

use std::collections::HashMap;
use std::fmt::Write;

/// Name of the shared memory of an entry.
pub(super) const SHARED: &str = "scratch";

/// Classes of registers; the letter of a class begins the names of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// `.pred`
    Predicate,
    /// `.b32`
    Word,
    /// `.f32`
    Float,
    /// `.b64`
    Long,
    /// `.b16`
    Half,
}

impl Class {
    pub const ALL: [Class; 5] = [Class::Predicate, Class::Word, Class::Float, Class::Long, Class::Half];

    pub fn letter(self) -> char {
        match self {
            Class::Predicate => 'p',
            Class::Word => 'r',
            Class::Float => 'f',
            Class::Long => 'd',
            Class::Half => 'h',
        }
    }

    pub fn declared(self) -> &'static str {
        match self {
            Class::Predicate => "pred",
            Class::Word => "b32",
            Class::Float => "f32",
            Class::Long => "b64",
            Class::Half => "b16",
        }
    }
}

/// The text of one loop body, or of the whole entry.
#[derive(Default)]
struct Frame {
    /// Runs before `body`: what depends on nothing that changes inside.
    head: String,
    body: String,
    /// Registers that `head` sets, by what they hold.
    known: HashMap<String, String>,
}

/// Where lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    /// To the body of the innermost loop.
    Body,
    /// To the head of the loop at this depth; 0 is the entry.
    Head(usize),
}

/// The text of an entry while it grows.
pub(super) struct Writer {
    frames: Vec<Frame>,
    sink: Sink,
    counts: [usize; 5],
    labels: usize,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { frames: vec![Frame::default()], sink: Sink::Body, counts: [0; 5], labels: 0 }
    }

    /// Number of open loops.
    pub fn depth(&self) -> usize {
        self.frames.len() - 1
    }

    /// A new register.
    pub fn register(&mut self, class: Class) -> String {
        let count = &mut self.counts[class as usize];
        *count += 1;
        format!("%{}{}", class.letter(), *count - 1)
    }

    /// A new label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels - 1)
    }

    /// Appends an instruction; the semicolon is added.
    pub fn line(&mut self, instruction: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text(), "    {instruction};");
    }

    /// Appends a label.
    pub fn place(&mut self, label: &str) {
        let _ = writeln!(self.text(), "{label}:");
    }

    fn text(&mut self) -> &mut String {
        match self.sink {
            Sink::Head(depth) => &mut self.frames[depth].head,
            Sink::Body => &mut self.frames.last_mut().expect("the frame of the entry stays").body,
        }
    }

    /// An instruction with a result in a new register.
    pub fn op(&mut self, class: Class, opcode: &str, operands: &[&str]) -> String {
        let result = self.register(class);
        self.line(format_args!("{opcode} {result}, {}", operands.join(", ")));
        result
    }

    /// The register of a value that is computed once in each pass of the loop at `depth`, in its head. What `make`
    /// uses must be known there.
    pub fn hoist(&mut self, depth: usize, key: String, make: impl FnOnce(&mut Writer) -> String) -> String {
        if let Some(known) = self.frames[depth].known.get(&key) {
            return known.clone();
        }
        let outer = std::mem::replace(&mut self.sink, Sink::Head(depth));
        let register = make(self);
        self.sink = outer;
        self.frames[depth].known.insert(key, register.clone());
        register
    }

    /// Begins the body of a loop.
    pub fn open_loop(&mut self) {
        self.frames.push(Frame::default());
    }

    /// Ends the body of the innermost loop and returns it.
    pub fn close_loop(&mut self) -> String {
        let frame = self.frames.pop().expect("a loop is open");
        frame.head + &frame.body
    }

    /// Appends text of whole lines.
    pub fn append(&mut self, lines: &str) {
        self.text().push_str(lines);
    }

    /// Declarations of all registers.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for class in Class::ALL {
            let count = self.counts[class as usize];
            if count > 0 {
                let _ = writeln!(text, "    .reg .{} %{}<{count}>;", class.declared(), class.letter());
            }
        }
        text
    }
}
