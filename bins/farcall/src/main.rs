//! The `farcall` command: one program that serves, calls and checks.

mod authority;
mod commands;
mod connection;
mod exposed;
mod files;
mod gate;
mod inherited;
mod inspection;
mod output;
mod publish;
mod python;
mod record;
mod serve;
mod shipped;
mod streams;
mod stubs;
mod transports;
mod values;

use std::process::ExitCode;

use clap::Parser;
use commands::Command;

/// Calls numerical routines that live elsewhere as if they were local.
#[derive(Parser)]
#[command(name = "farcall", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    inherited::close_on_exec();
    let arguments = Arguments::parse_from(values::marked_numbers(std::env::args_os()));
    let as_json = arguments.command.tells_errors_as_json();
    match commands::run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            match as_json {
                true => commands::explain_as_json(&error),
                false => commands::explain(&error),
            }
            commands::exit_code(&error)
        }
    }
}
