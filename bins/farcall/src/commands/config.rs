//! `farcall config show`: the settings of a server, and where each comes from.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches, Subcommand};
use farcall_base::{Error, ErrorKind, Result, printable};
use farcall_client::{Address, settings_there};
use farcall_kernel::Said;

use super::connect::address_of;
use crate::output::{at_most, output, print};
use crate::serve::{ServeArguments, settings_of};

/// Time for all of it: `ssh` may ask for a password and a second factor.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How the kernel calls the text of the defaults.
const DEFAULTS: &str = "default manifest";
/// What the server says to the programs of jobs, which repeats its own settings.
const PASSED_ON: &str = "pilot_options";

/// Shows settings.
#[derive(Args)]
pub struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Show the settings of a server that is started now, and where each comes from
    Show(ShowArguments),
}

#[derive(Args)]
struct ShowArguments {
    /// Show those of your server on this ssh host, as for `farcall connect`
    host: Option<String>,
    /// Show those of a server that reads this configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    manifest: Option<PathBuf>,
    /// Also show the defaults
    #[arg(long, conflicts_with = "host")]
    all: bool,
    /// First word of the status line; set by clients of another host
    #[arg(long, hide = true, requires = "name")]
    mark: Option<String>,
    /// Name of a server that clients of another host share
    #[arg(long, hide = true)]
    name: Option<String>,
    /// Launcher that runs its routines
    #[arg(long, hide = true)]
    launcher: Option<String>,
}

/// Prints them.
pub fn config(arguments: &ConfigArguments) -> Result<()> {
    let ConfigCommand::Show(arguments) = &arguments.command;
    match (&arguments.host, &arguments.name) {
        (Some(host), _) => show_there(host),
        (None, Some(name)) => show_kept(arguments, name),
        (None, None) => {
            let manifest = arguments.manifest.iter();
            let words = manifest.flat_map(|file| ["--manifest".into(), file.into()]).collect();
            let rows = rows(words, arguments.all)?;
            print(|out| out.write_all(text_of(&rows).as_bytes()))
        }
    }
}

fn show_there(host: &str) -> Result<()> {
    let Address::Ssh(address) = address_of(host)? else {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "show settings",
            "a server that runs already does not say its settings",
        )
        .with("address", host)
        .fix("name a host that ssh reaches, or the configuration file: --manifest FILE"));
    };
    let text = settings_there(&address, at_most(TIMEOUT))?;
    print(|out| out.write_all(printable(&text).as_bytes()))
}

/// On the host of a server that a client elsewhere begins.
fn show_kept(arguments: &ShowArguments, name: &str) -> Result<()> {
    let told = farcall_relay::kept(name);
    let mut words: Vec<OsString> = vec!["--listen".into(), format!("relay:{name}").into()];
    words.extend(arguments.launcher.iter().flat_map(|name| ["--launcher".into(), name.into()]));
    words.extend(told.arguments());
    let mut rows = rows(words, false)?;
    rows.retain(|row| row.origin != "--listen");
    for word in told.preparations() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let [key, value] = [key, value].map(str::to_owned);
        rows.push(Said { origin: format!("--{key}"), key, value });
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mark = arguments.mark.as_deref().unwrap_or_default();
    let mut text = format!("{mark} relay {host}\n{}", text_of(&rows));
    if rows.iter().any(|row| row.origin.starts_with("--")) {
        text += &format!("options were given to `farcall connect`, and are kept on {host}\n");
    }
    output().write_all(text.as_bytes()).map_err(|error| Error::system("show settings", error))
}

/// What a server says that is started with these words.
fn rows(words: Vec<OsString>, all: bool) -> Result<Vec<Said>> {
    let command = ServeArguments::augment_args(clap::Command::new("serve").no_binary_name(true));
    let wrong = |error: clap::Error| {
        Error::new(ErrorKind::InvalidArgument, "show settings", error.to_string())
    };
    let matches = command.try_get_matches_from(words).map_err(wrong)?;
    let arguments = ServeArguments::from_arg_matches(&matches).map_err(wrong)?;
    let manifest = settings_of(&arguments)?;
    let mut rows = Vec::new();
    for plugin in &manifest.plugins {
        let said = plugin.options.said()?;
        rows.extend(
            said.into_iter()
                .filter(|said| said.key != PASSED_ON)
                .map(|said| Said { key: format!("{}.{}", plugin.name, said.key), ..said }),
        );
    }
    for row in &mut rows {
        if row.origin.starts_with(DEFAULTS) {
            "default".clone_into(&mut row.origin);
        }
    }
    rows.retain(|row| all || row.origin != "default");
    if let Some(python) = arguments.python() {
        let value = python.display().to_string();
        rows.push(Said { key: "python".to_owned(), value, origin: "--python".to_owned() });
    }
    Ok(rows)
}

/// A line for each: what, its value, and where that was said.
fn text_of(rows: &[Said]) -> String {
    if rows.is_empty() {
        return "all settings are the defaults (farcall config show --all)\n".to_owned();
    }
    let width = |cell: fn(&Said) -> &String| {
        rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0).min(60)
    };
    let key = width(|row| &row.key);
    let value = width(|row| &row.value);
    let line = |row: &Said| format!("{:key$}  {:value$}  {}\n", row.key, row.value, row.origin);
    rows.iter().map(line).collect()
}
