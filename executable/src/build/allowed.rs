//! The options that an interface file may give a compiler or a linker on a server for others: a
//! list of what is good.
//!
//! Compilers have some thousands of options, a few of which name a program to run, a library for
//! the compiler itself to load, or a file with more options; each release has new ones, and each
//! wrapper its own. So whatever is not known to do none of that is refused. What a *word* may be is
//! decided by itself and by whether it is for compiler, linker, assembler or preprocessor. It is
//! never decided by what stands around it, for whoever reads the command may divide it differently:
//! a word that does not begin as an option is a value, or a file that the compiler is confined for.

/// Who reads a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Compiler,
    Linker,
    Assembler,
    Preprocessor,
}

/// Options of compilers that are words of their own: GCC's and clang's, and what Intel's and
/// NVIDIA's have of that kind.
const COMPILER_WORDS: [&str; 63] = [
    "--coverage",
    "--param",
    "--verbose",
    "-C",
    "-CC",
    "-H",
    "-P",
    "-ansi",
    "-acc",
    "-coverage",
    "-cpp",
    "-fuse-linker-plugin",
    "-g",
    "-i4",
    "-i8",
    "-ip",
    "-ipo",
    "-mp",
    "-no-pie",
    "-no-prec-div",
    "-nocpp",
    "-nodefaultlibs",
    "-nofor-main",
    "-nofor_main",
    "-nolibc",
    "-nopie",
    "-nostartfiles",
    "-nostdinc",
    "-nostdinc++",
    "-nostdlib",
    "-nostdlib++",
    "-openmp",
    "-p",
    "-parallel",
    "-pedantic",
    "-pedantic-errors",
    "-pg",
    "-pie",
    "-pipe",
    "-prec-div",
    "-pthread",
    "-pthreads",
    "-qmkl",
    "-qopenmp",
    "-qopenmp-simd",
    "-r4",
    "-r8",
    "-rdynamic",
    "-s",
    "-shared-libgcc",
    "-static",
    "-static-libgcc",
    "-static-libgfortran",
    "-static-libquadmath",
    "-static-libstdc++",
    "-static-intel",
    "-symbolic",
    "-traceback",
    "-traditional",
    "-traditional-cpp",
    "-undef",
    "-v",
    "-w",
];
/// Options with a value, which may stand behind the option or be a word of its own: folders, files
/// to include, symbols, and definitions. Where they lead, the confinement decides.
const WITH_VALUE: [&str; 14] = [
    "-D",
    "-U",
    "-I",
    "-L",
    "-l",
    "-J",
    "-x",
    "-u",
    "-z",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
];
/// Options whose value, a plain word, follows at once.
const WITH_PLAIN_VALUE: [&str; 27] = [
    "--param=",
    "--std=",
    "-gpu=",
    "-ta=",
    "-qmkl=",
    "-std=",
    "-stdlib=",
    "-ggdb",
    "-gdwarf",
    "-gz",
    "-gno-",
    "-gline-tables-only",
    "-gcolumn-info",
    "-gstrict-dwarf",
    "-march=",
    "-mtune=",
    "-mcpu=",
    "-mfpu=",
    "-mfpmath=",
    "-mabi=",
    "-masm=",
    "-mcmodel=",
    "-mfloat-abi=",
    "-mkl=",
    "-mprefer-vector-width=",
    "-mveclibabi=",
    "-mrecip=",
];
/// Linkers that may be chosen by name.
const LINKERS: [&str; 4] = ["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld", "-fuse-ld=mold"];
/// Parts of names of `-f` that load code, read options or name programs; `-ffile-…` and its like
/// have paths, which their value may not have anyway.
const NOT_OF_F: [&str; 9] = [
    "plugin",
    "module",
    "mapper",
    "wrapper",
    "compare-debug",
    "use-ld",
    "offload",
    "intrinsic-modules",
    "self-test",
];
/// The same of `-m`: those of clang that have a word of LLVM's behind them, and one of an old
/// wrapper of MPI's.
const NOT_OF_M: [&str; 4] = ["-mllvm", "-mmlir", "-mpe", "-mlink"];
/// Options of linkers (GNU's, gold, lld, mold), without the dashes, of which they take one or two
/// alike.
const LINKER_WORDS: [&str; 50] = [
    "Bdynamic",
    "Bstatic",
    "Bsymbolic",
    "Bsymbolic-functions",
    "E",
    "S",
    "X",
    "allow-multiple-definition",
    "allow-shlib-undefined",
    "as-needed",
    "build-id",
    "copy-dt-needed-entries",
    "demangle",
    "disable-new-dtags",
    "dn",
    "dy",
    "dynamic-list-data",
    "eh-frame-hdr",
    "enable-new-dtags",
    "end-group",
    "export-dynamic",
    "fatal-warnings",
    "gc-sections",
    "icf",
    "no-allow-shlib-undefined",
    "no-as-needed",
    "no-copy-dt-needed-entries",
    "no-demangle",
    "no-export-dynamic",
    "no-fatal-warnings",
    "no-gc-sections",
    "no-relax",
    "no-undefined",
    "no-warn-mismatch",
    "no-whole-archive",
    "pop-state",
    "print-gc-sections",
    "push-state",
    "relax",
    "rpath",
    "rpath-link",
    "s",
    "sort-common",
    "start-group",
    "strip-all",
    "strip-debug",
    "t",
    "warn-common",
    "whole-archive",
    "x",
];
/// The same with a value behind an equals sign, or in the next word.
const LINKER_VALUES: [&str; 16] = [
    "build-id",
    "compress-debug-sections",
    "defsym",
    "entry",
    "exclude-libs",
    "hash-style",
    "icf",
    "max-page-size",
    "rpath",
    "rpath-link",
    "soname",
    "sort-section",
    "undefined",
    "unresolved-symbols",
    "wrap",
    "z",
];
/// Options of linkers with one dash and a value that may follow at once.
const LINKER_LETTERS: [&str; 6] = ["-L", "-O", "-l", "-u", "-z", "-h"];
/// Options of assemblers.
const ASSEMBLER_WORDS: [&str; 10] = [
    "--32",
    "--64",
    "--execstack",
    "--fatal-warnings",
    "--noexecstack",
    "--no-warn",
    "--warn",
    "-L",
    "-W",
    "-g",
];

/// The first word that is not allowed, of one sequence of words as a command has it.
///
/// `program` reads it: wrappers of MPIs are scripts, of which some divide what they pass on at
/// blanks.
pub(super) fn first_refused<'a>(
    program: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let is_script = program.starts_with("mpi");
    let mut scan = Scan { reader: Reader::Compiler, awaits_value: false };
    let mut last = None;
    for word in words {
        if !scan.takes(word) || (is_script && !stays_whole(word)) {
            return Some(word);
        }
        last = Some(word);
    }
    // An option at the end would take a word of ours.
    last.filter(|_| scan.awaits_value)
}

/// Whether a script that divides a word at its blanks, or reads it as its own text, makes no option
/// or command of it.
fn stays_whole(word: &str) -> bool {
    let is_special =
        |letter: char| matches!(letter, '`' | '$' | ';' | '|' | '&' | '<' | '>' | '\n');
    !word.contains(is_special)
        && !word.split_whitespace().skip(1).any(|part| part.starts_with(['-', '@']))
}

/// How far a sequence of words was read.
struct Scan {
    /// Whom the next word is for.
    reader: Reader,
    /// Whether it is the value of the one before.
    awaits_value: bool,
}

impl Scan {
    /// Whether the next word is allowed.
    fn takes(&mut self, word: &str) -> bool {
        let reader = std::mem::replace(&mut self.reader, Reader::Compiler);
        let awaited = std::mem::replace(&mut self.awaits_value, false);
        if word.contains('\0') || word.starts_with('@') {
            return false;
        }
        // Whatever passes on the next word may not be taken for a value itself.
        if awaited && reader == Reader::Compiler {
            return !word.starts_with('-');
        }
        if reader == Reader::Compiler {
            let passed = [
                ("-Xlinker", Reader::Linker),
                ("-Xassembler", Reader::Assembler),
                ("-Xpreprocessor", Reader::Preprocessor),
            ];
            if let Some((_, next)) = passed.into_iter().find(|(option, _)| *option == word) {
                self.reader = next;
                self.awaits_value = true;
                return true;
            }
            self.awaits_value = WITH_VALUE.contains(&word) || word == "--param";
        }
        let lists =
            [("-Wl,", Reader::Linker), ("-Wa,", Reader::Assembler), ("-Wp,", Reader::Preprocessor)];
        let list =
            lists.into_iter().find_map(|(begin, reader)| Some((word.strip_prefix(begin)?, reader)));
        match list.filter(|_| reader == Reader::Compiler) {
            Some((list, reader)) => list.split(',').all(|word| reader.allows(word)),
            None => reader.allows(word),
        }
    }
}

impl Reader {
    fn allows(self, word: &str) -> bool {
        if !word.starts_with('-') {
            return !word.starts_with('@');
        }
        match self {
            Reader::Compiler => is_compilers(word),
            Reader::Linker => is_linkers(word),
            Reader::Assembler => {
                ASSEMBLER_WORDS.contains(&word) || is_valued(word, "-I") || is_of_machine(word)
            }
            Reader::Preprocessor => {
                ["-D", "-U", "-I"].into_iter().any(|option| is_valued(word, option))
            }
        }
    }
}

fn is_compilers(word: &str) -> bool {
    COMPILER_WORDS.contains(&word)
        || LINKERS.contains(&word)
        || WITH_VALUE.into_iter().any(|option| is_valued(word, option))
        || WITH_PLAIN_VALUE
            .into_iter()
            .any(|option| word.strip_prefix(option).is_some_and(is_plain))
        || ["-O", "-g"].into_iter().any(|option| word.strip_prefix(option).is_some_and(is_level))
        || word.strip_prefix("-W").is_some_and(is_plain_setting)
        || is_of_machine(word)
        || is_of_features(word)
}

/// `-O3`, `-Ofast`, `-g1`: levels that are a number or a short word.
fn is_level(level: &str) -> bool {
    level.len() <= 1 && level.bytes().all(|byte| byte.is_ascii_alphanumeric()) || level == "fast"
}

/// An option and its value, which is no option; or the option alone, whose value is the next word.
/// A library's name has no equals sign: what has one may be a long option of the linker's with one
/// dash.
fn is_valued(word: &str, option: &str) -> bool {
    let is_value =
        |value: &str| !value.starts_with(['-', '@']) && (option != "-l" || !value.contains('='));
    word.strip_prefix(option).is_some_and(is_value)
}

/// `-mavx2`, `-mno-red-zone`; those with values are listed.
fn is_of_machine(word: &str) -> bool {
    let is_refused = NOT_OF_M.iter().any(|begin| word.starts_with(begin));
    !is_refused
        && word
            .strip_prefix("-m")
            .is_some_and(|name| !name.is_empty() && name.bytes().all(is_of_name))
}

/// `-fname`, `-fno-name`, `-fname=value`. A name has two letters at least: `-fc=` and `-f90=` are
/// how wrappers of MPIs are given another compiler.
fn is_of_features(word: &str) -> bool {
    let Some(setting) = word.strip_prefix("-f") else { return false };
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    let is_named = name.len() > 1 && name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    is_named && is_plain_setting(setting) && !NOT_OF_F.iter().any(|part| name.contains(part))
}

/// A name, or a name with a plain value.
fn is_plain_setting(setting: &str) -> bool {
    let (name, value) =
        setting.split_once('=').map_or((setting, None), |(name, value)| (name, Some(value)));
    !name.is_empty()
        && name.bytes().all(is_of_name)
        && value.is_none_or(|value| !value.starts_with('-') && is_plain(value))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.')
}

/// A value that is no path, and nothing that a driver would divide; `--param` has one with an
/// equals sign.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| is_of_name(byte) || matches!(byte, b',' | b':' | b'='))
}

fn is_linkers(word: &str) -> bool {
    if LINKER_LETTERS.into_iter().any(|option| is_valued(word, option)) {
        return true;
    }
    let name = word.strip_prefix("--").or(word.strip_prefix('-')).unwrap_or(word);
    match name.split_once('=') {
        Some((name, value)) => LINKER_VALUES.contains(&name) && !value.starts_with(['-', '@']),
        None => LINKER_WORDS.contains(&name) || LINKER_VALUES.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(words: &[&str]) -> bool {
        first_refused("cc", words.iter().copied()).is_some()
    }

    #[test]
    fn what_modules_are_built_with_is_allowed() {
        let right: [&[&str]; 14] = [
            &[
                "-O3",
                "-Ofast",
                "-O",
                "-Os",
                "-g",
                "-g1",
                "-ggdb3",
                "-gdwarf-4",
                "-w",
                "-pipe",
                "-pthread",
                "-s",
            ],
            &[
                "-fopenmp",
                "-fPIC",
                "-fno-strict-aliasing",
                "-fvisibility=hidden",
                "-fsanitize=address,undefined",
            ],
            &[
                "-ffixed-line-length-132",
                "-ffree-form",
                "-fdefault-real-8",
                "-fconstexpr-ops-limit=100000",
            ],
            &[
                "-std=c++20",
                "-std=gnu11",
                "-ansi",
                "-pedantic",
                "-Wall",
                "-Wno-error=format",
                "-Wformat=2",
            ],
            &[
                "-march=native",
                "-mtune=generic",
                "-mavx2",
                "-mno-red-zone",
                "-mcmodel=large",
                "-m64",
            ],
            &[
                "-I./include",
                "-I",
                "include",
                "-isystem",
                "/opt/include",
                "-L/opt/lib",
                "-L",
                "lib",
                "-lfoo",
                "-l",
                "m",
            ],
            &["-DNAME=\"@x\"", "-D", "N=1", "-UN", "-include", "all.h", "-DCODE=a|b"],
            &[
                "-Wl,--as-needed",
                "-Wl,-rpath,/opt/l",
                "-Wl,-z,now",
                "-Wl,-rpath=/opt/l",
                "-Wl,--no-undefined",
            ],
            &[
                "-Wl,--unresolved-symbols=ignore-all",
                "-Wl,--wrap=f",
                "-Wl,--start-group",
                "-Wl,-Bstatic",
                "-Wl,-O1",
            ],
            &[
                "-Xlinker",
                "-rpath",
                "-Xlinker",
                "/opt/l",
                "-Wl,--whole-archive",
                "libx.a",
                "-Wl,-defsym=a=b",
            ],
            &[
                "-Wa,--noexecstack",
                "-Wp,-D_FORTIFY_SOURCE=2",
                "-static-libgcc",
                "-static-libgfortran",
                "-nostdlib",
            ],
            &[
                "--param",
                "max-inline-insns-auto=80",
                "--param=inline-unit-growth=80",
                "-flto",
                "-flto=auto",
            ],
            &[
                "-x",
                "c",
                "-xHost",
                "-qopenmp",
                "-mkl=parallel",
                "-r8",
                "-acc",
                "-fuse-ld=gold",
                "-fuse-linker-plugin",
            ],
            &[
                "/opt/l/libx.so",
                "x.o",
                "glue.c",
                "-l:libopenblas.so.0",
                "-rdynamic",
                "-u",
                "start_",
            ],
        ];
        for words in right {
            assert_eq!(first_refused("gcc", words.iter().copied()), None);
        }
    }

    #[test]
    fn what_names_a_program_or_more_options_is_refused() {
        let wrong: &[&[&str]] = &[
            &["--prefix=./tools/"],
            &["--prefix", "./tools/"],
            &["--for-linker=--plugin=./p.so"],
            &["--ld-path=./ld"],
            &["--sysroot=/tmp/x"],
            &["--gcc-toolchain=/tmp/x"],
            &["--config=x"],
            &["-ccbin", "./cc"],
            &["-ccc-install-dir", "/tmp/evil/bin"],
            &["-ccc-gcc-name", "sh"],
            &["-wrapper", "./w.sh"],
            &["-O2", "-B./tools"],
            &["-B", "."],
            &["-specs=./mine.specs"],
            &["--specs=x"],
            &["-fplugin=./p.so"],
            &["-fplugin=p"],
            &["-fpass-plugin=./p.so"],
            &["-fplugin-arg-p-x=1"],
            &["-fmodules-ts"],
            &["-fmodule-mapper=|/usr/bin/python3 -c 1"],
            &["-fmodule-mapper=x"],
            &["-fno-module-mapper"],
            &["-fcompare-debug=-fplugin=p"],
            &["-foffload=-wrapper"],
            &["-fuse-ld=/tmp/ld"],
            &["-fuse-ld=../x"],
            &["-fdump-tree-all=/tmp/x"],
            &["-ftime-report=a|b"],
            &["-fintrinsic-modules-path", "-Xlinker", "-Bstatic"],
        ];
        for words in wrong {
            assert!(refuses(words), "{words:?}");
        }
    }

    #[test]
    fn what_is_passed_on_is_judged_by_who_reads_it() {
        let wrong: &[&[&str]] = &[
            &["@options"],
            &["-Wl,@options"],
            &["-Wl,-O1,-plugin,./p.so"],
            &["-Wl,--plugin=./p.so"],
            &["-Wl,--plugi=./p.so"],
            &["-Wl,-plug=./p.so"],
            &["-Wl,-dT,x"],
            &["-Wl,-T,x"],
            &["-Wl,--dynamic-linker=/tmp/x"],
            &["-Wl,-mllvm,-load=x"],
            &["-Xlinker", "-plugin", "-Xlinker", "./p.so"],
            &["-Xlinker", "@more"],
            &["-Xclang", "-load", "-Xclang", "./p.so"],
            &["-Xclang=-load"],
            &["-mllvm", "-load=./p.so"],
            &["-mllvm=-load=./p.so"],
            &["-Wp,-fplugin=p"],
            &["-Wc,-x"],
            &["-T", "script"],
            &["-Xcompiler", "-fplugin=p"],
            // A word that passes on the next one, where another takes it for a value.
            &["-I", "-Xlinker", "-Bstatic"],
            &["-D", "-Bstatic"],
            &["-Xlinker", "-rpath", "-plugin"],
            &["-O2", "-I"],
            &["-O2", "-Xlinker"],
            // Those of wrappers.
            &["-profile=/tmp/evil"],
            &["-config=x"],
            &["-help"],
            &["-show"],
            &["-cc=sh"],
            &["-fc=sh"],
            &["-mpe=x"],
        ];
        for words in wrong {
            assert!(refuses(words), "{words:?}");
        }
        for words in [
            ["-cxx=sh"],
            ["-f90=sh"],
            ["-f77=sh"],
            ["-showme"],
            ["-include-pch"],
            ["-load-plugin=x"],
        ] {
            assert!(refuses(&words), "{words:?}");
        }
    }

    #[test]
    fn scripts_are_given_words_that_they_cannot_divide() {
        for word in ["-DX=1 -specs=x", "-DX=`id`", "-DX=$(id)", "-DX=a\t-B."] {
            assert_eq!(first_refused("mpicc.mpich", [word]), Some(word));
            assert_eq!(first_refused("gcc", [word]), None);
        }
    }
}
