//! The state of a session as a safetensors file: to go on later, in another process or on another machine.

use super::session::Session;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::plan::{Dim, Port};
use crate::weights::{StoredDtype, StoredTensor, Weights};
use std::collections::BTreeSet;
use std::fmt::Write;

impl Session {
    /// Sets all states to zero, as they are after loading.
    pub fn reset_state(&mut self) {
        self.regions.clear_state();
    }

    /// All states, as the content of a safetensors file, named as the model declares them. Between runs this is the whole
    /// memory of a model: restored into another session of it, both go on alike.
    pub fn save_state(&self) -> Vec<u8> {
        let states = self.plan.states.iter();
        let data: Vec<_> = states.map(|port| (port, self.regions.bytes(self.state_piece(port)))).collect();
        let mut header = serde_json::Map::new();
        let mut offset = 0;
        for (port, bytes) in &data {
            let entry = serde_json::json!({
                "dtype": StoredDtype::from(port.dtype).to_string(),
                "shape": shape(port),
                "data_offsets": [offset, offset + bytes.len()],
            });
            header.insert(port.name.to_string(), entry);
            offset += bytes.len();
        }
        let mut header = serde_json::Value::Object(header).to_string().into_bytes();
        // Data starts at a multiple of 8, as the format says.
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        for (port, bytes) in data {
            file.extend_from_slice(bytes);
            let start = file.len() - bytes.len();
            little_endian(&mut file[start..], port.dtype);
        }
        file
    }

    /// Sets all states to what [`save_state`](Session::save_state) gave, read from a file or from memory.
    ///
    /// # Errors
    /// One error lists every state that is missing, has another shape or type, or holds what is no truth value, and every
    /// tensor that is no state of this model. Then no state is changed.
    pub fn restore_state(&mut self, saved: &Weights) -> Result<()> {
        let ports = &self.plan.states;
        let mut complaints: Vec<String> = ports.iter().filter_map(|port| complaint(port, saved)).collect();
        let names: BTreeSet<&str> = ports.iter().map(|port| &*port.name).collect();
        let unused = saved.names().filter(|name| !names.contains(name));
        complaints.extend(unused.map(|name| format!("`{}` is no state of the model", name.escape_debug())));
        if !complaints.is_empty() {
            let mut message =
                format!("the state in `{}` is not one of the model `{}`:", saved.name(), self.plan.model);
            for complaint in complaints {
                let _ = write!(message, "\n  {complaint}");
            }
            return Err(Error::new(message));
        }
        for port in ports.iter() {
            // Each was found just before.
            let Some(StoredTensor { data, .. }) = saved.tensor(&port.name) else { continue };
            let piece = self.state_piece(port);
            let bytes = self.regions.bytes_mut(piece);
            bytes.copy_from_slice(data);
            little_endian(bytes, port.dtype);
        }
        Ok(())
    }
}

/// Sizes of a state, which are never free.
fn shape(port: &Port) -> Vec<usize> {
    port.shape.iter().copied().map(Dim::max).collect()
}

fn complaint(port: &Port, saved: &Weights) -> Option<String> {
    let (name, dtype, shape) = (&port.name, port.dtype, shape(port));
    let Some(stored) = saved.tensor(name) else {
        return Some(format!("`{name}` is missing: {dtype} {shape:?}"));
    };
    let mut wrong = vec![];
    if stored.shape != shape {
        wrong.push(format!("the model has shape {shape:?}, the file {:?}", stored.shape));
    }
    let expected = StoredDtype::from(dtype);
    if stored.dtype != expected {
        wrong.push(format!("the model has type {expected}, the file {}", stored.dtype));
    }
    if wrong.is_empty() && dtype == Dtype::Bool && stored.data.iter().any(|byte| *byte > 1) {
        wrong.push("a truth value is 0 or 1, the file has others".into());
    }
    if wrong.is_empty() { None } else { Some(format!("`{name}`: {}", wrong.join("; "))) }
}

/// From the machine's byte order to that of files, or back.
fn little_endian(bytes: &mut [u8], dtype: Dtype) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.bytes()).for_each(<[u8]>::reverse);
    }
}
