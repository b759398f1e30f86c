//! `farcall show`: what a routine takes, gives and does, and what a class is.

use std::collections::BTreeSet;

use clap::Args;
use farcall_base::{ErrorKind, Result, printable_json};
use farcall_client::{Client, Routine};
use farcall_idl::class_page::class_page;
use farcall_idl::help::help_page;
use farcall_idl::idl::to_idl;
use farcall_idl::interface::Interface;
use farcall_idl::json::to_json;
use serde_json::json;

use crate::connection::ServerArguments;
use crate::output::print;

/// Shows a routine's interface, or a class and its methods.
#[derive(Args)]
pub struct ShowArguments {
    /// The routine or class: MODULE/NAME, or NAME if only one module has it
    name: String,
    #[command(flatten)]
    server: ServerArguments,
    /// Print JSON
    #[arg(long, conflicts_with = "idl")]
    json: bool,
    /// Print the interface file's text
    #[arg(long)]
    idl: bool,
}

/// Prints the help page, or the interface as data.
pub fn show(arguments: &ShowArguments) -> Result<()> {
    let connection = arguments.server.connect()?;
    let text = match connection.client.routine(&arguments.name) {
        Ok(routine) => text_of_routine(arguments, routine.interface()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let methods = methods_of(&connection.client, &arguments.name)?;
            let methods: Vec<&Interface> = methods.iter().map(Routine::interface).collect();
            text_of_class(arguments, &methods).ok_or(error)?
        }
        Err(error) => return Err(error),
    };
    print(|out| writeln!(out, "{}", text.trim_end()))
}

fn text_of_routine(arguments: &ShowArguments, interface: &Interface) -> String {
    match arguments {
        ShowArguments { json: true, .. } => {
            printable_json(&format!("{:#}", to_json(interface))).into_owned()
        }
        ShowArguments { idl: true, .. } => to_idl(interface),
        _ => help_page(interface),
    }
}

/// The methods of the class of that name; none where there is no such class, or several modules
/// have one.
fn methods_of(client: &Client, name: &str) -> Result<Vec<Routine>> {
    let mut methods = client.routines()?;
    methods.retain(|routine| {
        let interface = routine.interface();
        let full = interface.full_class();
        full.as_deref() == Some(name) || (full.is_some() && interface.class == name)
    });
    let modules: BTreeSet<&str> =
        methods.iter().map(|routine| routine.interface().module.as_str()).collect();
    if modules.len() > 1 {
        methods.clear();
    }
    Ok(methods)
}

/// `None` for a class without methods: no such class exists.
fn text_of_class(arguments: &ShowArguments, methods: &[&Interface]) -> Option<String> {
    let first = *methods.first()?;
    Some(match arguments {
        ShowArguments { json: true, .. } => {
            let all: Vec<_> = methods.iter().map(|method| to_json(method)).collect();
            let class =
                json!({ "class": first.full_class(), "doc": first.class_doc, "methods": all });
            printable_json(&format!("{class:#}")).into_owned()
        }
        ShowArguments { idl: true, .. } => {
            methods.iter().map(|method| to_idl(method)).collect::<Vec<_>>().join("\n")
        }
        _ => class_page(methods),
    })
}
