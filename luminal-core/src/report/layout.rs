//! Layered layout of a picture, top to bottom: ranks by longest path, order within a rank by barycentres, positions as
//! near to the neighbours' as the order allows.

use super::picture::Picture;

/// Between the shapes of a rank, and between ranks.
const GAP: (f64, f64) = (22.0, 34.0);
/// Width of the lane of an arrow that passes a rank.
const LANE: f64 = 10.0;
const SWEEPS: usize = 12;

/// A place for a shape: its upper left corner and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Where everything is.
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    pub places: Vec<Place>,
    /// For each arrow the points that it passes.
    pub paths: Vec<Vec<(f64, f64)>>,
}

/// A shape, or the place where an arrow passes a rank.
#[derive(Default)]
struct Vertex {
    rank: usize,
    width: f64,
    centre: f64,
    above: Vec<usize>,
    below: Vec<usize>,
    passes: bool,
}

pub(super) fn layout(picture: &Picture, sizes: &[(f64, f64)]) -> Layout {
    let ranks = ranks(picture);
    let mut vertices: Vec<Vertex> = (ranks.iter().zip(sizes))
        .map(|(rank, (width, _))| Vertex { rank: *rank, width: *width, ..Vertex::default() })
        .collect();
    let mut routes = vec![];
    for edge in &picture.edges {
        let (from, to) = (edge.from, edge.to);
        let mut route = vec![from];
        // An arrow that leads back is drawn and not laid out.
        if ranks[from] < ranks[to] {
            for rank in ranks[from] + 1..ranks[to] {
                vertices.push(Vertex { rank, width: LANE, passes: true, ..Vertex::default() });
                route.push(vertices.len() - 1);
            }
        }
        route.push(to);
        if ranks[from] < ranks[to] {
            for pair in route.windows(2) {
                vertices[pair[0]].below.push(pair[1]);
                vertices[pair[1]].above.push(pair[0]);
            }
        }
        routes.push(route);
    }
    let mut layers: Vec<Vec<usize>> = vec![vec![]; ranks.iter().max().map_or(0, |most| most + 1)];
    for (number, vertex) in vertices.iter().enumerate() {
        layers[vertex.rank].push(number);
    }
    order(&mut layers, &vertices);
    position(&layers, &mut vertices);
    finish(picture, sizes, &layers, &vertices, &routes)
}

/// Each shape below all that lead to it, and what nothing leads to as low as possible.
fn ranks(picture: &Picture) -> Vec<usize> {
    let count = picture.shapes.len();
    let (mut below, mut waiting) = (vec![vec![]; count], vec![0; count]);
    for edge in &picture.edges {
        below[edge.from].push(edge.to);
        waiting[edge.to] += 1;
    }
    let sources: Vec<usize> = (0..count).filter(|n| waiting[*n] == 0).collect();
    let (mut ranks, mut done) = (vec![0; count], vec![false; count]);
    // Where there is a cycle, its first shape goes first.
    while let Some(next) = (0..count).filter(|n| !done[*n]).min_by_key(|n| (waiting[*n], *n)) {
        done[next] = true;
        for to in below[next].clone() {
            if !done[to] {
                ranks[to] = ranks[to].max(ranks[next] + 1);
                waiting[to] -= 1;
            }
        }
    }
    for source in sources {
        ranks[source] = below[source].iter().map(|to| ranks[*to]).min().map_or(0, |least| least.max(1) - 1);
    }
    ranks
}

/// Sorts each rank by the mean position of its neighbours, down and up in turns; the order with the fewest crossings
/// wins.
fn order(layers: &mut Vec<Vec<usize>>, vertices: &[Vertex]) {
    let mut best = (crossings(layers, vertices), layers.clone());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let numbers: Vec<usize> = if down {
            (1..layers.len()).collect()
        } else {
            (0..layers.len().saturating_sub(1)).rev().collect()
        };
        for number in numbers {
            let fixed = positions(&layers[if down { number - 1 } else { number + 1 }], vertices.len());
            let own = positions(&layers[number], vertices.len());
            let mean = |vertex: &usize| {
                let neighbours = if down { &vertices[*vertex].above } else { &vertices[*vertex].below };
                match neighbours.len() {
                    0 => own[*vertex],
                    n => neighbours.iter().map(|v| fixed[*v]).sum::<f64>() / n as f64,
                }
            };
            layers[number].sort_by(|x, y| mean(x).total_cmp(&mean(y)));
        }
        let crossings = crossings(layers, vertices);
        if crossings < best.0 {
            best = (crossings, layers.clone());
        }
    }
    *layers = best.1;
}

/// For each vertex of a rank its place in it, from 0 to 1, so that ranks of different lengths compare.
fn positions(layer: &[usize], count: usize) -> Vec<f64> {
    let mut positions = vec![0.0; count];
    for (position, vertex) in layer.iter().enumerate() {
        positions[*vertex] = (position as f64 + 0.5) / layer.len() as f64;
    }
    positions
}

fn crossings(layers: &[Vec<usize>], vertices: &[Vertex]) -> usize {
    let mut count = 0;
    for pair in layers.windows(2) {
        let at = positions(&pair[1], vertices.len());
        let ends: Vec<Vec<f64>> =
            pair[0].iter().map(|v| vertices[*v].below.iter().map(|to| at[*to]).collect()).collect();
        for (number, left) in ends.iter().enumerate() {
            for right in &ends[number + 1..] {
                count += left.iter().map(|x| right.iter().filter(|y| *y < x).count()).sum::<usize>();
            }
        }
    }
    count
}

/// Centres as near as possible to the mean of the neighbours' centres, in the order of the rank and without overlap.
fn position(layers: &[Vec<usize>], vertices: &mut [Vertex]) {
    for layer in layers {
        place(layer, vertices, |_, _| None);
    }
    for sweep in 0..2 * SWEEPS {
        let down = sweep % 2 == 0;
        let wish = |vertex: usize, vertices: &[Vertex]| {
            let v = &vertices[vertex];
            let neighbours: Vec<usize> = match sweep + 2 < 2 * SWEEPS {
                true if down => v.above.clone(),
                true => v.below.clone(),
                false => v.above.iter().chain(&v.below).copied().collect(),
            };
            let sum: f64 = neighbours.iter().map(|n| vertices[*n].centre).sum();
            (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
        };
        let numbers: Vec<usize> =
            if down { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        for number in numbers {
            place(&layers[number], vertices, wish);
        }
    }
}

/// The nearest centres to the wishes that keep the order: neighbours that would overlap become a block, which lies at
/// the weighted mean of what its members wish.
fn place(layer: &[usize], vertices: &mut [Vertex], wish: impl Fn(usize, &[Vertex]) -> Option<f64>) {
    let mut offset = 0.0;
    let mut offsets = vec![];
    // Start of a block in the rank, its weight, and its position without the offsets.
    let mut blocks: Vec<(usize, f64, f64)> = vec![];
    for (number, vertex) in layer.iter().enumerate() {
        let v = &vertices[*vertex];
        if number > 0 {
            offset += (vertices[layer[number - 1]].width + v.width) / 2.0 + GAP.0;
        }
        offsets.push(offset);
        let weight = if v.passes { 4.0 } else { 1.0 };
        blocks.push((number, weight, wish(*vertex, vertices).unwrap_or(v.centre) - offset));
        while let [.., (_, w1, x1), (_, w2, x2)] = blocks[..] {
            if x1 <= x2 {
                break;
            }
            blocks.pop();
            if let Some(last) = blocks.last_mut() {
                (last.1, last.2) = (w1 + w2, (w1 * x1 + w2 * x2) / (w1 + w2));
            }
        }
    }
    for (number, vertex) in layer.iter().enumerate() {
        let block = blocks.iter().rev().find(|(start, ..)| *start <= number);
        vertices[*vertex].centre = block.map_or(0.0, |block| block.2) + offsets[number];
    }
}

fn finish(
    picture: &Picture,
    sizes: &[(f64, f64)],
    layers: &[Vec<usize>],
    vertices: &[Vertex],
    routes: &[Vec<usize>],
) -> Layout {
    let left = vertices.iter().map(|v| v.centre - v.width / 2.0).fold(f64::INFINITY, f64::min).min(1e9);
    let right = vertices.iter().map(|v| v.centre + v.width / 2.0).fold(0.0, f64::max);
    let mut tops = vec![];
    let mut y = 1.0;
    for layer in layers {
        let heights = layer.iter().filter_map(|v| sizes.get(*v)).map(|size| size.1);
        let height = heights.fold(0.0, f64::max);
        tops.push((y, height));
        y += height + GAP.1;
    }
    let height = y - GAP.1 + 1.0;
    let x = |vertex: usize| vertices[vertex].centre - left + 1.0;
    let places: Vec<Place> = (0..picture.shapes.len())
        .map(|shape| {
            let (width, height) = sizes[shape];
            let (top, room) = tops[vertices[shape].rank];
            Place { x: x(shape) - width / 2.0, y: top + (room - height) / 2.0, width, height }
        })
        .collect();
    let path = |route: &Vec<usize>| {
        let mut points = vec![];
        for (number, vertex) in route.iter().enumerate() {
            let centre = x(*vertex);
            let (top, room) = tops[vertices[*vertex].rank];
            match places.get(*vertex) {
                Some(place) if number == 0 => points.push((centre, place.y + place.height)),
                Some(place) => points.push((centre, place.y)),
                None => points.extend([(centre, top), (centre, top + room)]),
            }
        }
        points
    };
    Layout {
        width: right - left + 2.0,
        height: height.max(2.0),
        paths: routes.iter().map(path).collect(),
        places,
    }
}
