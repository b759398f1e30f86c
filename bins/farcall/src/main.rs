//! The `farcall` command: one program that serves, calls and checks.

mod commands;
mod connection;
mod files;
mod gate;
mod inherited;
mod output;
mod own_files;
mod serve;
mod transports;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use commands::Command;

/// Calls numerical routines that live elsewhere as if they were local.
#[derive(Parser)]
#[command(name = "farcall", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Help, the version, or what is wrong with the command line: without waiting forever for a reader,
/// as clap itself would.
fn tell_usage(told: &clap::Error) -> ExitCode {
    let text = told.render();
    let is_error = told.use_stderr();
    let colored = match is_error {
        true => output::is_colored(&std::io::stderr()),
        false => output::is_colored(&std::io::stdout()),
    };
    let text = if colored { text.ansi().to_string() } else { text.to_string() };
    // What is wrong with the limit is told when a command wants it.
    let _ = output::limit_command(false);
    if is_error {
        output::say(text.strip_suffix('\n').unwrap_or(&text));
    } else if let Err(error) = output::print_own(&text) {
        commands::explain(&error);
        return commands::exit_code(&error);
    }
    ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(2))
}

/// Longer lines are hard to read.
const WIDTH_MAX: u16 = 100;

/// Columns of help: those of the terminal, also of one that does not tell its rows.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| size.ws_col);
    if columns == 0 { WIDTH_MAX.into() } else { columns.min(WIDTH_MAX).into() }
}

/// The command line.
fn arguments() -> Result<Arguments, clap::Error> {
    let command = Arguments::command().term_width(width());
    let given = command.try_get_matches_from(values::marked_numbers(std::env::args_os()))?;
    Arguments::from_arg_matches(&given)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(told) => return tell_usage(&told),
    };
    if !arguments.command.passes_descriptors_on() {
        inherited::close_on_exec();
    }
    let as_json = arguments.command.tells_errors_as_json();
    let goes_on = arguments.command.goes_on();
    match output::limit_command(goes_on).and_then(|()| commands::run(arguments.command)) {
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
