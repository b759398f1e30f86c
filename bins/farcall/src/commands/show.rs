//! `farcall show`: what a routine takes, gives and does.

use clap::Args;
use farcall_base::{Result, printable_json};
use farcall_idl::help::help_page;
use farcall_idl::idl::to_idl;
use farcall_idl::json::to_json;

use crate::connection::ServerArguments;
use crate::output::print;

/// Shows a routine's interface.
#[derive(Args)]
pub struct ShowArguments {
    /// The routine: MODULE/NAME, or NAME if only one module has it
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
    let routine = connection.client.routine(&arguments.name)?;
    let interface = routine.interface();
    let text = match arguments {
        ShowArguments { json: true, .. } => {
            printable_json(&format!("{:#}", to_json(interface))).into_owned()
        }
        ShowArguments { idl: true, .. } => to_idl(interface),
        _ => help_page(interface),
    };
    print(|out| writeln!(out, "{}", text.trim_end()))
}
