//! Attention, and the embedding of positions.

use crate::numpy::{Numpy, dims, error};
use crate::step::{Step, vector};
use luminal::graph::{Dim, NodeId};
use luminal::rt::Dtype;
use luminal::{Error, Result};
use luminal_core::tensor::{Rope, Scores, rope as rotary};

/// The head of keys that each query head uses: neighbours share one.
pub fn head_map(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let count = |names: &[&str]| match step.int(names)? {
        Some(count) if count > 0 => Ok(count),
        other => error(format!("{} heads {other:?}", names[0])),
    };
    let (heads, shared) = (count(&["hq", "heads"])?, count(&["hkv", "kv_heads"])?);
    if heads % shared != 0 {
        return error(format!("{heads} query heads cannot share {shared} heads of keys"));
    }
    let graph = &mut *step.graph;
    let keys = graph.iota(Dim::Fixed(shared as usize));
    Ok(vec![graph.repeat_interleave(keys, 0, (heads / shared) as usize)])
}

pub fn attention(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let [query, key, value] = [step.operand(0)?, step.operand(1)?, step.operand(2)?];
    let [q, k, v] = [query, key, value].map(|x| step.graph.sizes_of(x));
    let failed = |rule: &str| Error::new(format!("attention of {q:?} to {k:?} and {v:?}: {rule}"));
    let rank = q.len();
    if rank < 2 || k.len() != rank || v.len() != rank {
        return Err(failed("ranks must be equal, and at least 2"));
    }
    let lead = rank - 2;
    let grouped = lead > 0 && k[lead - 1] > 0 && q[lead - 1].is_multiple_of(k[lead - 1]);
    let same_lead = q[..lead] == k[..lead] || grouped && q[..lead - 1] == k[..lead - 1];
    if !same_lead || k[..rank - 1] != v[..rank - 1] || q[rank - 1] != k[rank - 1] {
        return Err(failed("heads of keys must divide those of queries, all other sizes fit"));
    }
    let mut scores = q.clone();
    scores[rank - 1] = k[rank - 2];
    let mut how = Scores {
        scale: step.number(&["scale"])?,
        soft_cap: step.number(&["softcap", "soft_cap"])?,
        window: match step.int(&["window", "sliding_window"])? {
            Some(window) if window > 0 => Some(window as usize),
            Some(window) => return Err(failed(&format!("the window {window} is not positive"))),
            None => None,
        },
        alibi: step.list(&["alibi", "alibi_slopes", "slopes"], Dtype::F32)?,
        ..Scores::default()
    };
    if let Some(slopes) = how.alibi
        && (lead == 0 || step.graph.sizes_of(slopes) != q[lead - 1..lead])
    {
        return Err(failed("there must be one slope a head"));
    }
    match step.text(&["causal", "is_causal"]) {
        Some("bottom_right") => how.causal = true,
        Some("top_left") => {
            how.causal = true;
            how.position = Some(step.graph.constant(0.0, Dtype::I32));
        }
        Some("none") => {}
        Some(other) => return Err(failed(&format!("there is no corner {other:?}: bottom_right, top_left"))),
        None => how.causal = step.flag(&["causal", "is_causal"]),
    }
    if step.operands.len() > 3 {
        let mask = step.operand(3)?;
        let mask = step.graph.stretch(mask, &scores)?;
        match step.graph.dtype_of(mask) {
            Dtype::Bool => how.mask = Some(mask),
            dtype if dtype.is_float() => how.bias = Some(step.widened(mask)),
            dtype => return Err(failed(&format!("a mask of {dtype}: bool, or floats that are added"))),
        }
    }
    Ok(vec![step.graph.attention(query, key, value, &how)])
}

pub fn rope(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let x = step.operand(0)?;
    let shape = step.graph.sizes_of(x);
    let [lead @ .., length, width] = &shape[..] else { return error(format!("rope of shape {shape:?}")) };
    let how = Rope {
        theta: step.number(&["theta", "base"])?.unwrap_or(10000.0),
        interleaved: match step.text(&["style", "layout"]) {
            Some("interleaved") => true,
            None | Some("half_split" | "half" | "neox") => false,
            Some(other) => return error(format!("there is no style {other:?}: interleaved, half_split")),
        },
        ..rotary()
    };
    if width % 2 != 0 {
        return error(format!("rope of {width} channels, but they form pairs"));
    }
    let positions = match step.ints(&["positions", "position", "pos"])? {
        Some(positions) if positions.len() == *length => positions,
        Some(positions) => return error(format!("{} positions for {length} rows", positions.len())),
        None => (0..*length as i64).collect(),
    };
    let positions: Vec<f64> = positions.into_iter().map(|position| position as f64).collect();
    let positions = vector(step.graph, &positions, Dtype::I32);
    let positions = step.graph.stretch(positions, &[lead, &[*length]].concat())?;
    debug_assert_eq!(step.graph.nodes[positions].shape, dims(&shape[..shape.len() - 1]));
    Ok(vec![step.graph.rope(x, positions, &how)])
}
