use luminal::dim;

#[dim(max = 4)]
pub struct Batch {
    size: usize,
}

fn main() {}
