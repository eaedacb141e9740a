use luminal::model;

#[model]
pub struct NoFunction;

fn main() {}
