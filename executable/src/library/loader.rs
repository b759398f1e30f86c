//! The dynamic loader: `dlopen`, `dlsym` and `dlinfo` with owned types.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::entry::EntryPoint;

/// Who else sees the library's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Nobody: two libraries may define the same name.
    Local,
    /// Libraries opened later.
    Global,
}

impl Scope {
    fn flags(self) -> c_int {
        // NOW: a missing symbol is an error at publication, not a crash in the middle of a call.
        libc::RTLD_NOW | if self == Scope::Global { libc::RTLD_GLOBAL } else { libc::RTLD_LOCAL }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    /// Code that can be called.
    Function(EntryPoint),
    /// Data: to call it would be to run its bytes.
    Variable,
}

/// Flag of `dladdr1` (dlfcn.h): the entry in the table of symbols is wanted.
const RTLD_DL_SYMENT: c_int = 1;
/// Types of symbols (elf.h).
const STT_OBJECT: u8 = 1;
const STT_COMMON: u8 = 5;

/// An open library. It stays open for the rest of the process: a library that has started threads
/// (OpenBLAS does) or registered exit hooks cannot be unloaded safely, and the process is there for
/// these libraries alone.
#[derive(Debug)]
pub(crate) struct Handle(NonNull<c_void>);

// SAFETY: the loader's functions take a handle from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// Opens `name`, or gives the loader's own words.
    ///
    /// Runs the library's initialisers: it is code of the administrator's choice, like the routines
    /// themselves.
    pub fn open(name: &Path, scope: Scope) -> Result<Handle, String> {
        let text = CString::new(name.as_os_str().as_bytes())
            .map_err(|_| "the name contains a NUL".to_string())?;
        // SAFETY: a NUL-terminated name; what initialisers do is theirs.
        let handle = unsafe { libc::dlopen(text.as_ptr(), scope.flags()) };
        NonNull::new(handle).map(Handle).ok_or_else(last_error)
    }

    /// What is loaded already under this name of the loader's; the program's is empty.
    pub fn loaded(name: &CStr) -> Option<Handle> {
        let name = if name.is_empty() { std::ptr::null() } else { name.as_ptr() };
        // SAFETY: a NUL-terminated name, or NULL for the program; NOLOAD opens nothing. The extra
        // reference is never given back.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        NonNull::new(handle).map(Handle)
    }

    /// Shows the library's symbols to libraries that are opened later.
    pub fn make_global(&self, path: &Path) {
        let Ok(text) = CString::new(path.as_os_str().as_bytes()) else { return };
        // SAFETY: NOLOAD changes the flags of what is open already; the extra reference is never
        // given back, as intended.
        unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOLOAD | Scope::Global.flags()) };
    }

    /// What `symbol` is in this library or in those it depends on.
    pub fn find(&self, symbol: &str) -> Option<Symbol> {
        let name = CString::new(symbol).ok()?;
        // SAFETY: an open handle and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        if is_variable(address) {
            return Some(Symbol::Variable);
        }
        // SAFETY: the loader's address of what is no variable. The library is never closed, so the
        // function stays.
        unsafe { EntryPoint::new(address) }.map(Symbol::Function)
    }

    /// The file behind the handle.
    pub fn path(&self) -> Option<PathBuf> {
        let mut map: *const LinkMap = std::ptr::null();
        // SAFETY: RTLD_DI_LINKMAP stores one pointer; the map lives as long as the library, and its
        // name is NUL-terminated.
        unsafe {
            if libc::dlinfo(self.0.as_ptr(), libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0
                || map.is_null()
            {
                return None;
            }
            let name = CStr::from_ptr((*map).name);
            (!name.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
        }
    }
}

/// Whether the loader knows `address` as that of data. It may know nothing of a function, such as
/// one that the library chose among several when it was opened.
fn is_variable(address: *const c_void) -> bool {
    let mut place = MaybeUninit::<libc::Dl_info>::uninit();
    let mut entry = std::ptr::null_mut::<c_void>();
    // SAFETY: any address may be asked for. Where the answer is not 0, both are filled in, and the
    // entry, if there is one, lies in the library's table of symbols.
    unsafe {
        if libc::dladdr1(address, place.as_mut_ptr(), &raw mut entry, RTLD_DL_SYMENT) == 0
            || entry.is_null()
        {
            return false;
        }
        let exact = place.assume_init().dli_saddr.cast_const() == address;
        exact && matches!((*entry.cast::<libc::Elf64_Sym>()).st_info & 15, STT_OBJECT | STT_COMMON)
    }
}

/// The public head of glibc's `struct link_map` (link.h).
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
}

/// Why the last `dlopen` of this thread failed.
fn last_error() -> String {
    // SAFETY: the text is this thread's own until its next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown reason".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}
