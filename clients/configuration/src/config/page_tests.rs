//! The page docs/reference/gridrpc-configuration.md names every section and attribute, with what
//! the table says of it.
#![allow(clippy::unwrap_used)]

use super::launch::{KNOWN, UNUSED};
use super::table::{Arity, Attribute, ENVIRONMENT, SECTIONS, SectionKind, Use};
use super::value::Kind;

const PAGE: &str = include_str!("../../../../docs/reference/gridrpc-configuration.md");

/// What an attribute takes, in the page's words.
fn values(attribute: &Attribute) -> String {
    let one = match attribute.kind {
        Kind::Text => "text".to_owned(),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Integer { .. } => "number".to_owned(),
        Kind::Ratio => "number, also with a fraction".to_owned(),
        Kind::Time { unit: 60, .. } => "time, in minutes".to_owned(),
        Kind::Time { .. } => "time".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Level => "log level".to_owned(),
        Kind::Signals => "names of signals, or `none`".to_owned(),
        Kind::Environment => "`VARIABLE` or `VARIABLE=value`".to_owned(),
        Kind::Processors => "`N` or `function=N`".to_owned(),
    };
    match attribute.arity {
        Arity::One => one,
        Arity::Many => format!("{one}; may be repeated"),
        Arity::List => format!("{one}; several, may be repeated"),
    }
}

/// How the row of an attribute begins.
fn row(attribute: &Attribute) -> String {
    let default = match (attribute.required, attribute.default) {
        (true, _) => "required".to_owned(),
        (_, "") => String::new(),
        (_, default) => format!("`{default}`"),
    };
    format!("| `{}` | {} | {default} | ", attribute.name, values(attribute))
}

/// What the page must say of it at the least: that and why it has no effect.
fn reason(attribute: &Attribute) -> String {
    match attribute.effect {
        Use::Obeyed if attribute.not_in_java.is_empty() => String::new(),
        Use::Obeyed => format!(". From Java: no effect: {}", attribute.not_in_java),
        Use::Unused { reason, unless: "" } => format!("no effect: {reason}"),
        Use::Unused { reason, unless } => format!("always as with `{unless}`: {reason}"),
    }
}

/// Whether a row says that an attribute has an effect, and names none that it has not.
fn tells(section: &SectionKind, attribute: &Attribute, rest: &str) -> bool {
    let rest = rest.trim_end_matches(" |");
    match attribute.effect {
        _ if !section.unused.is_empty() => rest.len() > 4,
        Use::Unused { .. } => rest == reason(attribute),
        Use::Obeyed => {
            let own = rest.strip_suffix(&reason(attribute)).unwrap_or_default();
            own.len() > 4 && !own.contains("no effect:") && !own.contains("always as with")
        }
    }
}

fn part(section: &SectionKind) -> &'static str {
    let begin = format!("\n## {}\n", section.name);
    let (_, rest) = PAGE
        .split_once(&begin)
        .unwrap_or_else(|| panic!("the page has no section {}", section.name));
    rest.split("\n## ").next().unwrap()
}

#[test]
fn the_page_says_what_the_table_says() {
    let mut wrong = Vec::new();
    for section in SECTIONS.iter().filter(|section| section.name != "SERVER_DEFAULT") {
        let part = part(section);
        if !section.unused.is_empty() && !part.contains(section.unused) {
            wrong.push(format!("{}: {}", section.name, section.unused));
        }
        let rows: Vec<&str> = part.lines().filter(|line| line.starts_with("| `")).collect();
        for attribute in section.attributes {
            let begin = row(attribute);
            let found = rows.iter().find_map(|line| line.strip_prefix(&begin));
            if !found.is_some_and(|rest| tells(section, attribute, rest)) {
                wrong.push(format!("{}: {begin}{} |", section.name, reason(attribute)));
            }
        }
        if rows.len() != section.attributes.len() {
            wrong.push(format!(
                "{}: {} rows for {} attributes",
                section.name,
                rows.len(),
                section.attributes.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "the page is to say:\n{}", wrong.join("\n"));
}

/// The first columns of a part's table, and what stands beside each.
fn rows(title: &str) -> Vec<(&'static str, &'static str)> {
    let (_, rest) = PAGE.split_once(&format!("\n## {title}\n")).unwrap();
    let part = rest.split("\n## ").next().unwrap();
    let rows = part.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.collect()
}

#[test]
fn the_page_has_the_options_of_launchers_and_the_environment() {
    let options = rows("Options of launchers");
    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [&KNOWN[..], &UNUSED[..]].concat());
    for (name, words) in options {
        assert_eq!(words.starts_with("no effect"), UNUSED.contains(&name), "{name}: {words}");
    }
    let environment: Vec<(&str, &str)> = rows("Environment")
        .into_iter()
        .map(|(name, words)| (name, words.trim_end_matches(" |")))
        .collect();
    assert_eq!(environment, ENVIRONMENT);
}
