//! `spec/wire.md` says what the code does: its tables of kinds and errors, its limits and its
//! annotated bytes.

use farcall_base::ErrorKind;
use farcall_wire::message::{ARGUMENTS_MAX, CONTROL_BYTES_MAX, HELLO_BYTES_MAX};
use farcall_wire::*;

use crate::body::frame;
use crate::samples::samples;

fn text() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/wire.md")).unwrap()
}

/// The cells of a section's table rows that begin with a number, trimmed.
fn rows(section: &str) -> Vec<Vec<String>> {
    let text = text();
    let begin = text.find(&format!("\n## {section}")).expect(section) + 1;
    let end = text[begin..].find("\n## ").map_or(text.len(), |end| begin + end);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let numbered = |row: &Vec<String>| row[0].parse::<u32>().is_ok();
    text[begin..end]
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(cells)
        .filter(numbered)
        .collect()
}

#[test]
fn table_of_kinds() {
    let said: Vec<(String, String)> =
        rows("3.").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let is: Vec<(String, String)> = (1..=255)
        .filter_map(FrameKind::from_code)
        .map(|kind| ((kind as u8).to_string(), format!("{kind:?}")))
        .collect();
    assert_eq!(said, is);
}

#[test]
fn table_of_errors() {
    let said: Vec<(String, String)> =
        rows("10.").into_iter().map(|row| (row[0].clone(), row[1].replace('`', ""))).collect();
    let is: Vec<(String, String)> = ErrorKind::ALL
        .iter()
        .map(|kind| (kind.code().to_string(), kind.name().to_owned()))
        .collect();
    assert_eq!(said, is);
}

#[test]
fn limits() {
    let rows = rows("9.");
    let default = |key: usize| rows[key - 1][2].as_str();
    let limits = HelloLimits::default();
    let shown = |bytes: u64| farcall_base::Bytes(bytes).to_string();
    assert_eq!(default(1), shown(limits.control_bytes_max.into()));
    assert_eq!(default(2), shown(limits.data_bytes_max.into()));
    assert_eq!(default(3), limits.channels_max.to_string());
    assert_eq!(default(4), shown(limits.initial_credit));
    assert_eq!(default(5), shown(limits.call_bytes_max));
    assert_eq!(default(6), limits.segments_max.to_string());
    assert_eq!(
        (ARGUMENTS_MAX, HELLO_BYTES_MAX, CONTROL_BYTES_MAX),
        (1024, 64 << 10, limits.control_bytes_max)
    );
}

/// Section 14: each line's bytes are left of its bar.
#[test]
fn annotated_bytes() {
    let text = text();
    let mut compared = 0;
    for part in text.split("\n### `").skip(1) {
        let name = part.split('`').next().unwrap();
        let block =
            part.split("```").nth(1).expect("a block of bytes").trim_start_matches("text\n");
        let said: String = block.lines().filter_map(|line| line.split('|').next()).collect();
        let said = said.replace(' ', "");
        let samples = samples();
        let sample = samples.iter().find(|sample| sample.name == name).expect(name);
        let bytes = frame(sample.header, &sample.body.encode());
        let is: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(said, is, "{name}");
        compared += 1;
    }
    assert!(compared >= 6, "the examples are gone");
}
