//! Does every kernel read a tensor in the order in which it was written? Each kernel is right by itself, and only the whole
//! plan, which may be too large to be run against the reference, shows what goes wrong between two.

use crate::compile::Units;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::kernel::ir::{Buffer, Storage};
use crate::search::lower::{Program, Source, ValueId};
use std::collections::BTreeMap;

/// Follows the order in memory of every tensor from kernel to kernel. What crosses the border of the model is row-major;
/// a weight is packed for each order that is asked for.
///
/// # Errors
/// The first kernel that takes a tensor to be in another order.
pub fn check_orders(graph: &Graph, program: &Program, units: &Units) -> Result<()> {
    let row_major = |value: ValueId| {
        let dims: Vec<usize> = program.values.list[value].shape.iter().map(|&dim| dim.max()).collect();
        Buffer::row_major(&dims)
    };
    let is_weight = |value: ValueId| match program.values.list[value].source {
        Source::Given(node) => matches!(graph.nodes[node].op, Op::Param(_)),
        _ => false,
    };
    let mut orders: BTreeMap<ValueId, &Storage> = BTreeMap::new();
    for ((lowered, unit), storages) in program.kernels.iter().zip(&units.of).zip(&units.storages) {
        for ((value, writes), storage) in lowered.args.iter().zip(&lowered.writes).zip(storages) {
            if *writes && !orders.contains_key(value) {
                orders.insert(*value, storage);
            }
            let known = orders.get(value).map_or_else(|| row_major(*value), |order| (*order).clone());
            if !is_weight(*value) && known != *storage {
                let (name, kernel) = (&program.values.list[*value].name, &units.list[*unit].program.name);
                return Err(Error::new(format!(
                    "kernel {kernel} takes `{name}` to be in another order in memory than it is: {storage:?} instead of {known:?}"
                )));
            }
        }
    }
    for value in program.outputs.iter().chain(program.writes.iter().map(|(_, to)| to)) {
        if orders.get(value).is_some_and(|order| **order != row_major(*value)) {
            let name = &program.values.list[*value].name;
            return Err(Error::new(format!("`{name}` leaves the model, but is not row-major")));
        }
    }
    Ok(())
}
