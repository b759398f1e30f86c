//! Who the clients of scripts are, and what tables give them.

use crate::access::{self, Entry, Principal, Rights};

/// Of a client that connects with these words: `as NAME`, `eve`, or the server's own user.
pub fn of(words: &[&str]) -> Rights {
    match words.iter().position(|word| *word == "as") {
        Some(at) => rights_beside_servers(&words[at + 1..].join(" ")),
        None if words.contains(&"eve") => rights_of_eve(),
        None => Rights::all("uid 1"),
    }
}

/// Of a user who may call one module of the two.
pub fn table_of_eve(modules: &[&str]) -> [Entry; 1] {
    let call = modules.iter().map(|module| (*module).to_owned()).collect();
    [Entry { who: vec!["eve".into()], call, ..Entry::default() }]
}

/// Hers, by that table.
fn rights_of_eve() -> Rights {
    let principal = Principal { name: "eve".into(), owns_server: false };
    access::rights(&table_of_eve(&["m"]), &principal)
}

/// By the table of servers.txt; `uid 1` is the server's own user.
fn rights_beside_servers(name: &str) -> Rights {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let all = Entry { who: list(&["*"]), call: list(&["*"]), ..Entry::default() };
    let who = list(&["anna", "uid 1"]);
    let table = [
        all.clone(),
        Entry { who, publish: true, administer: true, ..all },
        Entry { who: list(&["server:a.example"]), join: true, ..Entry::default() },
    ];
    access::rights(&table, &Principal { name: name.to_owned(), owns_server: name == "uid 1" })
}
