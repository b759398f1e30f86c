//! The table of what each request does at a metaserver (spec/placement.md, section 10) lists every
//! request and every order there is.

use std::collections::BTreeSet;

const SPEC: &str = include_str!("../../../../spec/placement.md");
const REQUESTS: &str = include_str!("../../src/request.rs");
/// The number of the request that carries orders.
const ADMINISTER: &str = "3";

/// The variants of an enum of the source, with the numbers that they travel with.
fn variants(name: &str) -> Vec<(String, String)> {
    let begin = format!("pub enum {name} {{\n");
    let (_, body) = REQUESTS.split_once(&begin).expect("the enum is there");
    let (body, _) = body.split_once("\n}\n").expect("it ends");
    let mut found = Vec::new();
    let mut number = None;
    for line in body.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[n(") {
            number = rest.split(')').next();
        } else if line.starts_with(|c: char| c.is_ascii_uppercase()) {
            let name = line.split(['(', ',']).next().expect("a word");
            found.push((number.take().expect("its number").to_owned(), name.to_owned()));
        }
    }
    found
}

/// The first column of the table, one request after the other.
fn listed() -> Vec<String> {
    let (_, rest) = SPEC.split_once("### Requests at a metaserver").expect("the section");
    let rows = rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells =
        rows.take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split(',')).map(|one| one.trim().to_owned()).collect()
}

#[test]
fn the_table_lists_every_request() {
    let requests = variants("Request");
    let orders = variants("Order");
    assert!(requests.len() > 14 && orders.len() > 8, "{requests:?} {orders:?}");
    let requests = requests.into_iter().filter(|(number, _)| number != ADMINISTER);
    let requests = requests.map(|(number, name)| format!("{number} {name}"));
    let orders = orders.into_iter().map(|(number, name)| format!("{ADMINISTER}.{number} {name}"));
    let all: BTreeSet<String> = requests.chain(orders).collect();
    let listed = listed();
    let table: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(all, table, "add a row to spec/placement.md, section 10");
    assert_eq!(listed.len(), table.len(), "a request stands in two rows");
}
