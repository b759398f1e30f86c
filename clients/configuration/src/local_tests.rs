//! Which stub executables of this host a configuration leads to.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::Surroundings;
use crate::interface_files::parse;

/// A folder of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("farcall-local-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn stubs(&self, config: &str) -> LocalStubs {
        let file = self.write("client.conf", config);
        let config =
            Config::load(&file, &Surroundings::default()).unwrap_or_else(|error| panic!("{error}"));
        let is_here = |host: &str| ["localhost", "here.example"].contains(&host);
        local_stubs(&config, &config.servers[0].information_sources, &is_here)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn names(stubs: &LocalStubs) -> Vec<&str> {
    stubs.programs.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn programs_come_from_sections_and_from_files() {
    let folder = Folder::new("sources");
    for name in ["_stub_a", "_stub_b", "_stub_c"] {
        folder.write(name, "");
    }
    let at = |name: &str| folder.0.join(name).display().to_string();
    // Of another host, a relative path, one that is gone, and one that a section has already.
    let listed = [
        ("elsewhere", "m/x", at("_stub_a")),
        ("here.example", "m/b", "_stub_b".to_owned()),
        ("here.example", "m/gone", at("_stub_gone")),
        ("localhost", "n/c", at("_stub_c")),
        ("localhost", "m/a", at("_stub_c")),
    ];
    let records = listed.map(|(host, name, path)| {
        format!("GridRPC-Hostname: {host}\nGridRPC-Funcname: {name}\nGridRPC-Path: {path}\n\n")
    });
    folder.write("list.ngdef", &records.concat());
    let config = format!(
        "<SERVER>\nhostname localhost\n</SERVER>\n<FUNCTION_INFO>\nhostname localhost\nfuncname \
         m/a\npath {}\n</FUNCTION_INFO>\n<LOCAL_LDIF>\nfilename list.ngdef\nfilename \
         missing.ngdef\n</LOCAL_LDIF>\n",
        at("_stub_a")
    );
    let stubs = folder.stubs(&config);
    assert_eq!(names(&stubs), ["m/a", "m/b", "n/c"]);
    assert_eq!(stubs.programs[0].1, folder.0.join("_stub_a"));
    let warnings: Vec<String> = stubs.warnings.iter().map(Remark::to_string).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("client.conf:11:10: missing.ngdef is skipped"),
        "{warnings:?}"
    );
    let missing: Vec<String> =
        stubs.missing.iter().map(|(name, remark)| format!("{name} {remark}")).collect();
    assert!(
        missing.len() == 1 && missing[0].contains("client.conf:10:10: the executable of m/gone"),
        "{missing:?}"
    );

    // One list for each module, which is read as it was meant.
    let lists = stubs.write_lists(&folder.0).unwrap();
    let read = |file: &PathBuf| parse(&std::fs::read(file).unwrap()).unwrap();
    let again: Vec<Vec<String>> =
        lists.iter().map(|file| read(file).into_iter().map(|found| found.name).collect()).collect();
    assert_eq!(again, [vec!["m/a", "m/b"], vec!["n/c"]]);
}

#[test]
fn a_server_may_name_its_sources() {
    let folder = Folder::new("tags");
    folder.write("_stub_a", "");
    for name in ["one", "two"] {
        folder.write(
            &format!("{name}.ngdef"),
            &format!(
                "GridRPC-Hostname: localhost\nGridRPC-Funcname: m/{name}\nGridRPC-Path: _stub_a\n"
            ),
        );
    }
    let source = |tag: &str| {
        format!(
            "<INFORMATION_SOURCE>\ntype NRF\ntag {tag}\nsource {tag}.ngdef\n</INFORMATION_SOURCE>\n"
        )
    };
    let config = |line: &str| {
        format!("<SERVER>\nhostname localhost\n{line}</SERVER>\n{}{}", source("one"), source("two"))
    };
    assert_eq!(names(&folder.stubs(&config(""))), ["m/one", "m/two"]);
    assert_eq!(names(&folder.stubs(&config("information_source_tag two\n"))), ["m/two"]);
}
