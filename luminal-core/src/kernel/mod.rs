//! Kernels: level 1 (index notation, [`ir`]), schedules, level 2 (tile programs), layouts and their expansion.

pub mod ir;
