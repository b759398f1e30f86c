//! `farcall ng`: what stands behind `$NG_DIR/bin`, so that Makefiles written for Ninf-G and Ninf
//! work.

mod cc;
mod generate;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use farcall_base::Result;
use farcall_idl::Dialect;

use crate::output::print;
use farcall_publishing::installation::program_directory;

/// The tools of Ninf-G.
#[derive(Args)]
pub struct NgArguments {
    /// Directory that Makefiles use as $NG_DIR [default: the directory ng next to farcall's bin]
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<PathBuf>,
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand)]
enum Tool {
    /// Write the code and the makefile of stub executables (ng_gen)
    Gen(generate::GenerateArguments),
    /// The same for the first Ninf (ninf_gen)
    NinfGen(generate::GenerateArguments),
    /// Compile and link a client (ng_cc, ninfcc)
    Cc(cc::CompilerArguments),
    /// Write the .nrf file of stub executables (ng_gen_nrf)
    GenNrf(list::ListArguments),
    /// Write the .ngdef file of stub executables for Ninf-G 2 (ng_gen_dif)
    GenDif(list::ListArguments),
    /// Print the version (ng_version)
    Version,
    /// Print the options for compiling and linking a client (ng_config)
    Config(cc::ConfigArguments),
}

/// Runs a tool.
pub fn ng(arguments: &NgArguments) -> Result<ExitCode> {
    let prefix = arguments.prefix.clone().unwrap_or_else(|| program_directory().join("../ng"));
    let prefix = std::fs::canonicalize(&prefix).unwrap_or(prefix);
    let success = |()| ExitCode::SUCCESS;
    match &arguments.tool {
        Tool::Gen(arguments) | Tool::NinfGen(arguments) if arguments.version => {
            print_version().map(success)
        }
        Tool::Gen(arguments) => generate::generate(arguments, Dialect::NinfG, &prefix).map(success),
        Tool::NinfGen(arguments) => {
            generate::generate(arguments, Dialect::Ninf, &prefix).map(success)
        }
        Tool::Cc(arguments) => cc::compile(arguments, &prefix),
        Tool::GenNrf(arguments) => list::list(arguments, list::Form::Nrf, &prefix).map(success),
        Tool::GenDif(arguments) => list::list(arguments, list::Form::Ldif, &prefix).map(success),
        Tool::Config(arguments) => cc::config(arguments, &prefix).map(success),
        Tool::Version => print_version().map(success),
    }
}

/// Makefiles ask which Ninf-G this is: the newest whose programs build unchanged.
fn print_version() -> Result<()> {
    print(|out| writeln!(out, "Ninf-G 5.1.0 compatible (Farcall {})", env!("CARGO_PKG_VERSION")))
}
