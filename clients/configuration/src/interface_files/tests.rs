//! Interface files of both forms as Ninf-G writes them, broken ones, hostile ones, and noise.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farcall_base::{ErrorKind, Random, SeededRandom};

use super::{nrf as write_nrf, *};

const CLASS: &str = r#"<class name="simple/add_test" version="1.0"
    numMethods="1"><method name="__default__" id="0">
    <arg ioMode="in" dataType="int"/><arg ioMode="out" dataType="int"><subscript><size><expression><immediate
    val="1"/></expression></size><start/><end/><skip/></subscript></arg>
    <methodAttribute shrink="no"><calculationOrder/><description/></methodAttribute></method>
    <classAttribute backend="normal" language="C"/></class>"#;

fn nrf(inside: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<nrf:NinfGRemoteInformation xmlns:nrf="http://ninf.apgrid.org/2006/12/NinfGRemoteInformation"
  xmlns:rei="http://ninf.apgrid.org/2006/12/RemoteExecutableInformation">{inside}</nrf:NinfGRemoteInformation>"#
    )
}

fn executable(class: &str) -> String {
    format!(
        "<rei:RemoteExecutableInformation><rei:hostName> a.example \
        </rei:hostName><rei:path>/home/x/_stub_add_test\
         </rei:path><rei:ngdir>/opt/ng</rei:ngdir>{class}</rei:RemoteExecutableInformation>"
    )
}

/// A record of Ninf-G 2, its long lines folded as LDIF does.
fn record(xml: &str) -> String {
    let encoded = STANDARD.encode(xml);
    let folded: Vec<String> =
        encoded.as_bytes().chunks(70).map(|part| String::from_utf8_lossy(part).into()).collect();
    format!(
        "dn: GridRPC-Funcname=simple/add_test, Mds-Host-hn=a.example\nobjectClass: \
         GlobusTop\nobjectClass: GridRPCEntry\nGridRPC-Hostname: a.example\nGridRPC-Funcname: \
         simple/add_test\nGridRPC-Module: simple\nGridRPC-Entry: add_test\nGridRPC-Path: \
         /home/x/_stub_add_test\nGridRPC-Stub:: {}\n\n",
        folded.join("\n ")
    )
}

fn refused(text: &str) -> (ErrorKind, String) {
    let error = parse(text.as_bytes()).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn both_forms_say_the_same() {
    let new = parse(nrf(&executable(CLASS)).as_bytes()).unwrap();
    let old = parse(record(CLASS).as_bytes()).unwrap();
    assert_eq!(new, old);
    let found = &new[0];
    assert_eq!((found.hostname.as_str(), found.name.as_str()), ("a.example", "simple/add_test"));
    assert_eq!(found.path, PathBuf::from("/home/x/_stub_add_test"));
    let class = found.class.as_ref().unwrap();
    assert_eq!((class.backend.as_str(), class.language.as_str()), ("normal", "C"));
    let sizes: Vec<_> =
        class.methods[0].arguments.iter().map(|argument| argument.sizes.clone()).collect();
    assert_eq!(sizes, [Vec::new(), vec![Some(1)]]);
}

#[test]
fn a_file_has_several_functions() {
    let two = executable(CLASS) + &executable(&CLASS.replace("add_test", "other"));
    let names = |text: &str| {
        parse(text.as_bytes()).unwrap().into_iter().map(|found| found.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&nrf(&two)), ["simple/add_test", "simple/other"]);
    let without_stub =
        "gridrpc-hostname: b\ngridrpc-module: m\ngridrpc-entry: f\nGRIDRPC-PATH: /p\n";
    assert_eq!(
        names(&format!("# comment\n{}\n\n{without_stub}", record(CLASS))),
        ["simple/add_test", "m/f"]
    );
    let classes = parse(without_stub.as_bytes()).unwrap();
    assert_eq!(classes[0].class, None);
}

#[test]
fn what_the_server_says_is_compared() {
    let method = parse(nrf(&executable(CLASS)).as_bytes())
        .unwrap()
        .remove(0)
        .class
        .unwrap()
        .methods
        .remove(0);
    let difference = |parameters: &str| {
        let text = format!("Module simple; Define add_test({parameters}) Calls add_test();");
        let module = farcall_idl::compile("x.idl", &text).unwrap();
        method.difference(&module.routines[0].interface)
    };
    assert_eq!(difference("IN int a, OUT int b[1]"), None);
    assert_eq!(difference("IN int a, OUT int *b"), None);
    assert_eq!(difference("IN int a"), Some("2 arguments here, 1 there".into()));
    assert_eq!(difference("IN long a, OUT int b[1]"), Some("a: int here, long there".into()));
    assert_eq!(difference("IN int a, INOUT int b[1]"), Some("b: OUT here, INOUT there".into()));
    assert_eq!(
        difference("IN int a, OUT int b[1][a]"),
        Some("b: 1 dimensions here, 2 there".into())
    );
    assert_eq!(difference("IN int a, OUT int b[2]"), Some("b: 1 elements here, 2 there".into()));
    assert_eq!(difference("IN int a, OUT int b[a]"), None);
    assert_eq!(difference("IN int a, b(IN int x)"), Some("b: int here, callback there".into()));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, words) in [
        (String::new(), "describes no function"),
        ("no colon\n".into(), "a line is not `name: value` (line: 1)"),
        ("GridRPC-Path: /p\nGridRPC-Funcname: f\n".into(), "has no GridRPC-Hostname (line: 1)"),
        ("a: b\nGridRPC-Stub:: !!!\n".into(), "not base64 of text (line: 2)"),
        (record("<class"), "in the record at line: 1"),
        (nrf(""), "no RemoteExecutableInformation (at: 2:1)"),
        ("<other/>".into(), "<other> is not NinfGRemoteInformation (at: 1:1)"),
        (nrf(&executable("")), "has no class"),
        (nrf(&executable(&CLASS.replace("\"out\"", "\"uot\""))), "there is no ioMode \"uot\""),
        (
            nrf(&executable(&CLASS.replace("dataType=\"int\"", "dataType=\"itn\""))),
            "there is no dataType \"itn\"",
        ),
        (nrf(&executable(CLASS).replace("a.example", "")), "has no hostName"),
        (nrf(&executable("<class name=\"a\"/>")), "the class has no method"),
        (nrf(&executable(CLASS)).replace("</rei:path>", ""), "expected 'rei:path' tag, not"),
    ] {
        let (kind, said) = refused(&text);
        assert!(kind == ErrorKind::InvalidSource && said.contains(words), "{said}\nlacks: {words}");
    }
    assert_eq!(parse(b"\xff\xfe").unwrap_err().kind(), ErrorKind::InvalidSource);
    let missing = load(Path::new("/nowhere/x.nrf")).unwrap_err();
    assert!(
        missing.kind() == ErrorKind::NotFound && missing.to_string().contains("/nowhere/x.nrf"),
        "{missing}"
    );
}

/// What is written is what was meant, whatever names there are; and it fits the interface that it
/// was made from.
#[test]
fn what_is_written_is_read_again() {
    let text = "Module m; Define f(IN int n, INOUT double a[n][7], OUT string s, IN filename \
                file, g(IN int x)) \"a < b & \\\"c\\\"\" CalcOrder n Calls f(n, a, s, file);";
    let module = farcall_idl::compile("x.idl", text).unwrap();
    let stub = |path: &str| Stub {
        hostname: "h.example".into(),
        path: path.into(),
        prefix: "/opt/ng".into(),
        module: module.clone(),
    };
    for path in ["/p/_stub_f", "/p <&>\"'/_stub_f"] {
        let new = write_nrf(&[stub(path), stub(path)]);
        let old = ldif(&[stub(path), stub(path)]);
        let found = parse(new.as_bytes()).unwrap();
        assert_eq!(found, parse(old.as_bytes()).unwrap(), "{new}\n{old}");
        assert_eq!(
            (found.len(), found[1].name.as_str(), found[1].path.clone()),
            (2, "m/f", PathBuf::from(path))
        );
        let method = &found[0].class.as_ref().unwrap().methods[0];
        assert_eq!(method.difference(&module.routines[0].interface), None);
        assert_eq!(method.arguments[1].sizes, [None, Some(7)]);
    }
}

/// Entities that grow a thousandfold in each of ten steps, files from elsewhere, and depth that
/// would end a stack.
#[test]
fn hostile_files_are_refused_in_no_time() {
    let bomb = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><x>&b;</x>"#;
    assert!(refused(bomb).1.contains("has a DTD"), "{:?}", refused(bomb));
    let stranger = r#"<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>"#;
    assert!(refused(stranger).1.contains("has a DTD"));
    let deep = nrf(&executable(&format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000))));
    assert_eq!(refused(&deep).0, ErrorKind::InvalidSource);
    let wide = nrf(&"<a/>".repeat(2_100_000));
    assert_eq!(refused(&wide).0, ErrorKind::LimitExceeded);
    let many = nrf(&executable(CLASS).repeat(FUNCTIONS_MAX + 1));
    assert_eq!(refused(&many).0, ErrorKind::LimitExceeded);
}

#[test]
fn noise_is_read_to_its_end() {
    let seeds = [nrf(&executable(CLASS)), record(CLASS)];
    let pieces = [
        "<",
        ">",
        "/",
        "\"",
        "&#0;",
        "&a;",
        ":",
        "::",
        "\n ",
        "\n\n",
        "<![CDATA[",
        "-->",
        "val=\"9\"",
        "class",
    ];
    for seed in 0..2000 {
        let mut random = SeededRandom::new(seed);
        let mut below = |count: usize| (random.next() % count as u64) as usize;
        let mut text = seeds[below(2)].clone().into_bytes();
        for _ in 0..=below(6) {
            let at = below(text.len());
            match below(3) {
                0 => text[at] = below(256) as u8,
                1 => drop(text.splice(at..(at + below(30)).min(text.len()), [])),
                _ => drop(text.splice(at..at, pieces[below(pieces.len())].bytes())),
            }
        }
        if let Err(error) = parse(&text) {
            assert_eq!(error.kind(), ErrorKind::InvalidSource, "seed {seed}: {error}");
        }
    }
}
