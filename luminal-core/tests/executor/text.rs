//! The plan for people to read.

#[test]
fn one_line_a_launch_in_columns() {
    let expected = "\
plan of `mix`: 3 kernels, 2 launches in a run
  input   x     f32 [Batch <= 5, 3]
  input   mask  bool [2, Batch <= 5]
  output  y      f32 [Batch <= 5, 6]
  output  z      f32 [6, Batch <= 5]
  output  total  f32 [6]
  output  echo   f32 [Batch <= 5, 3]
  state   total     f32 [6]
  state   previous  f32 [6]
once, at load
  0  map  [6]  square  6 FLOP  48 B
each run
  0  contraction  [Batch, 6] over 3  matmul                180 FLOP   276 B
  1  row          [6]                relu + add + select  1.2 kFLOP  5.7 KB
memory: weights 256 B, states 128 B, intermediates 192 B (arena of 2 buffers with 144 B together)
";
    assert_eq!(super::plan::plan().to_string(), expected);
}
