//! Every attribute of the table either changes what is read, or is named in one warning.
#![allow(clippy::unwrap_used)]

use super::launch::{KNOWN, UNUSED};
use super::table::{Attribute, SECTIONS, SectionKind, Use};
use super::tests::{read_all, said};
use super::value::Kind;
use super::*;

/// What a section has beside the attribute: what it must have, and what makes the attribute count.
fn beside(section: &SectionKind, attribute: &Attribute) -> Vec<&'static str> {
    let mut lines = match section.name {
        "SERVER" => vec!["hostname a"],
        "FUNCTION_INFO" => vec!["hostname a", "funcname m/f", "path /x"],
        "INFORMATION_SOURCE" => vec!["type NRF", "tag t", "source f.nrf"],
        "INVOKE_SERVER" => vec!["type SSH"],
        "CLIENT_COMMUNICATION_PROXY" => vec!["type GT"],
        "MDS_SERVER" => vec!["hostname m"],
        "LOCAL_LDIF" => vec!["filename f.ngdef"],
        "INCLUDE" => vec!["filename first.conf"],
        _ => vec![],
    };
    lines.extend(match attribute.name {
        "commLog_enable" | "debug" => None,
        name if name.starts_with("commLog_") => Some("commLog_enable true"),
        name if name.starts_with("debug_") => Some("debug true"),
        "compress_threshold" => Some("compress zlib"),
        "invoke_server_option" => Some("invoke_server SSH"),
        _ => None,
    });
    lines
}

/// A value that says something else than the default, and than what Farcall always does.
fn value(section: &SectionKind, attribute: &Attribute) -> String {
    let always = match attribute.effect {
        Use::Unused { unless, .. } if !unless.is_empty() => unless,
        _ => attribute.default,
    };
    let other = |words: &[&str]| {
        words.iter().find(|word| **word != always).map_or_else(String::new, |word| word.to_string())
    };
    match attribute.kind {
        Kind::Text => match (section.name, attribute.name) {
            ("INFORMATION_SOURCE", "type") => "MDS4".to_owned(),
            ("INVOKE_SERVER", "type") => "Condor".to_owned(),
            (_, "type" | "communication_proxy") => "SSH".to_owned(),
            (_, "invoke_server") => "Slurm".to_owned(),
            ("INVOKE_SERVER", "option") | (_, "invoke_server_option") => {
                "\"ssh_user me\"".to_owned()
            }
            (_, "information_source_tag") => "first".to_owned(),
            _ => "other".to_owned(),
        },
        Kind::Flag => other(&["true", "false"]),
        Kind::Choice(words) => other(words),
        Kind::Integer { least, most } => 3.clamp(least, most).to_string(),
        Kind::Ratio => "3.5".to_owned(),
        Kind::Time { .. } => "77".to_owned(),
        Kind::Size => "96K".to_owned(),
        Kind::Level => "5".to_owned(),
        Kind::Signals => "SIGUSR1".to_owned(),
        Kind::Environment => "A=1".to_owned(),
        Kind::Processors => "4".to_owned(),
    }
}

/// Reads the section with these lines, so often, beside a server and what it may name.
fn read(section: &SectionKind, lines: &[String], times: usize) -> Config {
    let mut text = "<INFORMATION_SOURCE>\ntype NRF\ntag first\n</INFORMATION_SOURCE>\n".to_owned();
    if section.name != "SERVER" {
        text += "<SERVER>\nhostname z\ninvoke_server SSH\n</SERVER>\n";
    }
    let lines = lines.join("\n");
    for number in 0..times {
        // Another section is one of another host, tag or type.
        let lines = if number == 0 {
            lines.clone()
        } else {
            let renamed = [
                ("hostname a", "hostname b"),
                ("hostname other", "hostname another"),
                ("tag t", "tag u"),
                ("tag other", "tag another"),
            ];
            renamed.iter().fold(lines.clone(), |lines, (one, two)| lines.replace(one, two))
        };
        text += &format!("<{0}>\n{lines}\n</{0}>\n", section.name);
    }
    let files = [
        ("c.conf", text.as_str()),
        ("first.conf", "# nothing\n"),
        ("other", "<CLIENT>\nloglevel 5\n</CLIENT>\n"),
    ];
    read_all(&files).unwrap_or_else(|error| panic!("{text}\n{}", said(&error)))
}

/// What an attribute comes to: whether it changes what is read, and the warnings about it.
fn effect(section: &SectionKind, attribute: &Attribute, times: usize) -> (bool, Vec<String>) {
    let line = format!("{} {}", attribute.name, value(section, attribute));
    let begin = format!("{} ", attribute.name);
    let beside = beside(section, attribute);
    let without: Vec<String> = beside.iter().map(|line| (*line).to_owned()).collect();
    // Of what must be there, it takes the place.
    let mut with: Vec<String> =
        beside.iter().filter(|line| !line.starts_with(&begin)).map(|l| (*l).to_owned()).collect();
    with.push(line);
    let without = read(section, &without, times);
    let with = read(section, &with, times);
    let is_new = |remark: &&Remark| without.warnings.iter().all(|known| known != *remark);
    let warnings = with.warnings.iter().filter(is_new).map(|remark| remark.message.clone());
    let warnings = warnings.collect();
    let plain = |config: &Config| Config {
        warnings: Vec::new(),
        java_warning: None,
        // One more line moves all that follow, which is no effect.
        interface_files: config.interface_files.iter().map(nowhere).collect(),
        servers: servers(config),
        functions: functions(config),
        ..config.clone()
    };
    (plain(&with) != plain(&without), warnings)
}

fn servers(config: &Config) -> Vec<Server> {
    let moved = |server: &Server| Server { place: no_place(), ..server.clone() };
    config.servers.iter().map(moved).collect()
}

fn functions(config: &Config) -> Vec<FunctionInfo> {
    let moved = |info: &FunctionInfo| FunctionInfo { place: no_place(), ..info.clone() };
    config.functions.iter().map(moved).collect()
}

fn no_place() -> Place {
    Place { file: Path::new("").into(), line: 0, column: 0 }
}

/// The files without the places of their names.
fn nowhere(files: &InterfaceFiles) -> InterfaceFiles {
    let place = no_place();
    let named = |file: &NamedFile| NamedFile { name: file.name.clone(), place: place.clone() };
    InterfaceFiles { tag: files.tag.clone(), files: files.files.iter().map(named).collect() }
}

/// How often such a section may stand in a file.
fn times(section: &SectionKind) -> usize {
    if matches!(section.name, "SERVER" | "FUNCTION_INFO" | "INFORMATION_SOURCE") { 2 } else { 1 }
}

#[test]
fn every_attribute_is_obeyed_or_named_in_one_warning() {
    let mut count = 0;
    for section in SECTIONS {
        for attribute in section.attributes {
            count += 1;
            let (changes, warnings) = effect(section, attribute, times(section));
            let what = format!("{} {}: {changes}, {warnings:?}", section.name, attribute.name);
            match attribute.effect {
                // All of these sections is without effect, or a type of its own decides.
                _ if !section.unused.is_empty() => assert!(warnings.len() <= 1, "{what}"),
                // Of the other type of sources, files are not read.
                Use::Obeyed if attribute.name == "type" => {
                    assert!(changes && warnings.len() == 1, "{what}");
                }
                Use::Obeyed => assert!(changes && warnings.is_empty(), "{what}"),
                Use::Unused { reason, .. } => {
                    let words = format!("{} has no effect: {reason}", attribute.name);
                    // With a job manager of Globus, the port beside it is Globus's, too.
                    let is_read = attribute.name == "jobmanager";
                    assert!(changes == is_read && warnings == [words], "{what}");
                }
            }
        }
    }
    assert!(count > 170, "the table was not read: {count}");
}

#[test]
fn what_farcall_always_does_is_no_reason_for_a_warning() {
    for section in SECTIONS.iter().filter(|section| section.unused.is_empty()) {
        for attribute in section.attributes {
            let Use::Unused { unless, .. } = attribute.effect else { continue };
            if unless.is_empty() {
                continue;
            }
            let mut lines: Vec<String> =
                beside(section, attribute).into_iter().map(str::to_owned).collect();
            lines.push(format!("{} {unless}", attribute.name));
            let config = read(section, &lines, 1);
            assert!(config.warnings.is_empty(), "{}: {:?}", attribute.name, config.warnings);
        }
    }
}

/// Sections that stand for something that Farcall does not need: each is one warning, whatever is
/// in it.
#[test]
fn sections_and_types_without_effect_are_named_once() {
    let full = |section: &SectionKind, kind: &str| {
        let lines = section.attributes.iter().map(|attribute| match attribute.name {
            "type" => format!("type {kind}"),
            name => format!("{name} {}", value(section, attribute)),
        });
        lines.filter(|line| !line.starts_with("option")).collect::<Vec<String>>()
    };
    for (section, kind, words) in [
        (&table::MDS_SERVER, "MDS2", "MDS_SERVER has no effect"),
        (&table::PROXY, "GT", "the type GT has no effect"),
        (&table::INVOKE_SERVER, "GT4py", "the type GT4py has no effect"),
        (
            &table::INVOKE_SERVER,
            "SSH",
            "path, max_jobs, log_filePath, status_polling have no effect: for the type SSH",
        ),
    ] {
        let config = read(section, &full(section, kind), 1);
        let said: Vec<&str> = config.warnings.iter().map(|one| one.message.as_str()).collect();
        assert!(said.len() == 1 && said[0].starts_with(words), "{said:?}");
    }
    for kind in ["GT2c", "GT4py", "GT4java", "UNICORE", "NAREGISS", "SSH_Condor", "Condor"] {
        let lines = ["hostname a".to_owned(), format!("invoke_server {kind}")];
        let config = read(&table::SERVER, &lines, 2);
        let said: Vec<&str> = config.warnings.iter().map(|one| one.message.as_str()).collect();
        assert!(said.len() == 1 && said[0].contains(&format!("the type {kind}")), "{said:?}");
    }
}

#[test]
fn every_option_of_a_launcher_is_obeyed_or_named_in_one_warning() {
    let with = |option: &str| {
        let option = format!("invoke_server_option \"{option} 7\"");
        read(&table::SERVER, &["hostname a".to_owned(), "invoke_server SSH".to_owned(), option], 2)
    };
    let plain = read(&table::SERVER, &["hostname a".to_owned(), "invoke_server SSH".to_owned()], 2);
    for option in KNOWN {
        let config = with(option);
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        assert_ne!(config.servers[0].launch, plain.servers[0].launch, "{option}");
    }
    for option in UNUSED {
        let config = with(option);
        let said: Vec<&str> = config.warnings.iter().map(|one| one.message.as_str()).collect();
        let words = format!("the option {option} has no effect: ");
        assert!(said.len() == 1 && said[0].starts_with(&words), "{said:?}");
        assert_eq!(config.servers[0].launch, plain.servers[0].launch, "{option}");
    }
}

/// All of it in one warning, for programs in Java alone.
#[test]
fn what_has_no_effect_in_java_is_one_warning() {
    for section in SECTIONS {
        for attribute in section.attributes.iter().filter(|one| !one.not_in_java.is_empty()) {
            assert_eq!(attribute.effect, Use::Obeyed, "{}", attribute.name);
            let mut lines: Vec<String> =
                beside(section, attribute).into_iter().map(str::to_owned).collect();
            lines.push(format!("{} {}", attribute.name, value(section, attribute)));
            let config = read(section, &lines, times(section));
            let said = config.java_warning.unwrap().message;
            let words = format!("{} ({})", attribute.name, attribute.not_in_java);
            assert_eq!(said, format!("no effect on calls from Java: {words}"));
            assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        }
    }
    let lines = ["hostname a", "debug true", "argument_transfer copy"].map(str::to_owned);
    let config = read(&table::SERVER, &lines, 2);
    assert_eq!(
        config.java_warning.unwrap().to_string(),
        "c.conf:7:7: no effect on calls from Java: debug (no debugger is attached), \
         argument_transfer (calls wait for their end)"
    );
    let defaults = ["hostname a", "debug false", "argument_transfer wait"].map(str::to_owned);
    assert!(read(&table::SERVER, &defaults, 1).java_warning.is_none());
}
