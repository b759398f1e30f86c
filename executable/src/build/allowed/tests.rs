//! Tests of what an interface file may and may not give a compiler.

use super::*;

fn refuses(words: &[&str]) -> bool {
    first_refused("cc", words.iter().copied()).is_some()
}

#[test]
fn what_modules_are_built_with_is_allowed() {
    let right = [
        "-O3 -Ofast -O -Os -g -g1 -ggdb3 -gdwarf-4 -w -pipe -pthread -s",
        "-fopenmp -fPIC -fno-strict-aliasing -fvisibility=hidden -fsanitize=address,undefined",
        "-ffixed-line-length-132 -ffree-form -fdefault-real-8 -fconstexpr-ops-limit=100000",
        "-std=c++20 -std=gnu11 -ansi -pedantic -Wall -Wno-error=format -Wformat=2",
        "-march=native -mtune=generic -mavx2 -mno-red-zone -mcmodel=large -m64",
        "-I./include -I include -isystem /opt/include -L/opt/lib -L lib -lfoo -l m",
        "-DNAME=\"@x\" -D N=1 -UN -include all.h -DCODE=a|b",
        "-Wl,--as-needed -Wl,-rpath,/opt/l -Wl,-z,now -Wl,-rpath=/opt/l -Wl,--no-undefined",
        "-Wl,--unresolved-symbols=ignore-all -Wl,--wrap=f -Wl,--start-group -Wl,-Bstatic -Wl,-O1",
        "-Xlinker -rpath -Xlinker /opt/l -Wl,--whole-archive libx.a -Wl,-defsym=a=b",
        "-Wa,--noexecstack -Wp,-D_FORTIFY_SOURCE=2 -static-libgcc -static-libgfortran -nostdlib",
        "--param max-inline-insns-auto=80 --param=inline-unit-growth=80 -flto -flto=auto",
        "-x c -xHost -qopenmp -mkl=parallel -r8 -acc -fuse-ld=gold -fuse-linker-plugin",
        "/opt/l/libx.so x.o glue.c -l:libopenblas.so.0 -rdynamic -u start_",
    ];
    for words in right {
        assert_eq!(first_refused("gcc", words.split(' ')), None);
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
    for words in
        [["-cxx=sh"], ["-f90=sh"], ["-f77=sh"], ["-showme"], ["-include-pch"], ["-load-plugin=x"]]
    {
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
