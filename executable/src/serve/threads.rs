//! How many threads the libraries of routines run: set before a call, through the libraries' own
//! functions, by the number that came with the call (spec/wire.md, section 6).

use std::ffi::{CStr, c_long};

use crate::entry::EntryPoint;
use crate::library::{Handle, Symbol, loaded_files};

/// Functions that take a number of threads, an `int` or BLIS's `dim_t`. NumPy and SciPy bring an
/// OpenBLAS whose names have beginnings and ends of their own.
const SETTERS: [&str; 10] = [
    "omp_set_num_threads",
    "openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "scipy_openblas_set_num_threads64_",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
    "flexiblas_set_num_threads",
    "goto_set_num_threads",
    "nvpl_blas_set_num_threads",
];

/// What the names of libraries contain that have such functions: all others are not searched.
const LIBRARIES: [&str; 6] = ["blas", "omp", "mkl", "blis", "lapack", "atlas"];

/// The functions of the libraries that are loaded.
pub(crate) struct ThreadSetters(Vec<EntryPoint>);

impl ThreadSetters {
    /// Those of this process; the same after a fork.
    pub fn find() -> ThreadSetters {
        let files = loaded_files().into_iter().filter(|file| may_have_one(file));
        let handles: Vec<Handle> = files.filter_map(|file| Handle::loaded(&file)).collect();
        let names = SETTERS.iter().flat_map(|name| handles.iter().map(move |it| it.find(name)));
        let mut functions: Vec<EntryPoint> = Vec::new();
        for symbol in names.flatten() {
            let Symbol::Function(function) = symbol else { continue };
            if !functions
                .iter()
                .any(|known| std::ptr::fn_addr_eq(known.function(), function.function()))
            {
                functions.push(function);
            }
        }
        ThreadSetters(functions)
    }

    /// Whether no library can be told.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From now on they run so many.
    pub fn set(&self, threads: u32) {
        for function in &self.0 {
            // SAFETY: the library's documented function of this name. A register holds the number:
            // one that takes an `int` reads its lower half.
            let set = unsafe {
                std::mem::transmute::<unsafe extern "C" fn(), extern "C" fn(c_long)>(
                    function.function(),
                )
            };
            set(c_long::from(threads as i32));
        }
    }
}

/// The program itself may have been linked with such a library.
fn may_have_one(file: &CStr) -> bool {
    let file = file.to_string_lossy();
    let name = file.rsplit('/').next().unwrap_or_default();
    name.is_empty() || LIBRARIES.iter().any(|part| name.contains(part))
}
