//! `farcall ls`: what a server publishes.

use clap::Args;
use farcall_base::Result;
use farcall_client::Routine;
use farcall_idl::signature::signature;
use serde_json::{Value, json};

use crate::connection::ServerArguments;
use crate::output::{print, print_json, table};

/// Lists routines.
#[derive(Args)]
pub struct LsArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Prints the routines in order of their full names.
pub fn ls(arguments: &LsArguments) -> Result<()> {
    let connection = arguments.server.connect()?;
    let mut routines = connection.client.routines()?;
    routines.sort_by(|a, b| a.name().cmp(b.name()));
    if arguments.json {
        let list: Vec<Value> = routines.iter().map(entry).collect();
        return print_json(&Value::from(list));
    }
    let rows: Vec<_> =
        routines.iter().map(|routine| (routine.name().to_owned(), about(routine))).collect();
    print(|out| table(out, &rows))
}

/// The first line of the description, or else how the routine is called.
fn about(routine: &Routine) -> String {
    let interface = routine.interface();
    let line = interface.doc.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| signature(interface), |line| line.trim().to_owned())
}

fn entry(routine: &Routine) -> Value {
    let interface = routine.interface();
    json!({"full_name": routine.name(), "signature": signature(interface), "doc": interface.doc})
}
