//! `#[model]`, `#[dim]`, `#[derive(Module)]`, `#[derive(Output)]`.
