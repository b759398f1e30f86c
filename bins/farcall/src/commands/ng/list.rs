//! `ng_gen_nrf` and `ng_gen_dif`: files that say which functions this host has, for clients.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_configuration::interface_files::{Stub, ldif, nrf};

use crate::output::print;
use farcall_publishing::stubs::carried;

/// Options of both.
#[derive(Args)]
pub struct ListArguments {
    /// Stub executables, or the .inf files next to them
    #[arg(required_unless_present = "hostname", value_name = "STUB")]
    stubs: Vec<PathBuf>,
    /// Write to this file [default: MODULE.HOST.nrf for each module]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the name of this host as the files have it, and exit
    #[arg(long)]
    hostname: bool,
}

/// Which kind of file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// XML.
    Nrf,
    /// Lines, with XML in base64.
    Ldif,
}

/// Writes a file for each module.
pub fn list(arguments: &ListArguments, form: Form, prefix: &Path) -> Result<()> {
    let host = hostname();
    if arguments.hostname {
        return print(|out| writeln!(out, "{host}"));
    }
    let mut modules: BTreeMap<String, Vec<Stub>> = BTreeMap::new();
    for file in &arguments.stubs {
        let stub = stub(file, &host, prefix)?;
        modules.entry(stub.module.name.clone()).or_default().push(stub);
    }
    if let Some(output) = &arguments.output {
        let all: Vec<Stub> = modules.into_values().flatten().collect();
        return write(output, &text(form, &all));
    }
    let ending = if form == Form::Nrf { "nrf" } else { "ngdef" };
    modules.iter().try_for_each(|(module, stubs)| {
        write(Path::new(&format!("{module}.{host}.{ending}")), &text(form, stubs))
    })
}

fn text(form: Form, stubs: &[Stub]) -> String {
    match form {
        Form::Nrf => nrf(stubs),
        Form::Ldif => ldif(stubs),
    }
}

fn stub(file: &Path, host: &str, prefix: &Path) -> Result<Stub> {
    // `_stub_f.inf` lies beside `_stub_f`.
    let program = if file.extension().is_some_and(|ending| ending == "inf") {
        file.with_extension("")
    } else {
        file.into()
    };
    let path = std::path::absolute(&program)
        .map_err(|error| Error::system("find a stub executable", error))?;
    if !path.is_file() {
        return Err(Error::new(
            ErrorKind::NotFound,
            "describe a stub executable",
            "there is no such program",
        )
        .with("program", program.display())
        .fix("build it first: make -f MODULE.mak"));
    }
    let module = carried(&path)?;
    Ok(Stub { hostname: host.to_owned(), path, prefix: prefix.to_owned(), module })
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).map_err(|error| {
        Error::system("write an interface file", error).with("file", file.display())
    })
}

/// `$NG_HOSTNAME`, or the system's name for this host.
fn hostname() -> String {
    let named = std::env::var("NG_HOSTNAME").ok().filter(|name| !name.is_empty());
    named.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}
