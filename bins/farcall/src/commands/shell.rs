//! `farcall completions` and `farcall man`: made from the definition of the command line.

mod pages;

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
    /// The shell
    shell: Known,
}

/// Shells that the tests know.
#[derive(Clone, Copy, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// How bash completes ids: it asks the running server.
const BASH_IDS: &str = include_str!("shell/ids.bash");

/// Manual pages.
#[derive(Args)]
pub struct ManArguments {
    /// Directory for the pages, such as ~/.local/share/man/man1; created if it does not exist
    #[arg(value_name = "DIRECTORY")]
    folder: PathBuf,
}

/// Prints the completion script of a shell.
pub fn completions(arguments: &CompletionsArguments) -> Result<()> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    // Into memory first: clap reports an error when the reader closes the pipe.
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
    let made = create_dir_all(folder).and_then(|()| pages::write(&visible(), folder));
    made.map_err(|error| {
        Error::system("write manual pages", error).with("directory", folder.display())
    })
}

/// The command line without what only servers use, so that completions do not offer it.
fn visible() -> Command {
    let whole = Arguments::command();
    let shown: Vec<Command> =
        whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let bare = Command::new("farcall").version(env!("CARGO_PKG_VERSION")).subcommand_required(true);
    whole.get_about().cloned().into_iter().fold(bare, Command::about).subcommands(shown)
}
