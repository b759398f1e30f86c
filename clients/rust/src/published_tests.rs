//! Which files go along with one that is published.

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let path = std::env::temp_dir().join(format!("farcall-sent-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        for (name, text) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Folder(path)
    }

    fn sent(&self, name: &str) -> Vec<String> {
        let published = Published::of_file(&self.0.join(name)).unwrap();
        let mut names: Vec<String> = published.names().map(str::to_owned).collect();
        assert_eq!(names.remove(0), name);
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_interface_file_takes_its_libraries_sources_and_headers_along() {
    let idl = "Module m;\nLibrary \"./libm2.so\";\nRequired \"glue one.c\";\n\
               CompileOptions \"-L. -lmine\";\nGlobals {\n#include \"sub/m.h\"\n}\n\
               Define f(IN int n) \"says \\\"../secret\\\" and /etc/passwd\" {}\n";
    let files = [
        ("m.idl", idl),
        ("libm2.so", "\x7fELF"),
        ("libmine.so", "x"),
        ("glue one.c", "#include \"other.h\"\n"),
        ("other.h", ""),
        ("sub/m.h", "#include \"n.h\"\n"),
        ("sub/n.h", ""),
        ("beside.h", "nobody names it"),
    ];
    let folder = Folder::new("idl", &files);
    let wanted = ["glue one.c", "libm2.so", "libmine.so", "other.h", "sub/m.h", "sub/n.h"];
    assert_eq!(folder.sent("m.idl"), wanted);
}

#[test]
fn a_python_file_takes_the_modules_beside_it_along() {
    let main = "import numpy as np, helper\nfrom parts.deep import thing\n\n\
                def f(x: int) -> int:\n    import late\n    return x\n";
    let files = [
        ("main.py", main),
        ("helper.py", "import os\nimport main\n"),
        ("late.py", ""),
        ("parts/__init__.py", ""),
        ("parts/deep.py", "from . import near\nfrom .near import x\n"),
        ("parts/near.py", ""),
        ("parts/data.txt", ""),
        ("unused.py", ""),
    ];
    let folder = Folder::new("python", &files);
    let wanted = ["helper.py", "late.py", "parts/__init__.py", "parts/deep.py", "parts/near.py"];
    assert_eq!(folder.sent("main.py"), wanted);
}

#[test]
fn a_text_that_is_not_saved_goes_under_its_name() {
    let folder = Folder::new("text", &[("helper.py", "")]);
    let published =
        Published::of_source(&folder.0.join("f.py"), b"import helper\n".to_vec()).unwrap();
    assert_eq!(published.names().collect::<Vec<_>>(), ["f.py", "helper.py"]);
    let error = Published::of_file(&folder.0.join("missing.py")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
