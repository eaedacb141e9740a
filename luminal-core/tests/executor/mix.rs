//! `mix` loaded, its inputs, and what it must return, computed plainly.

use luminal::dtype::Dtype;
use luminal::plan::{Executable, Plan};
use luminal::runtime::{Device, InputRef, Session};
use luminal::weights::Weights;

pub fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub fn floats_of(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

pub fn w() -> Vec<f32> {
    (0..18).map(|i| (i * 7 % 11) as f32 - 4.0).collect()
}

pub fn s() -> Vec<f32> {
    (0..6).map(|i| i as f32 * 0.5 - 1.0).collect()
}

pub fn weights() -> Weights {
    Weights::from_tensors([
        ("w", Dtype::F32, vec![3, 6], bytes_of(&w())),
        ("s", Dtype::F32, vec![6], bytes_of(&s())),
    ])
    .unwrap()
}

pub fn session() -> Session {
    Session::new(&super::model::PLAN, Device::cpu(), &weights()).unwrap()
}

/// The plan with its kernels, changed.
pub fn changed(change: impl FnOnce(&mut Plan)) -> &'static Executable {
    let mut plan = super::model::PLAN.clone();
    change(&mut plan);
    // SAFETY: tests change what the runtime checks before it calls a kernel, or what no kernel depends on.
    Box::leak(Box::new(unsafe { Executable::new(plan) }))
}

/// Inputs of one run. `f32` memory, so that `x` is aligned.
pub struct Inputs {
    pub batch: usize,
    pub x: Vec<f32>,
    pub mask: Vec<u8>,
}

impl Inputs {
    pub fn new(batch: usize, seed: usize) -> Inputs {
        Inputs {
            batch,
            x: (0..batch * 3).map(|i| ((i * 5 + seed * 3) % 13) as f32 - 6.0).collect(),
            mask: (0..2 * batch).map(|i| ((i * 3 + seed) % 4 / 2) as u8).collect(),
        }
    }

    pub fn run(&self, session: &mut Session) -> luminal::error::Result<()> {
        let x = bytes(&self.x);
        session.run(&[
            InputRef { data: x, sizes: &[self.batch, 3] },
            InputRef { data: &self.mask, sizes: &[2, self.batch] },
        ])
    }
}

/// The same memory as bytes.
pub fn bytes(values: &[f32]) -> &[u8] {
    // SAFETY: every byte of a float is a byte.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The states, and the outputs of a run.
#[derive(Default)]
pub struct Expected {
    pub total: [f32; 6],
    pub previous: [f32; 6],
    pub y: Vec<f32>,
    pub z: Vec<f32>,
    pub total_output: Vec<f32>,
    pub echo: Vec<f32>,
}

impl Expected {
    pub fn run(&mut self, inputs: &Inputs) {
        let batch = inputs.batch;
        let (w, s) = (w(), s());
        let product =
            |b: usize, j: usize| -> f32 { (0..3).map(|k| inputs.x[b * 3 + k] * w[k * 6 + j]).sum() };
        self.total_output = self.total.to_vec();
        self.echo = inputs.x.clone();
        self.y = (0..batch * 6)
            .map(|i| product(i / 6, i % 6).max(0.0) + s[i % 6] * s[i % 6] + self.total[i % 6])
            .collect();
        self.z = vec![0.0; 6 * batch];
        for j in 0..6 {
            for b in 0..batch {
                let differ = inputs.mask[b] != inputs.mask[batch + b];
                self.z[j * batch + b] = if differ { product(b, j) } else { -1.0 };
            }
        }
        self.previous = self.total;
        for j in 0..6 {
            for b in 0..batch {
                self.total[j] += product(b, j);
            }
        }
    }

    pub fn check(&self, session: &Session, batch: usize) {
        let shapes: [&[usize]; 4] = [&[batch, 6], &[6, batch], &[6], &[batch, 3]];
        let values = [&self.y, &self.z, &self.total_output, &self.echo];
        for (output, (shape, values)) in shapes.into_iter().zip(values).enumerate() {
            let name = &session.plan().outputs[output].name;
            assert_eq!(session.output(output).sizes, shape, "{name}");
            assert_eq!(&floats_of(session.output(output).data), values, "{name}, batch {batch}");
            assert!(session.output(output).data.as_ptr().addr().is_multiple_of(64), "{name}");
        }
    }
}
