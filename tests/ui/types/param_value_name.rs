use luminal::Module;

#[derive(Module)]
pub struct Net {
    #[param(value = 0.5, name = "x")]
    scale: f32,
}

fn main() {}
