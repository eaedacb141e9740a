//! Are these inputs what the model takes? Decides the free sizes of a run, before anything is touched.

use super::session::InputRef;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::determined;
use crate::plan::{Dim, Plan, Port};

/// The free sizes of the last accepted run.
pub(crate) struct Binding {
    sizes: Vec<usize>,
    /// The same, as kernels take them.
    kernel_sizes: Vec<i64>,
    /// While inputs are checked: size, and the input that gave it.
    found: Vec<Option<(usize, usize)>>,
    /// The relations that give the sizes of no input, in the order in which they do.
    computed: Vec<(usize, usize)>,
    /// While relations are checked.
    checked: Vec<usize>,
}

impl Binding {
    /// Before the first run all free sizes are 0.
    pub(crate) fn new(plan: &Plan) -> Binding {
        let free = plan.free.len();
        let mut binding = Binding {
            sizes: vec![0; free],
            kernel_sizes: vec![0; free],
            found: vec![None; free],
            computed: computed(plan),
            checked: vec![0; free],
        };
        // Sizes that follow from others need not be 0.
        binding.compute(plan);
        for free in 0..free {
            binding.set(free, binding.checked[free].min(plan.free[free].max));
        }
        binding
    }

    /// One size for each of `Plan::free`.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// [`Binding::sizes`] for kernels.
    pub(crate) fn kernel_sizes(&self) -> &[i64] {
        &self.kernel_sizes
    }

    /// Sets all free sizes to their bounds.
    pub(crate) fn set_to_bounds(&mut self, plan: &Plan) {
        for (i, free) in plan.free.iter().enumerate() {
            self.set(i, free.max);
        }
    }

    fn set(&mut self, free: usize, size: usize) {
        self.sizes[free] = size;
        self.kernel_sizes[free] = size as i64;
    }

    /// Checks all inputs; on success the free sizes are those of the inputs, else they stay as they were.
    pub(crate) fn bind(&mut self, plan: &Plan, inputs: &[InputRef<'_>]) -> Result<()> {
        if inputs.len() != plan.inputs.len() {
            let names: Vec<String> = plan.inputs.iter().map(|port| format!("`{}`", port.name)).collect();
            let (takes, given) = (plan.inputs.len(), inputs.len());
            let model = &plan.model;
            return Err(Error::new(format!(
                "`{model}` takes {takes} inputs ({}), but {given} were given",
                names.join(", ")
            )));
        }
        self.found.fill(None);
        for (number, (port, input)) in plan.inputs.iter().zip(inputs).enumerate() {
            self.bind_sizes(plan, number, port, input.sizes)?;
            check_data(port, input)?;
        }
        self.check_relations(plan)?;
        for free in 0..plan.free.len() {
            self.set(free, self.checked[free]);
        }
        Ok(())
    }

    /// The sizes of the inputs, and those that follow from them.
    fn compute(&mut self, plan: &Plan) {
        for (size, found) in self.checked.iter_mut().zip(&self.found) {
            *size = found.map_or(0, |(size, _)| size);
        }
        // A plan whose inputs do not determine a size is not accepted, so each is found.
        for (relation, free) in &self.computed {
            self.checked[*free] = plan.relations[*relation].solve(*free, &self.checked);
        }
    }

    fn check_relations(&mut self, plan: &Plan) -> Result<()> {
        self.compute(plan);
        let name = |free: usize| plan.free[free].name.to_string();
        if let Some(broken) = plan.relations.iter().find(|relation| !relation.holds(&self.checked)) {
            return Err(Error::new(broken.complaint_at(name, &self.checked)));
        }
        for (relation, free) in &self.computed {
            let (size, max) = (self.checked[*free], plan.free[*free].max);
            if size > max {
                let rule = plan.relations[*relation].text(name);
                let name = name(*free);
                return Err(Error::new(format!("`{name}` is {size} by `{rule}`, but its bound is {max}")));
            }
        }
        Ok(())
    }

    fn bind_sizes(&mut self, plan: &Plan, number: usize, port: &Port, sizes: &[usize]) -> Result<()> {
        let name = &port.name;
        if sizes.len() != port.shape.len() {
            let (given, takes) = (sizes.len(), port.shape.len());
            let shape = plan.shape_text(&port.shape);
            return Err(Error::new(format!(
                "input `{name}`: {given} sizes given, but {shape} has {takes} axes"
            )));
        }
        for (axis, (dim, &size)) in port.shape.iter().zip(sizes).enumerate() {
            let (free, max) = match *dim {
                Dim::Fixed(wanted) if wanted == size => continue,
                Dim::Fixed(wanted) => {
                    let model = &plan.model;
                    return Err(Error::new(format!(
                        "input `{name}`, axis {axis}: the size is {size}, but `{model}` takes {wanted}"
                    )));
                }
                Dim::Free { index, max } => (index, max),
            };
            let dim_name = &plan.free[free].name;
            if size > max {
                return Err(Error::new(format!(
                    "input `{name}`, axis {axis}: `{dim_name}` is {size}, but its bound is {max}"
                )));
            }
            match self.found[free] {
                Some((other, by)) if other != size => {
                    let by = &plan.inputs[by].name;
                    return Err(Error::new(format!(
                        "`{dim_name}` is {other} in input `{by}`, but {size} in input `{name}`"
                    )));
                }
                _ => self.found[free] = Some((size, number)),
            }
        }
        Ok(())
    }
}

/// Which relation gives which size, where no input does.
fn computed(plan: &Plan) -> Vec<(usize, usize)> {
    let mut known = vec![false; plan.free.len()];
    for dim in plan.inputs.iter().flat_map(|port| port.shape.iter()) {
        if let Dim::Free { index, .. } = dim {
            known[*index] = true;
        }
    }
    let mut computed = vec![];
    determined(&plan.relations, &mut known, |relation, free| {
        let number = plan.relations.iter().position(|other| std::ptr::eq(other, relation));
        computed.extend(number.map(|number| (number, free)));
    });
    computed
}

fn check_data(port: &Port, input: &InputRef<'_>) -> Result<()> {
    let name = &port.name;
    // Cannot overflow: no size is over its bound, and the bounds were multiplied when the plan was checked.
    let needed = port.dtype.bytes() * input.sizes.iter().product::<usize>();
    if input.data.len() != needed {
        let (given, dtype, sizes) = (input.data.len(), port.dtype, input.sizes);
        return Err(Error::new(format!(
            "input `{name}`: {given} bytes given, but {dtype} {sizes:?} has {needed}"
        )));
    }
    if port.dtype == Dtype::Bool
        && let Some(at) = input.data.iter().position(|byte| *byte > 1)
    {
        let byte = input.data[at];
        return Err(Error::new(format!("input `{name}`: a bool is 0 or 1, but byte {at} is {byte}")));
    }
    Ok(())
}
