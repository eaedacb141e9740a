//! Tables of more than 2^31 elements: no offset may wrap in 32 bits. Their memory is reserved, but hardly any of it is
//! ever touched.
#![cfg(target_pointer_width = "64")]

#[allow(dead_code, reason = "this test has memory of its own")]
#[path = "common/mod.rs"]
mod common;

use luminal_core::codegen::c::render_module;
use luminal_core::dtype::Dtype;
use luminal_core::kernel::ir::{Affine, E, Expr, Index, Kernel};
use luminal_core::kernel::schedule::{Machine, Schedule, candidates};
use luminal_core::kernel::testing::{Builder, load};
use std::rc::Rc;

const ROWS: usize = 262_144;
const COLUMNS: usize = 8_960;
/// From row 239,674 on, offsets exceed 2^31.
const PICKED: [i32; 4] = [0, 239_673, 239_674, 262_143];

fn value(row: usize, column: usize) -> u8 {
    ((row * 31 + column * 7) % 251) as u8
}

/// Rows of a table, and columns of one that lies the other way; each as bytes and as floats.
fn kernel() -> Kernel {
    let mut b = Builder::default();
    let (i, j) = (b.axis("i", PICKED.len()), b.axis("j", COLUMNS));
    let table = b.input("table", Dtype::U8, &[ROWS, COLUMNS]);
    let turned = b.input("turned", Dtype::U8, &[COLUMNS, ROWS]);
    let index = b.input("index", Dtype::I32, &[PICKED.len()]);
    let rows = b.input("rows", Dtype::U8, &[PICKED.len(), COLUMNS]);
    let columns = b.input("columns", Dtype::F32, &[PICKED.len(), COLUMNS]);
    let last = b.input("last", Dtype::U8, &[COLUMNS]);
    let at = || Index::Value(load(index, &[i]));
    let along = || Index::Affine(Affine::axis(j));
    let row: E = Rc::new(Expr::Load { buffer: table, index: vec![at(), along()], guards: vec![] });
    let column: E = Rc::new(Expr::Load { buffer: turned, index: vec![along(), at()], guards: vec![] });
    let end = Index::Affine(Affine::constant(ROWS as i64 - 1));
    b.map(rows, &[i, j], row);
    b.map(columns, &[i, j], Rc::new(Expr::Cast(Dtype::F32, column)));
    b.map(last, &[j], Rc::new(Expr::Load { buffer: table, index: vec![end, along()], guards: vec![] }));
    b.kernel
}

#[test]
fn offsets_do_not_wrap() {
    let mut table = vec![0u8; ROWS * COLUMNS];
    let mut turned = vec![0u8; ROWS * COLUMNS];
    for row in PICKED.map(|row| row as usize) {
        for column in 0..COLUMNS {
            table[row * COLUMNS + column] = value(row, column);
            turned[column * ROWS + row] = value(row, column);
        }
    }
    let (kernel, machine) = (kernel(), Machine::x86_64_v3());
    let mut schedules = vec![Schedule::plain(&kernel)];
    schedules.extend(candidates(&kernel, &machine).into_iter().take(3));
    let programs: Vec<_> = schedules
        .iter()
        .enumerate()
        .map(|(number, schedule)| {
            luminal_core::kernel::lower::lower(&format!("large_{number}"), &kernel, schedule)
                .expect("a program")
        })
        .collect();
    let flags: &[&str] = if common::has_v3() { &["-O1", "-march=x86-64-v3"] } else { &["-O1"] };
    let module = common::compile("large", &render_module(&programs.iter().collect::<Vec<_>>(), ""), flags);
    for program in &programs {
        let mut index = PICKED;
        let mut rows = vec![0u8; PICKED.len() * COLUMNS];
        let mut columns = vec![0f32; PICKED.len() * COLUMNS];
        let mut last = vec![0u8; COLUMNS];
        let pointers = [
            table.as_mut_ptr(),
            turned.as_mut_ptr(),
            index.as_mut_ptr().cast(),
            rows.as_mut_ptr(),
            columns.as_mut_ptr().cast(),
            last.as_mut_ptr(),
        ];
        // SAFETY: each pointer is to memory of the size of its argument, whose storage is row-major.
        unsafe { module.call(&program.name, &pointers, &[], 0, program.blocks(&[]) as i64) };
        for (number, row) in PICKED.iter().enumerate() {
            for column in 0..COLUMNS {
                let (place, expected) = (number * COLUMNS + column, value(*row as usize, column));
                assert_eq!(rows[place], expected, "{}: row {row}, column {column}", program.name);
                assert_eq!(
                    columns[place],
                    f32::from(expected),
                    "{}: row {row}, column {column}",
                    program.name
                );
            }
        }
        assert!((0..COLUMNS).all(|column| last[column] == value(ROWS - 1, column)), "{}", program.name);
    }
}
