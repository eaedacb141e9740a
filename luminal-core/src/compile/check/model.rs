//! The whole plan, run by the real executor, against the reference interpreter of the graph.

use super::Agreement;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::plan::Executable;
use crate::reference::{self, Data, Feeds, SplitMix64, Tensor, Tolerance};
use crate::runtime::{Device, InputRef, Session};
use crate::weights::Weights;

/// How many elements the reference may compute: it is slow.
const MOST_ELEMENTS: f64 = 1e8;

/// Up to this many elements the plan also runs on negative inputs and on inputs with NaN.
const SPECIAL_ELEMENTS: f64 = 1e7;

/// Runs a plan on seeded inputs and compares outputs with the reference. The second run shows what the first one left
/// behind. Free sizes are at their bounds and at half of them, or smaller where the reference would take too long. In small
/// models two more runs follow: with negative inputs, and with NaN here and there. Rewrites and fusion take place before
/// there are kernels, so what these make of NaN shows here alone.
/// If it would at any size nothing is compared, and there is no agreement to tell: there are the checks of each kernel, and
/// the plan was checked to be sound.
///
/// # Errors
/// The worst element of the first output that disagrees.
pub fn check_model(
    graph: &Graph,
    plan: &'static Executable,
    device: Device,
    seed: u64,
) -> Result<Option<Agreement>> {
    let mut agreement = Agreement::default();
    let Some(large) = smaller_than(graph, MOST_ELEMENTS)? else { return Ok(None) };
    let half: Vec<usize> = large.iter().map(|size| size.div_ceil(2)).collect();
    let small = graph.sizes_near(&half)?;
    let weights = reference::random_feeds(graph, &large, seed)?;
    let mut session = Session::new(plan, device, &params(graph, &weights)?)?;
    let mut states = states(graph, &weights);
    let mut runs = vec![(&large, Inputs::Mixed), (&small, Inputs::Mixed)];
    if elements(graph, &small) <= SPECIAL_ELEMENTS {
        // NaN comes last: a state may keep it for ever.
        runs.extend([(&small, Inputs::Negative), (&small, Inputs::WithNan)]);
    }
    for (number, (free, kind)) in runs.into_iter().enumerate() {
        let mut feeds = kind.feeds(graph, free, seed + 1 + number as u64)?;
        for (name, tensor) in params_of(graph, &weights).chain(states.iter()) {
            feeds.insert(name.clone(), tensor.clone());
        }
        let expected = match reference::run(graph, &feeds, free) {
            // An index that is computed from what is NaN now may be outside of its table.
            Err(_) if kind == Inputs::WithNan => continue,
            expected => expected?,
        };
        let inputs: Vec<(Vec<u8>, &[usize])> =
            inputs_of(graph, &feeds).map(|t| (t.data.to_bytes(), &t.shape[..])).collect();
        let inputs: Vec<InputRef<'_>> = inputs.iter().map(|(data, sizes)| InputRef { data, sizes }).collect();
        session.run(&inputs)?;
        for (position, tensor) in expected.outputs.iter().enumerate() {
            let computed = session.output(position);
            let data = Data::from_bytes(tensor.dtype(), computed.data);
            let computed = Tensor { shape: computed.sizes.to_vec(), data };
            reference::compare(tensor, &computed, tolerance_of(graph, tensor)).map_err(|e| {
                let name = &graph.outputs[position].0;
                Error::new(format!(
                    "`{}`, output {name}, inputs {kind:?}, free sizes {free:?}, seed {seed}: {e}",
                    plan.model
                ))
            })?;
            agreement.merge(difference(tensor, &computed));
        }
        states = expected.states;
    }
    Ok(Some(agreement))
}

/// What a run is fed with. Weights are the same in all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inputs {
    /// Of both signs.
    Mixed,
    /// All below 0.
    Negative,
    /// Of both signs, with NaN in one of 61 places.
    WithNan,
}

impl Inputs {
    pub fn feeds(self, graph: &Graph, free: &[usize], seed: u64) -> Result<Feeds> {
        let mut feeds = match self {
            Inputs::Negative => reference::random_negative_feeds(graph, free, seed)?,
            _ => reference::random_feeds(graph, free, seed)?,
        };
        if self == Inputs::WithNan {
            let mut random = SplitMix64::new(seed);
            feeds.values_mut().for_each(|tensor| some_nan(&mut tensor.data, &mut random));
        }
        Ok(feeds)
    }
}

fn some_nan(data: &mut Data, random: &mut SplitMix64) {
    fn replace<T: Copy>(values: &mut [T], random: &mut SplitMix64, nan: T) {
        // One at least, but not in what may be a factor of everything.
        let (count, some) = (values.len(), random.below(values.len() as u64) as usize);
        let replaced = |place: &usize| random.below(61) == 0 || count >= 8 && *place == some;
        (0..count).filter(replaced).for_each(|place| values[place] = nan);
    }
    match data {
        Data::F32(x) => replace(x, random, f32::NAN),
        Data::F16(x) => replace(x, random, half::f16::NAN),
        Data::BF16(x) => replace(x, random, half::bf16::NAN),
        _ => {}
    }
}

/// Free sizes for which the reference computes at most so many elements: their bounds, or half of them, or half of that;
/// none if it computes more at any size.
pub(super) fn smaller_than(graph: &Graph, most: f64) -> Result<Option<Vec<usize>>> {
    let bounds: Vec<usize> = graph.free.iter().map(|d| d.max).collect();
    let mut sizes = graph.sizes_near(&bounds)?;
    while elements(graph, &sizes) > most {
        let half: Vec<usize> = sizes.iter().map(|size| size.div_ceil(2)).collect();
        let smaller = graph.sizes_near(&half)?;
        if smaller == sizes {
            return Ok(None);
        }
        sizes = smaller;
    }
    Ok(Some(sizes))
}

/// What an output may differ by. Sums of large terms may be small, and are no more accurate for that.
pub(super) fn tolerance_of(graph: &Graph, expected: &Tensor) -> Tolerance {
    let tolerance = tolerance(graph);
    let absolute = tolerance.absolute * root_mean_square(&expected.data).max(1.0);
    Tolerance { absolute, ..tolerance }
}

/// Sums differ in their order. Where the graph rounds to fewer bits, such a difference can become one of a whole step
/// there, and a few of those may meet: eight are allowed.
fn tolerance(graph: &Graph) -> Tolerance {
    let rounds = |to: Dtype| {
        let narrows = |from: Dtype| from != to && !from.is_storage() && from != Dtype::Bool;
        graph
            .nodes
            .iter()
            .any(|node| node.dtype == to && matches!(node.op, Op::Cast(x) if narrows(graph.nodes[x].dtype)))
    };
    let allowed = if rounds(Dtype::BF16) {
        8.0 * 2f32.powi(-8)
    } else if rounds(Dtype::F16) {
        8.0 * 2f32.powi(-11)
    } else {
        2e-4
    };
    Tolerance { absolute: allowed, relative: allowed }
}

/// Elements of all values but views and what is given.
fn elements(graph: &Graph, free: &[usize]) -> f64 {
    let computed = graph.nodes.iter().enumerate().filter(|(_, node)| !node.op.is_view());
    let computed =
        computed.filter(|(_, node)| !matches!(node.op, Op::Input(_) | Op::Param(_) | Op::State(_)));
    computed.map(|(id, _)| graph.sizes(id, free).iter().map(|n| *n as f64).product::<f64>()).sum()
}

fn params_of<'a>(graph: &'a Graph, feeds: &'a Feeds) -> impl Iterator<Item = (&'a String, &'a Tensor)> {
    graph.nodes.iter().filter_map(move |node| match &node.op {
        Op::Param(name) => Some((name, &feeds[name])),
        _ => None,
    })
}

fn inputs_of<'a>(graph: &'a Graph, feeds: &'a Feeds) -> impl Iterator<Item = &'a Tensor> {
    graph.nodes.iter().filter_map(move |node| match &node.op {
        Op::Input(name) => Some(&feeds[name]),
        _ => None,
    })
}

/// A new session holds zeros.
fn states(graph: &Graph, feeds: &Feeds) -> Feeds {
    let states = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::State(name) => Some((name.clone(), Tensor::zeros(&feeds[name].shape, node.dtype))),
        _ => None,
    });
    states.collect()
}

fn params(graph: &Graph, feeds: &Feeds) -> Result<Weights> {
    let tensors = params_of(graph, feeds)
        .map(|(name, tensor)| (name.clone(), tensor.dtype(), tensor.shape.clone(), tensor.data.to_bytes()));
    Weights::from_tensors(tensors)
}

pub(super) fn difference(expected: &Tensor, computed: &Tensor) -> Agreement {
    let elements = expected.data.len();
    let (Some(x), Some(y)) = (floats(&expected.data), floats(&computed.data)) else {
        return Agreement { worst: 0.0, elements };
    };
    let relative = |(x, y): (&f64, &f64)| (x - y).abs() / (1.0 + x.abs());
    let worst = x.iter().zip(&y).map(relative).filter(|e| e.is_finite()).fold(0.0, f64::max);
    Agreement { worst, elements }
}

/// Of the finite elements.
fn root_mean_square(data: &Data) -> f32 {
    let values = floats(data).unwrap_or_default();
    let squares = values.iter().filter(|x| x.is_finite()).map(|x| x * x);
    let (count, sum) = squares.fold((0.0, 0.0), |(count, sum), square| (count + 1.0, sum + square));
    if count > 0.0 { f64::sqrt(sum / count) as f32 } else { 0.0 }
}

fn floats(data: &Data) -> Option<Vec<f64>> {
    match data {
        Data::F32(x) => Some(x.iter().map(|x| f64::from(*x)).collect()),
        Data::F16(x) => Some(x.iter().map(|x| f64::from(*x)).collect()),
        Data::BF16(x) => Some(x.iter().map(|x| f64::from(*x)).collect()),
        _ => None,
    }
}
