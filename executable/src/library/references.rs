//! Whether any code of this process refers to a function, as the loader's own tables tell: without
//! reading a file, which a module's user may not be allowed to.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Tags of the dynamic section (elf.h).
const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_JMPREL: i64 = 23;
/// More objects than this are not looked at.
const OBJECTS_MAX: usize = 4096;

/// glibc's `struct link_map` (link.h).
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const [i64; 2],
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// What is needed of an object's dynamic section: its places that want an address, and whose.
#[derive(Default)]
struct Tables {
    symbols: usize,
    strings: usize,
    strings_bytes: usize,
    /// Address and bytes.
    relocations: [(usize, usize); 2],
}

/// Whether an object of this process, the program itself or a library, needs a function of one of
/// these names and does not bring it along.
pub(crate) fn any_refers_to(names: &[&CStr]) -> bool {
    // SAFETY: an object of the loader's list.
    objects()
        .any(|object| unsafe { tables(object).is_some_and(|tables| refers_to(&tables, names)) })
}

/// The files that are loaded, by the names that the loader knows them by; the program's is empty.
pub(crate) fn loaded_files() -> Vec<CString> {
    // SAFETY: the loader's names end, and stay as long as their objects.
    objects().map(|object| unsafe { CStr::from_ptr(object.name) }.to_owned()).collect()
}

/// The loader's list, which only grows here: no library is ever closed.
fn objects() -> impl Iterator<Item = &'static LinkMap> {
    let mut map = first_object();
    let next = move || {
        // SAFETY: see above.
        let object = unsafe { map.as_ref() }?;
        map = object.next;
        Some(object)
    };
    std::iter::from_fn(next).take(OBJECTS_MAX)
}

fn first_object() -> *const LinkMap {
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: NULL names the program itself, which is open already; RTLD_DI_LINKMAP stores one
    // pointer.
    unsafe {
        let program = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let stored: c_int =
            libc::dlinfo(program, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>());
        if program.is_null() || stored != 0 {
            return std::ptr::null();
        }
    }
    map
}

/// # Safety
/// The object is mapped, and its dynamic section ends.
unsafe fn tables(object: &LinkMap) -> Option<Tables> {
    // The loader has made addresses of most of these; the kernel's own object has offsets.
    let address =
        |value: usize| if value < object.address { value + object.address } else { value };
    let mut tables = Tables::default();
    let mut entry = object.dynamic;
    if entry.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    while let [tag, value] = unsafe { *entry }
        && tag != DT_NULL
    {
        let value = value as usize;
        match tag {
            DT_SYMTAB => tables.symbols = address(value),
            DT_STRTAB => tables.strings = address(value),
            DT_STRSZ => tables.strings_bytes = value,
            DT_RELA => tables.relocations[0].0 = address(value),
            DT_RELASZ => tables.relocations[0].1 = value,
            DT_JMPREL => tables.relocations[1].0 = address(value),
            DT_PLTRELSZ => tables.relocations[1].1 = value,
            _ => {}
        }
        // SAFETY: the section goes on until its last entry.
        entry = unsafe { entry.add(1) };
    }
    (tables.symbols != 0 && tables.strings != 0).then_some(tables)
}

/// # Safety
/// The tables are those of a mapped object.
unsafe fn refers_to(tables: &Tables, names: &[&CStr]) -> bool {
    let lists = tables.relocations.into_iter().filter(|(address, _)| *address != 0);
    let mut places = lists.flat_map(|(address, bytes)| {
        (0..bytes / size_of::<libc::Elf64_Rela>())
            .map(move |index| (address as *const libc::Elf64_Rela).wrapping_add(index))
    });
    places.any(|place| {
        // SAFETY: the caller's promise: a place names a symbol of its object, whose name lies in
        // the strings and ends there.
        unsafe {
            let symbol =
                &*(tables.symbols as *const libc::Elf64_Sym).add(((*place).r_info >> 32) as usize);
            let name = symbol.st_name as usize;
            let text = (tables.strings as *const c_char).wrapping_add(name);
            symbol.st_shndx == 0
                && name != 0
                && name < tables.strings_bytes
                && names.contains(&CStr::from_ptr(text))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_this_program_refers_to_and_nothing_else() {
        assert!(any_refers_to(&[c"farcall_no_such_function", c"malloc"]));
        assert!(!any_refers_to(&[c"farcall_no_such_function"]));
    }
}
