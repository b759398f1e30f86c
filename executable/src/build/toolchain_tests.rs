//! Options, inputs of the linker, and the run-time libraries of other compilers.
#![allow(clippy::unwrap_used)]

use super::*;

fn module(libraries: &[&str], options: &[&str]) -> Module {
    Module {
        name: "m".into(),
        routines: vec![],
        classes: vec![],
        libraries: libraries.iter().map(|text| text.to_string()).collect(),
        globals: vec![],
        compile_options: options.iter().map(|text| text.to_string()).collect(),
        compiler: None,
        linker: None,
        executables_max: 0,
    }
}

#[test]
fn options_go_where_they_belong() {
    let toolchain =
        Toolchain::of(&module(&[], &["-fopenmp -DX=1", "CFLAGS += -g", "LDFLAGS = -s"])).unwrap();
    assert_eq!(
        toolchain.compile(SourceLanguage::C).join(" "),
        "cc -O2 -g1 -fno-pie -fopenmp -DX=1 -g"
    );
    assert_eq!(toolchain.compile(SourceLanguage::Cpp)[0], "c++");
    assert_eq!(toolchain.link_options().join(" "), "-fopenmp -DX=1 -s");
    assert_eq!(toolchain.linker(), ["cc"]);
}

#[test]
fn named_programs_are_used() {
    let mut module = module(&[], &[]);
    module.compiler = Some("ccache gcc".into());
    let toolchain = Toolchain::of(&module).unwrap();
    assert_eq!(toolchain.compile(SourceLanguage::C)[..2], ["ccache", "gcc"]);
    assert_eq!(toolchain.linker(), ["ccache", "gcc"]);
    module.linker = Some("gfortran -static-libgfortran".into());
    assert_eq!(Toolchain::of(&module).unwrap().linker(), ["gfortran", "-static-libgfortran"]);
    // An empty name is no name.
    module.compiler = Some("  ".into());
    assert_eq!(Toolchain::of(&module).unwrap().compile(SourceLanguage::C)[0], "cc");
}

#[test]
fn libraries_become_arguments() {
    let inputs =
        Inputs::of(&module(&["-L/opt/l -lq libopenblas.so.0 -Wl,-z,now"], &[]), Path::new("/base"))
            .unwrap();
    let expected = "-L/opt/l -Xlinker -rpath -Xlinker /opt/l -lq -l:libopenblas.so.0 -Wl,-z,now";
    assert_eq!(inputs.arguments.join(" "), expected);
    assert!(inputs.files.is_empty());
    let shared = Inputs::of(&module(&["sub/libx.so"], &[]), Path::new("/base")).unwrap();
    assert_eq!(shared.arguments.join(" "), "/base/sub/libx.so -Xlinker -rpath -Xlinker /base/sub");
}

#[test]
fn undefined_symbols_tell_the_run_time() {
    assert_eq!(run_times(b"\0_gfortran_st_write\0GOMP_parallel\0"), ["-lgfortran", "-lgomp"]);
    assert_eq!(run_times(b"\0__gxx_personality_v0\0_ZdlPv\0"), ["-lstdc++"]);
    // The mark at the very end, a mark cut off, a false start directly before a true one, nothing
    // at all.
    assert_eq!(run_times(b"__gfortran_"), ["-lgfortran"]);
    assert!(run_times(b"\0_gfortra").is_empty());
    assert_eq!(run_times(b"_g_gfortran_"), ["-lgfortran"]);
    assert!(run_times(b"").is_empty());
}
