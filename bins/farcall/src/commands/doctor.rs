//! `farcall doctor`: looks for what is wrong on this host, and with a server, and says the fix for
//! each.

mod host;
mod judge;
mod manifest;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use farcall_base::Result;
use serde_json::{Value, json};

use crate::connection::RunningServer;
use crate::output::{print, print_json};

/// Finds problems.
#[derive(Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    server: RunningServer,
    /// Also check this configuration file of a server
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// It works, but less well, less safely, or not for long.
    Warning,
    /// It does not work.
    Wrong,
}

/// What was looked at, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What, in a word: stays the same for programs.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    /// Nothing to do.
    pub fn good(name: &'static str, message: impl Into<String>) -> Finding {
        Finding { name, state: State::Good, message: message.into(), fix: None }
    }

    /// Something that may be lived with.
    pub fn warning(
        name: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        Finding { name, state: State::Warning, message: message.into(), fix: Some(fix.into()) }
    }

    /// Something that must be mended.
    pub fn wrong(
        name: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        Finding { name, state: State::Wrong, message: message.into(), fix: Some(fix.into()) }
    }

    fn word(&self) -> &'static str {
        match self.state {
            State::Good => "good",
            State::Warning => "warning",
            State::Wrong => "wrong",
        }
    }

    fn json(&self) -> Value {
        json!({"name": self.name, "state": self.word(), "message": self.message, "fix": self.fix})
    }
}

/// Looks at everything. Fails with 1 when something is wrong.
pub fn doctor(arguments: &DoctorArguments) -> Result<ExitCode> {
    let mut findings = host::findings();
    findings.extend(arguments.manifest.iter().flat_map(|manifest| manifest::findings(manifest)));
    findings.extend(server::findings(&arguments.server));
    if arguments.json {
        let list: Vec<Value> = findings.iter().map(Finding::json).collect();
        print_json(&Value::from(list))?;
    } else {
        let name = |finding: &Finding| finding.name.len();
        let width = findings.iter().map(name).max().unwrap_or(0);
        print(|out| {
            findings.iter().try_for_each(|one| {
                writeln!(out, "{:7}  {:width$}  {}", one.word(), one.name, one.message)?;
                let indent = " ".repeat(width + 11);
                one.fix.iter().try_for_each(|fix| writeln!(out, "{indent}fix: {fix}"))
            })
        })?;
    }
    let wrong = findings.iter().any(|finding| finding.state == State::Wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
