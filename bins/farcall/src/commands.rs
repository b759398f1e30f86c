//! The subcommands and what they exit with.

mod administer;
mod bridge;
mod ca;
mod call;
mod check;
mod connect;
mod doctor;
mod fmt;
mod jobs;
mod keep;
mod launch;
mod ls;
mod ng;
mod objects;
mod pilot;
mod relay;
mod scan;
mod service;
mod shell;
mod show;
mod top;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::Diagnostics;

use crate::output::{json_line, output, tell};
use crate::serve::{ServeArguments, serve};
use farcall_publishing::module::check_from_stdin;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// List the routines of a server
    Ls(ls::LsArguments),
    /// Show what a routine takes, gives and does
    Show(show::ShowArguments),
    /// Call a routine
    Call(call::CallArguments),
    /// Start a call that the server goes on with alone, and print its id
    Submit(keep::SubmitArguments),
    /// Take the results of a submitted call
    Fetch(keep::FetchArguments),
    /// List the calls that the server keeps, or have some forgotten
    Kept(keep::KeptArguments),
    /// Publish routines and serve them
    Serve(ServeArguments),
    /// Have a server on a host that ssh reaches, and say how programs use it
    Connect(connect::ConnectArguments),
    /// Publish interface files on a server that runs
    Publish(administer::PublishArguments),
    /// Take modules from a server that runs; calls that it has go on
    Withdraw(administer::WithdrawArguments),
    /// Publish modules of a server that runs anew: their files, libraries and code
    Reload(administer::ReloadArguments),
    /// End a server when its calls are over
    Drain(administer::DrainArguments),
    /// Watch who calls what on a server, what waits and what it uses
    Top(top::TopArguments),
    /// List the objects that a server holds, or end some of them
    Objects(objects::ObjectsArguments),
    /// List the jobs that run a server's routines elsewhere, or end one
    Jobs(jobs::JobsArguments),
    /// Run executables for a server elsewhere, as the program of a job; started by launchers only
    #[command(hide = true)]
    Pilot(pilot::PilotArguments),
    /// Lead the connections of a pilot's standard streams to a server of this host; started by launchers only
    #[command(hide = true)]
    Bridge(bridge::BridgeArguments),
    /// Pass the bytes of standard input and output on to a server of this host; started by `ssh`
    #[command(hide = true)]
    Relay(relay::RelayArguments),
    /// Start jobs for a server by the text protocol of launchers: here, on other hosts, or by Slurm
    Launch(launch::LaunchArguments),
    /// Look for what is wrong on this host and with a server, and say the fix for each
    Doctor(doctor::DoctorArguments),
    /// Print a unit that makes a server a service of systemd
    Service(service::ServiceArguments),
    /// Make and revoke the certificates of a server and its users
    Ca(ca::CaArguments),
    /// Check interface files
    Check(check::CheckArguments),
    /// Lay interface files out as all are: same words and comments, other blanks
    Fmt(fmt::FmtArguments),
    /// Draft an interface file from the declarations of a Fortran source
    Scan(scan::ScanArguments),
    /// The tools of Ninf-G: ng_gen, ng_cc and their like
    Ng(ng::NgArguments),
    /// Print what makes a shell complete farcall's commands and options
    Completions(shell::CompletionsArguments),
    /// Write farcall's manual pages into a folder
    Man(shell::ManArguments),
    /// Run a module's routines for a server; started by servers only
    #[command(hide = true)]
    Host(HostArguments),
}

impl Command {
    /// Whether it goes on until somebody ends it, so that no time limit is for all of it.
    pub fn goes_on(&self) -> bool {
        match self {
            Command::Serve(_) | Command::Relay(_) | Command::Bridge(_) | Command::Pilot(_) | Command::Launch(_) => true,
            Command::Host(_) => true,
            Command::Top(arguments) => !arguments.once,
            _ => false,
        }
    }

    /// Whether inherited descriptors are for the program that this one becomes: MPICH's launcher gives each of its processes the
    /// one that leads to it.
    pub fn passes_descriptors_on(&self) -> bool {
        matches!(self, Command::Host(arguments) if !arguments.rank.is_empty())
    }

    /// Whether programs read what is told of a call, its failure included.
    pub fn tells_errors_as_json(&self) -> bool {
        match self {
            Command::Call(arguments) => arguments.json,
            Command::Fetch(arguments) => arguments.json,
            _ => false,
        }
    }
}

/// How the generic host is started.
#[derive(Args)]
pub struct HostArguments {
    /// Only check that the module on standard input can be loaded
    #[arg(long)]
    check: bool,
    /// Become this program, a linked executable or an interpreter, with all arguments that follow
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    run: Vec<OsString>,
    /// The same for a process that an MPI's launcher starts
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    rank: Vec<OsString>,
    /// The module's name, for the list of processes only
    #[arg(value_name = "MODULE")]
    _module: Option<String>,
}

/// Runs a subcommand.
pub fn run(command: Command) -> Result<ExitCode> {
    let success = |()| ExitCode::SUCCESS;
    match command {
        Command::Ls(arguments) => ls::ls(&arguments).map(success),
        Command::Show(arguments) => show::show(&arguments).map(success),
        Command::Call(arguments) => call::call(&arguments).map(success),
        Command::Submit(arguments) => keep::submit(&arguments).map(success),
        Command::Fetch(arguments) => keep::fetch(&arguments).map(success),
        Command::Kept(arguments) => keep::kept(&arguments).map(success),
        Command::Serve(arguments) => serve(&arguments).map(success),
        Command::Publish(arguments) => administer::publish(&arguments).map(success),
        Command::Withdraw(arguments) => administer::withdraw(&arguments).map(success),
        Command::Reload(arguments) => administer::reload(&arguments),
        Command::Drain(arguments) => administer::drain(&arguments).map(success),
        Command::Top(arguments) => top::top(&arguments).map(success),
        Command::Connect(arguments) => connect::connect(&arguments).map(success),
        Command::Relay(arguments) => relay::relay(&arguments).map(success),
        Command::Objects(arguments) => objects::objects(&arguments).map(success),
        Command::Launch(arguments) => launch::launch(&arguments),
        Command::Jobs(arguments) => jobs::jobs(&arguments).map(success),
        Command::Pilot(arguments) => pilot::pilot(&arguments).map(success),
        Command::Bridge(arguments) => bridge::bridge(&arguments).map(success),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Service(arguments) => service::service(&arguments).map(success),
        Command::Ca(arguments) => ca::ca(&arguments).map(success),
        Command::Check(arguments) => check::check(&arguments),
        Command::Fmt(arguments) => fmt::fmt(&arguments),
        Command::Scan(arguments) => scan::scan(&arguments),
        Command::Ng(arguments) => ng::ng(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments).map(success),
        Command::Man(arguments) => shell::man(&arguments).map(success),
        Command::Host(HostArguments { check: false, run, rank, .. }) => {
            use farcall_executable::serve::{host_main, run_program, run_rank};
            let status = match (run.split_first(), rank.split_first()) {
                (Some((program, arguments)), _) => run_program(Path::new(program), arguments),
                (None, Some((program, arguments))) => run_rank(Path::new(program), arguments),
                (None, None) => host_main(),
            };
            Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
        }
        Command::Host(HostArguments { check: true, .. }) => Ok(host_check()),
    }
}

fn host_check() -> ExitCode {
    let Err(error) = check_from_stdin() else { return ExitCode::SUCCESS };
    let failure = farcall_wire::message::encode(&farcall_wire::Failure::from(&error));
    let _ = output().write_all(&failure);
    ExitCode::FAILURE
}

/// Tells the person what is wrong: every mistake of an interface file, or what, where and the fix.
pub fn explain(error: &Error) {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Diagnostics>());
    match source {
        Some(diagnostics) => tell(&diagnostics.to_string()),
        None => tell(&format!("farcall: {error}")),
    }
}

/// The same for a program: one line, from whose `error` it knows the kind.
pub fn explain_as_json(error: &Error) {
    let told = serde_json::json!({
        "error": error.kind().name(), "message": error.to_string(), "advice": error.advice(), "retryable": error.is_retryable(),
    });
    tell(&json_line(&told));
}

/// The process's exit status for an error: 2 for what the user wrote, 3 for what is not there, 4 for a routine that
/// failed, 1 for everything else.
pub fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        ErrorKind::InvalidArgument | ErrorKind::InvalidSource | ErrorKind::Ambiguous => 2,
        ErrorKind::NotFound | ErrorKind::Unreachable | ErrorKind::Unavailable => 3,
        ErrorKind::RoutineCrashed | ErrorKind::RoutineExited | ErrorKind::RoutineFailed => 4,
        _ => 1,
    })
}
