//! Every kind of mistake with what is said of it, including that goes wrong, and noise.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use farcall_base::{ErrorKind, Random, SeededRandom};

use super::tests::{SERVER, SOURCE, read_all, refusal, said, surroundings};
use super::*;

/// A text, and all that is said of it.
const MISTAKES: &[(&str, &str)] = &[
    // Lines and sections.
    (
        "hostname a\n",
        "c.conf:1:1: hostname is outside any section; put it between <SERVER> and </SERVER>",
    ),
    ("<SERVR>\n</SERVR>", "c.conf:1:1: there is no section SERVR; did you mean SERVER?"),
    ("<client>\n</client>", "c.conf:1:1: there is no section client; did you mean CLIENT?"),
    (
        "<CLIENT>\n",
        "c.conf:1:1: the section CLIENT is not closed; end it with </CLIENT> on its own line",
    ),
    ("</CLIENT>\n", "c.conf:1:1: </CLIENT> ends a section that was not opened"),
    ("<CLIENT>\n  </SERVER>", "c.conf:2:3: </SERVER> ends another section; write </CLIENT>"),
    ("<CLIENT\n", "c.conf:1:1: the bracket < is not closed; write <SECTION> or </SECTION>"),
    (
        "<CLIENT>loglevel 1\n</CLIENT>",
        "c.conf:1:9: a section's name must be alone on its line; put the following text on its \
            own line",
    ),
    (
        "<CLIENT>\n</CLIENT>\n\n <CLIENT>\n</CLIENT>",
        "c.conf:4:2: there are two sections CLIENT, the first at c.conf:1:1; join the two sections",
    ),
    // Attributes.
    (
        "<CLIENT>\nlog_level 1\n</CLIENT>",
        "c.conf:2:1: CLIENT has no attribute log_level; did you mean loglevel?",
    ),
    (
        "<CLIENT>\nLogLevel 1\n</CLIENT>",
        "c.conf:2:1: CLIENT has no attribute LogLevel; did you mean loglevel?",
    ),
    (
        "<CLIENT>\nloglevel\n1\n</CLIENT>",
        "c.conf:2:1: loglevel has no value; write it after the name, on the same \
         line\nc.conf:3:1: CLIENT has no attribute 1",
    ),
    (
        "<CLIENT>\nloglevel 1 tmp_dir /tmp\n</CLIENT>",
        "c.conf:2:12: loglevel takes one value, and there are more; put a value with blanks in \
        double quotes, and each attribute on its own line",
    ),
    (
        "<CLIENT>\nloglevel 1\nloglevel 2\n</CLIENT>",
        "c.conf:3:1: loglevel is set twice in CLIENT; keep one of the two lines",
    ),
    (
        "<SERVER>\nhostname a\nenvironment A=1\nenvironment A=2\n</SERVER>",
        "c.conf:4:13: environment has the value A=2 twice; remove one of them",
    ),
    (
        "<SERVER>\nhostname a a\n</SERVER>",
        "c.conf:2:12: hostname has the value a twice; remove one of them",
    ),
    (
        "<SERVER>\n</SERVER>",
        "c.conf:1:1: a section SERVER has no hostname; add a line: hostname VALUE",
    ),
    (
        "<SERVER_DEFAULT>\nhostname a\n</SERVER_DEFAULT>",
        "c.conf:2:1: SERVER_DEFAULT has no attribute hostname; it belongs in CLIENT, \
            FUNCTION_INFO, SERVER, MDS_SERVER",
    ),
    (
        "<CLIENT>\nheartbeat 10\n</CLIENT>",
        "c.conf:2:1: CLIENT has no attribute heartbeat; it belongs in SERVER, SERVER_DEFAULT",
    ),
    (
        "<CLIENT>\ntmp_dir \"/a\n</CLIENT>",
        "c.conf:2:9: a quote is not closed; end the value with \" on the same line\n\
      c.conf:2:1: tmp_dir has no value; write it after the name, on the same line",
    ),
    (
        "<CLIENT>\ntmp_dir \"\"\n</CLIENT>",
        "c.conf:2:9: tmp_dir: \"\" is not a value; write a value, or omit the attribute",
    ),
    // Values.
    (
        "<SERVER>\nhostname a\ndebug yes\n</SERVER>",
        "c.conf:3:7: debug: \"yes\" is not allowed here; write true, false",
    ),
    (
        "<SERVER>\nhostname a\ndebug True\n</SERVER>",
        "c.conf:3:7: debug: \"True\" is not allowed here; did you mean true?",
    ),
    (
        "<SERVER>\nhostname a\nargument_transfer no_wait\n</SERVER>",
        "c.conf:3:19: argument_transfer: \"no_wait\" is not allowed here; did you mean nowait?",
    ),
    (
        "<SERVER>\nhostname a\nport 65536\n</SERVER>",
        "c.conf:3:6: port: 65536 is out of range; write 0 to 65535",
    ),
    (
        "<SERVER>\nhostname a\nport ssh\n</SERVER>",
        "c.conf:3:6: port: \"ssh\" is not a whole number",
    ),
    (
        "<SERVER>\nhostname a\nheartbeat 5 days\n</SERVER>",
        "c.conf:3:11: heartbeat: \"days\" is not a unit; write seconds, minutes, hours, or their \
            first letters",
    ),
    (
        "<SERVER>\nhostname a\nheartbeat -1\n</SERVER>",
        "c.conf:3:11: heartbeat: \"-1\" is not a time; it may not be negative",
    ),
    (
        "<SERVER>\nhostname a\nheartbeat soon\n</SERVER>",
        "c.conf:3:11: heartbeat: \"soon\" is not a time; write one like 30 or \"30 sec\"",
    ),
    (
        "<SERVER>\nhostname a\njob_stopTimeout 9999999999999 h\n</SERVER>",
        "c.conf:3:17: job_stopTimeout: \"9999999999999 h\" is not a time; it is longer than 100 \
            years",
    ),
    (
        "<SERVER>\nhostname a\ncompress_threshold 64T\n</SERVER>",
        "c.conf:3:20: compress_threshold: \"T\" is not a unit; write kilo, mega, giga, or their \
            first letters",
    ),
    (
        "<SERVER>\nhostname a\ncompress_threshold 9999999999G\n</SERVER>",
        "c.conf:3:20: compress_threshold: \"9999999999G\" is not a size; it is too large",
    ),
    (
        "<SERVER>\nhostname a\ncompress_threshold -1\n</SERVER>",
        "c.conf:3:20: compress_threshold: \"-1\" is not a size; write one like 4096, 64K or \"2 \
            Mega\"",
    ),
    (
        "<SERVER>\nhostname a\ntcp_connect_retryIncreaseRatio nan\n</SERVER>",
        "c.conf:3:32: tcp_connect_retryIncreaseRatio: \"nan\" is not a number; write one like \
            2.0, not below 0",
    ),
    (
        "<SERVER>\nhostname a\nenvironment =1\n</SERVER>",
        "c.conf:3:13: environment: \"=1\" is not a variable; write VARIABLE or VARIABLE=value",
    ),
    (
        "<SERVER>\nhostname a\nmpi_runNoOfCPUs f=0\n</SERVER>",
        "c.conf:3:17: mpi_runNoOfCPUs: \"f=0\" is not a number of processors; write 4 or \
            function=4",
    ),
    (
        "<CLIENT>\nloglevel Warn\n</CLIENT>",
        "c.conf:2:10: loglevel: \"Warn\" is not a log level; did you mean Warning? (or 0 to 5)",
    ),
    (
        "<CLIENT>\nhandling_signals SIGINTT\n</CLIENT>",
        "c.conf:2:18: handling_signals: \"SIGINTT\" is not a signal that can be handled; did you \
            mean SIGINT?",
    ),
    (
        "<CLIENT>\nhandling_signals SIGINT none\n</CLIENT>",
        "c.conf:2:25: none is listed together with signals; write only none, or the names of \
            signals",
    ),
    // Between sections.
    (
        "<SERVER>\nhostname a\n</SERVER>\n<SERVER>\nhostname a\n</SERVER>",
        "c.conf:5:10: a section SERVER for a already exists; give each of them a different tag",
    ),
    (
        "<SERVER>\nhostname a\ntag t\n</SERVER>\n<SERVER>\nhostname b\ntag t\n</SERVER>",
        "c.conf:7:5: two servers have the tag t; give each a different tag",
    ),
    (
        "<INVOKE_SERVER>\ntype SSH\n</INVOKE_SERVER>\n<INVOKE_SERVER>\ntype SSH\n</INVOKE_SERVER>",
        "c.conf:5:6: a section INVOKE_SERVER for SSH already exists; remove one of the two",
    ),
    (
        "<SERVER>\nhostname a\ninvoke_server GT2\n</SERVER>",
        "c.conf:3:15: invoke_server: there is no type GT2; did you mean GT2c?",
    ),
    (
        "<SERVER>\nhostname a\ncommunication_proxy nono\n</SERVER>",
        "c.conf:3:21: communication_proxy: there is no type nono; write GT, SSH",
    ),
    (
        "<SERVER>\nhostname a\ninformation_source_tag x\n</SERVER>",
        "c.conf:3:24: no INFORMATION_SOURCE has the tag x; add a section INFORMATION_SOURCE with \
            tag x",
    ),
    (
        "<LOCAL_LDIF>\nfilename a\n</LOCAL_LDIF>\n<LOCAL_LDIF>\nfilename a\n</LOCAL_LDIF>",
        "c.conf:5:10: the file a is listed twice; remove one of the two",
    ),
    ("<CLIENT>\n\0\n</CLIENT>", "c.conf:1:1: it is not text; name a configuration file"),
];

#[test]
fn every_mistake_names_its_place_and_the_way_out() {
    for (text, expected) in MISTAKES {
        assert_eq!(refusal(text), *expected, "{text}");
    }
    let twice = "<FUNCTION_INFO>\nhostname a\nfuncname f\npath p\n</FUNCTION_INFO>\n".repeat(2);
    assert!(refusal(&twice).contains("a section FUNCTION_INFO for a f already exists"));
    for missing in ["hostname", "funcname", "path"] {
        let lines =
            ["hostname a", "funcname f", "path p"].iter().filter(|line| !line.starts_with(missing));
        let lines: Vec<&str> = lines.copied().collect();
        let said = refusal(&format!("<FUNCTION_INFO>\n{}\n</FUNCTION_INFO>", lines.join("\n")));
        assert_eq!(
            said,
            format!(
                "c.conf:1:1: a section FUNCTION_INFO has no {missing}; add a line: {missing} VALUE"
            )
        );
    }
}

#[test]
fn all_mistakes_are_told_and_their_number_is_bounded() {
    let text = format!("<CLIENT>\n{}</CLIENT>", "nonsense 1\n".repeat(100));
    let said = refusal(&text);
    assert!(said.contains("c.conf:51:1") && !said.contains("c.conf:52:1"), "{said}");
    assert!(said.ends_with("… and 50 more mistakes"), "{said}");
    let error = read_all(&[("c.conf", &text)]).unwrap_err().to_string();
    assert!(error.contains("at: c.conf:2:1") && error.contains("mistakes: 100"), "{error}");
}

#[test]
fn files_include_files_beside_them() {
    let config = read_all(&[
        (
            "/etc/ng/main.conf",
            "<SERVER>\nhostname a\n</SERVER>\n<INCLUDE>\nfilename \
            more/b.conf\n</INCLUDE>\n<SERVER>\nhostname d\n</SERVER>",
        ),
        (
            "/etc/ng/more/b.conf",
            "<SERVER>\nhostname b\n</SERVER>\n<INCLUDE>\nfilename \
            c.conf\nfilename /abs.conf\n</INCLUDE>",
        ),
        (
            "/etc/ng/more/c.conf",
            "<SERVER>\nhostname c\n</SERVER>\n<LOCAL_LDIF>\nfilename \
            x.ngdef\n</LOCAL_LDIF>",
        ),
        ("/abs.conf", "<CLIENT>\nhostname me\n</CLIENT>"),
    ])
    .unwrap();
    let hosts: Vec<&str> = config.servers.iter().map(|server| server.hostname.as_str()).collect();
    assert_eq!((hosts, config.client.hostname.as_str()), (vec!["a", "b", "c", "d"], "me"));
    let file = &config.interface_files[0].files[0];
    assert_eq!(
        file.candidates(),
        [PathBuf::from("x.ngdef"), PathBuf::from("/etc/ng/more/x.ngdef")]
    );
}

#[test]
fn including_has_bounds() {
    let include = |name: &str| format!("<INCLUDE>\nfilename {name}\n</INCLUDE>\n");
    let told = |files: &[(&str, &str)]| said(&read_all(files).unwrap_err());
    let circle = told(&[("a/x", &include("../b/y")), ("a/../b/y", &include("./../a/x"))]);
    assert_eq!(
        circle,
        "a/../b/y:2:10: ./../a/x includes itself; remove one of the INCLUDE sections"
    );
    let missing = told(&[("a/x", &include("y"))]);
    assert!(
        missing.starts_with("a/x:2:10: cannot read a/y: ")
            && missing.contains("directory of the including file"),
        "{missing}"
    );
    // Each file includes another twice: the depth is bounded, and so is the number.
    let deep = |path: &Path| {
        let number: u32 =
            path.to_str().and_then(|name| name.strip_prefix('f')?.parse().ok()).unwrap();
        Ok(include(&format!("f{}", number + 1)).into_bytes())
    };
    let error = Config::read(Path::new("f0"), &surroundings(), &deep).unwrap_err();
    assert!(
        said(&error).starts_with("f15:2:10: INCLUDE is nested more than 16 levels deep"),
        "{}",
        said(&error)
    );
    let many = (0..300).map(|number| format!("filename f{number}\n")).collect::<String>();
    let wide = |path: &Path| {
        Ok(if path == Path::new("top") {
            format!("<INCLUDE>\n{many}</INCLUDE>").into_bytes()
        } else {
            Vec::new()
        })
    };
    let error = Config::read(Path::new("top"), &surroundings(), &wide).unwrap_err();
    assert!(
        said(&error).starts_with("top:257:10: more than 256 files are included"),
        "{}",
        said(&error)
    );
}

#[test]
fn a_file_that_is_not_there_is_another_error_than_one_with_mistakes() {
    let error = Config::load(Path::new("/nowhere/client.conf"), &surroundings()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("/nowhere/client.conf"), "{error}");
    let error = Config::load(Path::new("/tmp"), &surroundings()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// Whatever a file holds, reading it ends with a configuration or with mistakes whose places lie in
/// it.
#[test]
fn noise_is_read_to_its_end() {
    let pieces = [
        "<",
        ">",
        "</",
        "SERVER",
        "CLIENT",
        "INCLUDE",
        "\"",
        "\\",
        "#",
        "\n",
        "\r\n",
        " ",
        "\t",
        "hostname",
        "a",
        "heartbeat",
        "9999999999999999999999",
        "-1",
        "sec",
        "K",
        "=",
        "environment",
        "job_rslExtensions",
        "é",
        "\u{feff}",
        "\0",
        "none",
        "handling_signals",
        "filename",
        "c.conf",
        "SERVER_DEFAULT",
        "tag",
    ];
    let valid = format!("<SERVER>\nhostname a.example\n{SERVER}</SERVER>\n{SOURCE}");
    for seed in 0..1000 {
        let mut random = SeededRandom::new(seed);
        let mut below = |count: usize| (random.next() % count as u64) as usize;
        let mut text: Vec<u8> = if below(2) == 0 { valid.clone().into_bytes() } else { Vec::new() };
        for _ in 0..below(40) {
            let at = below(text.len() + 1);
            match below(3) {
                0 if at < text.len() => text[at] = below(256) as u8,
                1 => drop(text.splice(at..(at + below(9)).min(text.len()), [])),
                _ => drop(text.splice(at..at, pieces[below(pieces.len())].bytes())),
            }
        }
        let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        let Err(error) = Config::read(Path::new("c.conf"), &surroundings(), &|_| Ok(text.clone()))
        else {
            continue;
        };
        let source =
            std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Mistakes>());
        let mistakes = source.unwrap_or_else(|| panic!("seed {seed}: {error}"));
        let within = mistakes
            .list
            .iter()
            .all(|mistake| (1..=lines).contains(&(mistake.place.line as usize)));
        assert!(within && !mistakes.list.is_empty(), "seed {seed}: {mistakes}");
    }
}
