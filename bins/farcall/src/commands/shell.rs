//! `farcall completions` and `farcall man`: what shells and readers are told of the command line, from its definition.

use std::fs::create_dir_all;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _, ValueEnum};
use clap_complete::Shell;
use farcall_base::{Error, Result};

use crate::Arguments;
use crate::output::print_content;

/// Completions of a shell.
#[derive(Args)]
pub struct CompletionsArguments {
    /// The shell: bash, zsh or fish
    shell: Known,
}

/// Shells that the tests know.
#[derive(Clone, Copy, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// What bash completes ids with: it asks the server that runs, when they are wanted.
const BASH_IDS: &str = include_str!("shell/ids.bash");

/// Manual pages.
#[derive(Args)]
pub struct ManArguments {
    /// The folder for the pages, such as ~/.local/share/man/man1; it is made if it is not there
    #[arg(value_name = "DIRECTORY")]
    folder: PathBuf,
}

/// Prints what the shell reads.
pub fn completions(arguments: &CompletionsArguments) -> Result<()> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    // Into memory first: a reader that has seen enough is no error, and clap takes it for one.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut visible(), "farcall", &mut text);
    if let Known::Bash = arguments.shell {
        text.extend(BASH_IDS.as_bytes());
    }
    print_content(&text)
}

/// Writes a page for the program and each command.
pub fn man(arguments: &ManArguments) -> Result<()> {
    let folder = &arguments.folder;
    let made = create_dir_all(folder).and_then(|()| clap_mangen::generate_to(visible(), folder));
    made.map_err(|error| Error::system("write manual pages", error).with("directory", folder.display()))
}

/// The command line without what only servers use: completions would offer it.
fn visible() -> Command {
    let whole = Arguments::command();
    let shown: Vec<Command> = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let bare = Command::new("farcall").version(env!("CARGO_PKG_VERSION")).subcommand_required(true);
    whole.get_about().cloned().into_iter().fold(bare, Command::about).subcommands(shown)
}
