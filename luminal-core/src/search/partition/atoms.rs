//! Values that every kernel computes together: there is nothing to choose about them.
//!
//! A pointwise value that only one other value needs is computed where that one is, because reading it instead could
//! only cost more. So a deep pointwise graph is a few atoms, each with one value that others see, and cones are sets of
//! atoms.

use super::problem::Problem;
use super::set::NodeSet;

/// No atom holds more values than this: they are one expression of the generated code.
pub(super) const ATOM: usize = 128;

/// The atoms of a problem.
#[derive(Default)]
pub(super) struct Atoms {
    /// The value of each atom that others see.
    pub heads: NodeSet,
    /// For each head the values of its atom.
    pub members: Vec<NodeSet>,
    /// For each head the heads that its atom uses as operands.
    pub direct: Vec<NodeSet>,
}

impl Atoms {
    /// Atoms of at most `limit` values.
    pub fn new(problem: &Problem, limit: usize) -> Atoms {
        let count = problem.dag.nodes.len();
        let mut head: Vec<usize> = (0..count).collect();
        let mut atoms = Atoms {
            heads: NodeSet::new(count),
            members: vec![NodeSet::new(count); count],
            direct: vec![NodeSet::new(count); count],
        };
        // Users have higher numbers than their operands.
        let mut ops: Vec<usize> = problem.ops.iter().collect();
        ops.reverse();
        for i in ops {
            let mut users = problem.users[i].iter().map(|user| head[user]);
            if let Some(first) = users.next()
                && users.all(|other| other == first)
                && atoms.members[first].len() < limit
                && problem.is_absorbed(i, &atoms.members[first])
            {
                head[i] = first;
            }
            atoms.members[head[i]].insert(i);
            if head[i] == i {
                atoms.heads.insert(i);
            }
        }
        for i in problem.ops.iter() {
            for user in problem.users[i].iter().map(|user| head[user]).filter(|user| *user != head[i]) {
                atoms.direct[user].insert(head[i]);
            }
        }
        atoms
    }
}
