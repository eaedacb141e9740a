use luminal::dim;

#[dim(min = 4)]
pub struct Batch;

fn main() {}
