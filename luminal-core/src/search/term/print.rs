//! Text form of index expressions and terms, for reports and golden tests.

use super::dag::{Access, Dag, Inside};
use super::index::{Atom, IndexExpr};
use super::language::Term;
use crate::graph::Dim;
use egg::{Id, Language};
use std::fmt;

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Axis(axis) => write!(f, "a{axis}"),
            Atom::Div(e, by) => write!(f, "({e})/{by}"),
            Atom::Mod(e, by) => write!(f, "({e})%{by}"),
            Atom::Value => f.write_str("value"),
        }
    }
}

impl fmt::Display for IndexExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (atom, coefficient) in &self.terms {
            if !first {
                f.write_str("+")?;
            }
            first = false;
            match coefficient {
                1 => write!(f, "{atom}")?,
                _ => write!(f, "{coefficient}*{atom}")?,
            }
        }
        match (first, self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) => write!(f, "{constant:+}"),
        }
    }
}

/// Indices between brackets.
pub(super) fn brackets(index: &[IndexExpr]) -> String {
    let index: Vec<String> = index.iter().map(IndexExpr::to_string).collect();
    format!("[{}]", index.join(", "))
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}{}", self.node, brackets(&self.index))
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Dim::Fixed(n) => write!(f, "inside({}, {n})", self.at),
            Dim::Free { index, max } => write!(f, "inside({}, free{index}<={max})", self.at),
        }
    }
}

impl Dag {
    /// One node with its operands written by `operand`.
    pub fn show_node(&self, id: Id, operand: impl Fn(Id) -> String) -> String {
        let node = self.node(id);
        let arguments = |ids: &[Id]| ids.iter().map(|id| operand(*id)).collect::<Vec<_>>().join(", ");
        match node {
            Term::Load(access) => self.context.access(*access).to_string(),
            Term::Position(index) => format!("position({})", self.context.index_expr(*index)),
            Term::Inside(inside) => self.context.inside(*inside).to_string(),
            Term::Gather([_, value]) => match self.access(id) {
                Some(access) => format!("{access} with value = {}", operand(*value)),
                None => String::from("gather of no access"),
            },
            Term::Sum([_, body]) | Term::MaxOver([_, body]) => {
                let axes: Vec<String> = self.reduced_axes(id).iter().map(|axis| format!("a{axis}")).collect();
                format!("{node}({}; {})", axes.join(" "), operand(*body))
            }
            _ if node.is_leaf() => node.to_string(),
            _ => format!("{node}({})", arguments(node.children())),
        }
    }

    /// A value as one line, operands nested at most `depth` deep.
    pub fn show(&self, id: Id, depth: usize) -> String {
        if depth == 0 && !self.node(id).is_leaf() {
            return String::from("..");
        }
        self.show_node(id, |operand| self.show(operand, depth.saturating_sub(1)))
    }
}

impl fmt::Display for Dag {
    /// Axes, nodes and roots, one a line: `v3: f32[a0 a1] = +(v1, v2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, extent) in self.context.extents.iter().enumerate() {
            match extent {
                Dim::Fixed(n) => writeln!(f, "axis a{axis}: {n}")?,
                Dim::Free { index, max } => writeln!(f, "axis a{axis}: free{index}<={max}")?,
            }
        }
        for id in self.ids().filter(|id| !matches!(self.node(*id), Term::Axes(_))) {
            let axes: Vec<String> = self.free(id).iter().map(|axis| format!("a{axis}")).collect();
            let text = self.show_node(id, |operand| format!("v{operand}"));
            writeln!(f, "v{id}: {}[{}] = {text}", self.dtype(id), axes.join(" "))?;
        }
        for root in &self.roots {
            writeln!(f, "store n{}{} = v{}", root.node, brackets(&root.index), root.term)?;
        }
        Ok(())
    }
}
