//! Compiles generated C with the system's compiler, loads it and runs it.

use luminal_core::dtype::Dtype;
use luminal_core::kernel::interpret::{from_storage, to_storage};
use luminal_core::kernel::ir::Buffer;
use luminal_core::kernel::meaning::Values;
use luminal_core::kernel::tile::Program;
use std::path::PathBuf;
use std::process::Command;

/// Bytes behind each buffer that nothing may touch.
const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xa5;

type Function = unsafe extern "C" fn(*const *mut u8, *const i64, i64, i64);

/// A compiled module.
pub struct Module {
    library: libloading::Library,
    folder: PathBuf,
}

impl Drop for Module {
    fn drop(&mut self) {
        // Removing what was only needed until now: nothing depends on whether it works.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Module {
    /// Runs some blocks of a kernel.
    ///
    /// # Safety
    /// The pointers are to the arguments of the kernel, of the sizes that these free sizes ask for.
    pub unsafe fn call(&self, name: &str, pointers: &[*mut u8], sizes: &[i64], begin: i64, end: i64) {
        // SAFETY: the symbol has this type by construction of the renderer; the rest is the caller's promise.
        unsafe {
            let function: libloading::Symbol<'_, Function> =
                self.library.get(name.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
            function(pointers.as_ptr(), sizes.as_ptr(), begin, end);
        }
    }
}

/// True if this processor runs `x86-64-v3`.
pub fn has_v3() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Compiles and loads a C file.
pub fn compile(name: &str, text: &str, flags: &[&str]) -> Module {
    let folder = std::env::temp_dir().join(format!("luminal-kernels-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for generated code");
    let (source, library) = (folder.join("module.c"), folder.join("module.so"));
    std::fs::write(&source, text).expect("a file for generated code");
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let output = Command::new(&compiler)
        .args(["-std=gnu11", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"])
        .args([
            "-Wno-unknown-warning-option",
            "-Wno-maybe-uninitialized",
            "-Wno-type-limits",
            "-fno-math-errno",
        ])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .arg("-lm")
        .output()
        .unwrap_or_else(|e| panic!("`{compiler}` does not run: {e}"));
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let messages: Vec<&str> = messages.lines().take(20).collect();
        panic!("{name}: the compiler rejects {}:\n{}", source.display(), messages.join("\n"));
    }
    // SAFETY: the library was just built from generated code and has no initialisers.
    let library = unsafe { libloading::Library::new(&library) }.expect("a library that loads");
    Module { library, folder }
}

/// Arguments of a program in memory, each with a guard behind it.
pub struct Memory {
    buffers: Vec<Vec<u64>>,
    bytes: Vec<usize>,
    pointers: Vec<*mut u8>,
}

impl Memory {
    /// The arguments in the order of the program's storage.
    pub fn new(program: &Program, args: &[Values]) -> Memory {
        let mut memory = Memory { buffers: vec![], bytes: vec![], pointers: vec![] };
        for (buffer, values) in program.kernel.buffers.iter().zip(args) {
            let mut bytes = to_storage(buffer, values).to_bytes(buffer.dtype);
            memory.bytes.push(bytes.len());
            bytes.extend([GUARD_BYTE; GUARD]);
            bytes.resize(bytes.len().next_multiple_of(8), GUARD_BYTE);
            let words = bytes.chunks(8).map(|c| u64::from_ne_bytes(c.try_into().expect("eight bytes")));
            memory.buffers.push(words.collect());
        }
        memory.pointers = memory.buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
        memory
    }

    /// Runs some blocks.
    pub fn run(&mut self, module: &Module, name: &str, sizes: &[usize], begin: usize, end: usize) {
        let sizes: Vec<i64> = sizes.iter().map(|n| *n as i64).collect();
        // SAFETY: pointers and sizes fit the program.
        unsafe { module.call(name, &self.pointers, &sizes, begin as i64, end as i64) };
    }

    /// The arguments as they are now, row-major.
    pub fn values(&self, program: &Program) -> Vec<Values> {
        let stored = |i: usize, buffer: &Buffer| {
            let bytes: Vec<u8> = self.buffers[i].iter().flat_map(|w| w.to_ne_bytes()).collect();
            let untouched = bytes[self.bytes[i]..].iter().all(|b| *b == GUARD_BYTE);
            assert!(untouched, "{}: bytes behind `{}` were written", program.name, buffer.name);
            let bytes = &bytes[..self.bytes[i]];
            assert!(
                buffer.dtype != Dtype::Bool || bytes.iter().all(|b| *b < 2),
                "a bool in memory is 0 or 1"
            );
            from_storage(buffer, &Values::from_bytes(buffer.dtype, bytes))
        };
        program.kernel.buffers[..program.kernel.args].iter().enumerate().map(|(i, b)| stored(i, b)).collect()
    }
}
