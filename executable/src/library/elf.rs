//! Names of the functions that a shared library exports, and of the data that it writes, read from
//! its file. Only to word errors and notes: never trusted.
//!
//! ```text
//! ELF header   0x28 offset of section headers (u64)   0x3a size, 0x3c number of them (u16)
//! section      0x00 name (u32)   0x04 type (u32; 2 = symbols, 11 = dynamic symbols)
//!              0x18 offset  0x20 size (u64)   0x28 index of its strings (u32)
//! symbol (24)  0x00 name (u32)   0x04 type in the low 4 bits   0x06 section, 0 = undefined (u16)   0x10 size (u64)
//! ```

/// A table larger than this is not read: the advice is not worth the memory.
const TABLE_BYTES_MAX: u64 = 64 << 20;
const SECTION_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
/// Types of symbols: a variable, a Fortran COMMON, a variable of each thread.
const VARIABLE: u8 = 1;
const COMMON: u8 = 5;
const OF_THREADS: u8 = 6;

/// Reads `count` bytes at an offset; `None` if the file does not have them all.
pub(crate) type ReadAt<'a> = &'a dyn Fn(u64, usize) -> Option<Vec<u8>>;

/// The exported functions, or `None` for anything but a sound 64-bit little-endian ELF file.
pub(crate) fn exported_functions(read: ReadAt<'_>) -> Option<Vec<String>> {
    let header = read(0, 64)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = Sections { read, offset: u64_at(&header, 0x28)?, count: u16_at(&header, 0x3c)? };
    let (symbols, strings) = (0..sections.count).find_map(|index| {
        let section = sections.header(index)?;
        (u32_at(&section, 4)? == DYNAMIC_SYMBOLS).then_some(())?;
        let strings = sections.header(u16::try_from(u32_at(&section, 0x28)?).ok()?)?;
        Some((sections.content(&section)?, sections.content(&strings)?))
    })?;
    Some(
        symbols
            .chunks_exact(SYMBOL_BYTES)
            .filter_map(|symbol| function_name(symbol, &strings))
            .collect(),
    )
}

/// Names of the variables that its code may write, but for those of compilers: all that its file
/// still tells. `None` for anything but a sound 64-bit little-endian ELF file.
pub(crate) fn written_data(read: ReadAt<'_>) -> Option<Vec<String>> {
    let header = read(0, 64)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = Sections { read, offset: u64_at(&header, 0x28)?, count: u16_at(&header, 0x3c)? };
    let names = sections.content(&sections.header(u16_at(&header, 0x3e)?)?)?;
    let mut written = std::collections::BTreeSet::new();
    // A file that was stripped has the exported ones alone.
    let mut all = None;
    let mut exported = None;
    for index in 0..sections.count {
        let section = sections.header(index)?;
        match u32_at(&section, 4)? {
            SYMBOLS => all = Some(section.clone()),
            DYNAMIC_SYMBOLS => exported = Some(section.clone()),
            _ => {}
        }
        if is_data(&text_at(&names, u32_at(&section, 0)?)?) {
            written.insert(index);
        }
    }
    let table = all.or(exported)?;
    let strings = sections.header(u16::try_from(u32_at(&table, 0x28)?).ok()?)?;
    let symbols = sections.content(&table)?;
    let strings = sections.content(&strings)?;
    let variable = |symbol: &[u8]| {
        let has_size = u64_at(symbol, 0x10)? > 0;
        let is_written = written.contains(&u16_at(symbol, 6)?);
        let is_variable = matches!(symbol[4] & 15, VARIABLE | COMMON | OF_THREADS);
        let name = text_at(&strings, u32_at(symbol, 0)?)?;
        (has_size && is_written && is_variable && !is_compilers(&name)).then_some(name)
    };
    Some(symbols.chunks_exact(SYMBOL_BYTES).filter_map(variable).collect())
}

/// Sections of what a program writes. `.data.rel.ro` is written by the loader alone.
fn is_data(section: &str) -> bool {
    let is_part = |whole: &str| {
        section.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    [".data", ".bss", ".tdata", ".tbss"].into_iter().any(is_part)
        && !section.starts_with(".data.rel.ro")
}

/// What compilers and their start-up code keep for themselves; `__m_MOD___vtab_m_T` is a table that
/// gfortran makes for a derived type of a module.
fn is_compilers(name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["__dso_handle", "__TMC_END__", "__data_start", "_ZStL8__ioinit", "_DYNAMIC", "_edata"];
    const BEGINNINGS: [&str; 13] = [
        "completed.",
        "dtor_idx.",
        "force_to_data",
        "__gcov",
        "__asan",
        "__ubsan",
        "__sanitizer",
        "__llvm",
        // What `farcall scan` writes around procedures.
        "__farcall_",
        "__emutls",
        "DW.ref.",
        "_ZT",
        "_ZGV",
    ];
    const OF_TYPES: [&str; 2] = ["_MOD___vtab_", "_MOD___def_init_"];
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || OF_TYPES.iter().any(|part| name.contains(part))
}

fn text_at(strings: &[u8], offset: u32) -> Option<String> {
    let rest = strings.get(offset as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

struct Sections<'a> {
    read: ReadAt<'a>,
    offset: u64,
    count: u16,
}

impl Sections<'_> {
    fn header(&self, index: u16) -> Option<Vec<u8>> {
        let offset = self.offset.checked_add(u64::from(index) * SECTION_BYTES)?;
        (index < self.count).then(|| (self.read)(offset, SECTION_BYTES as usize))?
    }

    fn content(&self, header: &[u8]) -> Option<Vec<u8>> {
        let bytes = u64_at(header, 0x20)?;
        (bytes <= TABLE_BYTES_MAX)
            .then(|| (self.read)(u64_at(header, 0x18)?, usize::try_from(bytes).ok()?))?
    }
}

/// The name of a defined function (type 2, or 10 for one chosen at load time).
fn function_name(symbol: &[u8], strings: &[u8]) -> Option<String> {
    let defined = u16_at(symbol, 6)? != 0;
    if !defined || !matches!(symbol[4] & 15, 2 | 10) {
        return None;
    }
    text_at(strings, u32_at(symbol, 0)?)
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(offset..offset + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use farcall_base::{Random, SeededRandom};

    fn functions(file: &[u8]) -> Option<Vec<String>> {
        exported_functions(&|offset, count| {
            let begin = usize::try_from(offset).ok()?;
            Some(file.get(begin..begin.checked_add(count)?)?.to_vec())
        })
    }

    /// A file with one section of two symbols, `solve` and an undefined one, and their strings.
    fn sample() -> Vec<u8> {
        let mut file = vec![0u8; 64 + 2 * 64 + 3 * 24 + 16];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[0x28..0x30].copy_from_slice(&64u64.to_le_bytes());
        file[0x3c..0x3e].copy_from_slice(&2u16.to_le_bytes());
        let section =
            |file: &mut Vec<u8>, at: usize, kind: u32, offset: u64, size: u64, link: u32| {
                file[at + 4..at + 8].copy_from_slice(&kind.to_le_bytes());
                file[at + 0x18..at + 0x20].copy_from_slice(&offset.to_le_bytes());
                file[at + 0x20..at + 0x28].copy_from_slice(&size.to_le_bytes());
                file[at + 0x28..at + 0x2c].copy_from_slice(&link.to_le_bytes());
            };
        section(&mut file, 64, DYNAMIC_SYMBOLS, 192, 72, 1);
        section(&mut file, 128, 3, 264, 16, 0);
        // Symbol 1: name at 1, a function, in section 5. Symbol 2: the same, undefined.
        for (at, place) in [(192 + 24, 5u16), (192 + 48, 0)] {
            file[at..at + 4].copy_from_slice(&1u32.to_le_bytes());
            file[at + 4] = 0x12;
            file[at + 6..at + 8].copy_from_slice(&place.to_le_bytes());
        }
        file[264..271].copy_from_slice(b"\0solve\0");
        file
    }

    #[test]
    fn lists_defined_functions() {
        assert_eq!(functions(&sample()).unwrap(), ["solve"]);
    }

    #[test]
    fn what_a_library_writes_is_told() {
        for (section, is) in [
            (".data", true),
            (".bss", true),
            (".tbss", true),
            (".bss.count", true),
            (".data.rel.ro", false),
            (".data.rel.ro.local", false),
            (".rodata", false),
            (".database", false),
        ] {
            assert_eq!(is_data(section), is, "{section}");
        }
        for (name, is) in [
            ("completed.0", true),
            ("__dso_handle", true),
            ("_ZTV3Box", true),
            ("mat_", false),
            ("__heat_MOD_count", false),
            ("__farcall_heat_solve_passed_MOD_f_now", true),
            ("__heat_MOD___vtab_heat_Rod", true),
            ("__heat_MOD___def_init_heat_Rod", true),
            ("count.1", false),
        ] {
            assert_eq!(is_compilers(name), is, "{name}");
        }
        assert_eq!(written_data(&|_, _| None), None);
    }

    #[test]
    fn survives_hostile_files() {
        // Not an ELF file at all: a linker script is text.
        assert_eq!(functions(b"/* GNU ld script */ GROUP ( libfoo.so.1 )"), None);
        // Cut off behind the header.
        assert_eq!(functions(&sample()[..64]), None);
        // The strings' section is number 65535 of 2.
        let mut file = sample();
        file[64 + 0x28..64 + 0x2c].copy_from_slice(&65535u32.to_le_bytes());
        assert_eq!(functions(&file), None);
        // The table claims 2^63 bytes: refused before anything is allocated.
        let mut file = sample();
        file[64 + 0x20..64 + 0x28].copy_from_slice(&(1u64 << 63).to_le_bytes());
        assert_eq!(functions(&file), None);
        // Section headers begin at the end of the address space: the sum must not wrap.
        let mut file = sample();
        file[0x28..0x30].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(functions(&file), None);
        // A name outside the strings: that symbol is skipped.
        let mut file = sample();
        file[192 + 24..192 + 28].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(functions(&file).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn survives_damaged_bytes() {
        let mut random = SeededRandom::new(7);
        for _ in 0..20_000 {
            let mut file = sample();
            for _ in 0..=random.next() % 4 {
                let at = random.next() as usize % file.len();
                file[at] = random.next() as u8;
            }
            // Whatever it says, it says it without a panic and without a name that is not in the
            // file.
            assert!(functions(&file).is_none_or(|names| names.len() <= 12));
        }
    }
}
