//! The subcommands and what they exit with.

mod administer;
mod bridge;
mod ca;
mod call;
mod check;
mod config;
mod connect;
mod data;
mod doctor;
mod explain;
mod fmt;
mod jobs;
mod keep;
mod launch;
mod ls;
mod ng;
mod objects;
mod pilot;
mod relay;
mod resources;
mod run;
mod scan;
mod servers;
mod service;
mod shell;
mod show;
mod sim;
mod top;
mod transactions;
mod which;

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
    /// Show a routine's parameters, results and description
    Show(show::ShowArguments),
    /// Call a routine
    Call(call::CallArguments),
    /// Submit a call that keeps running after you disconnect, and print its id
    Submit(keep::SubmitArguments),
    /// Fetch the results of a submitted call
    Fetch(keep::FetchArguments),
    /// List the calls that the server keeps, or delete some of them
    Kept(keep::KeptArguments),
    /// List your data on a server, or delete some
    Data(data::DataArguments),
    /// List your transactions on a server, show where the calls of one ran, or end some
    Transactions(transactions::TransactionsArguments),
    /// Start a server that publishes routines
    Serve(ServeArguments),
    /// Start your server on an ssh host and print its address
    Connect(connect::ConnectArguments),
    /// Publish interface files on a running server
    Publish(administer::PublishArguments),
    /// Withdraw modules from a running server; their running calls continue
    Withdraw(administer::WithdrawArguments),
    /// Reload modules of a running server: their files, libraries and code
    Reload(administer::ReloadArguments),
    /// Stop a server after its running calls
    Drain(administer::DrainArguments),
    /// Watch a server's calls, queue and use of resources
    Top(top::TopArguments),
    /// List the servers that a server knows
    Servers(servers::ServersArguments),
    /// Show where a call would run, and why: what it needs on each server
    Explain(explain::ExplainArguments),
    /// List the objects on a server, or delete some of them
    Objects(objects::ObjectsArguments),
    /// List the jobs that run a server's routines on other hosts, or cancel one
    Jobs(jobs::JobsArguments),
    /// Run executables in a job; only launchers start this
    #[command(hide = true)]
    Pilot(pilot::PilotArguments),
    /// Connect the streams of a pilot to a server on this host; only launchers start this
    #[command(hide = true)]
    Bridge(bridge::BridgeArguments),
    /// Connect standard input and output to a server on this host; only `ssh` starts this
    #[command(hide = true)]
    Relay(relay::RelayArguments),
    /// Start jobs for a server: on this host, by ssh or by Slurm
    Launch(launch::LaunchArguments),
    /// Show the settings of a server and where each comes from
    Config(config::ConfigArguments),
    /// Check this host and a server, and print how to fix problems
    Doctor(doctor::DoctorArguments),
    /// Print a systemd unit that runs a server
    Service(service::ServiceArguments),
    /// Create, renew and revoke certificates for servers and users
    Ca(ca::CaArguments),
    /// Check interface files
    Check(check::CheckArguments),
    /// Format interface files (white space only)
    Fmt(fmt::FmtArguments),
    /// Draft an interface file from Fortran sources or C headers
    Scan(scan::ScanArguments),
    /// Run a study of placement: where calls go, in virtual time
    Sim(sim::SimArguments),
    /// Run a wide-area program: its members, in virtual time
    Run(run::RunArguments),
    /// Run the tools of Ninf-G: ng_gen, ng_cc and others
    Ng(ng::NgArguments),
    /// Print a shell's completion script for farcall
    Completions(shell::CompletionsArguments),
    /// Write farcall's man pages to a directory
    Man(shell::ManArguments),
    /// Run a module's routines; only servers start this
    #[command(hide = true)]
    Host(HostArguments),
}

impl Command {
    /// Whether it runs until something stops it, so that no time limit applies to all of it.
    pub fn goes_on(&self) -> bool {
        match self {
            Command::Serve(_)
            | Command::Relay(_)
            | Command::Bridge(_)
            | Command::Pilot(_)
            | Command::Launch(_) => true,
            Command::Host(_) => true,
            Command::Top(arguments) => !arguments.once,
            _ => false,
        }
    }

    /// Whether inherited descriptors are for the program that this one becomes: MPICH's launcher
    /// passes each process a connection to itself.
    pub fn passes_descriptors_on(&self) -> bool {
        matches!(self, Command::Host(arguments) if !arguments.rank.is_empty())
    }

    /// Whether a program reads what the command prints, its errors included.
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
    /// Only check that the module on standard input loads
    #[arg(long)]
    check: bool,
    /// Become this program (a linked executable or an interpreter) with all following arguments
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    run: Vec<OsString>,
    /// Do the same in a process that an MPI launcher starts
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    rank: Vec<OsString>,
    /// The module's name, shown in lists of processes
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
        Command::Data(arguments) => data::data(&arguments).map(success),
        Command::Transactions(arguments) => transactions::transactions(&arguments).map(success),
        Command::Serve(arguments) => serve(&arguments).map(success),
        Command::Publish(arguments) => administer::publish(&arguments).map(success),
        Command::Withdraw(arguments) => administer::withdraw(&arguments).map(success),
        Command::Reload(arguments) => administer::reload(&arguments),
        Command::Drain(arguments) => administer::drain(&arguments).map(success),
        Command::Top(arguments) => top::top(&arguments).map(success),
        Command::Servers(arguments) => servers::servers(&arguments).map(success),
        Command::Explain(arguments) => explain::explain(&arguments).map(success),
        Command::Connect(arguments) => connect::connect(&arguments).map(success),
        Command::Relay(arguments) => relay::relay(&arguments).map(success),
        Command::Objects(arguments) => objects::objects(&arguments).map(success),
        Command::Launch(arguments) => launch::launch(&arguments),
        Command::Jobs(arguments) => jobs::jobs(&arguments).map(success),
        Command::Pilot(arguments) => pilot::pilot(&arguments).map(success),
        Command::Bridge(arguments) => bridge::bridge(&arguments).map(success),
        Command::Config(arguments) => config::config(&arguments).map(success),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Service(arguments) => service::service(&arguments).map(success),
        Command::Ca(arguments) => ca::ca(&arguments).map(success),
        Command::Check(arguments) => check::check(&arguments),
        Command::Fmt(arguments) => fmt::fmt(&arguments),
        Command::Scan(arguments) => scan::scan(&arguments),
        Command::Sim(arguments) => sim::sim(&arguments),
        Command::Run(arguments) => run::run(&arguments).map(success),
        Command::Ng(arguments) => ng::ng(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments).map(success),
        Command::Man(arguments) => shell::man(&arguments).map(success),
        Command::Host(arguments) => Ok(host(&arguments)),
    }
}

fn host(arguments: &HostArguments) -> ExitCode {
    use farcall_executable::serve::{host_main, run_program, run_rank};
    if arguments.check {
        return host_check();
    }
    let status = match (arguments.run.split_first(), arguments.rank.split_first()) {
        (Some((program, arguments)), _) => run_program(Path::new(program), arguments),
        (None, Some((program, arguments))) => run_rank(Path::new(program), arguments),
        (None, None) => host_main(),
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn host_check() -> ExitCode {
    let Err(error) = check_from_stdin() else { return ExitCode::SUCCESS };
    let failure = farcall_wire::message::encode(&farcall_wire::Failure::from(&error));
    let _ = output().write_all(&failure);
    ExitCode::FAILURE
}

/// Tells the person what is wrong: every mistake of an interface file, or what, where and the fix.
pub fn explain(error: &Error) {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<Diagnostics>());
    match source {
        Some(diagnostics) => tell(&diagnostics.to_string()),
        None => tell(&format!("farcall: {error}")),
    }
}

/// The same for a program: one line, from whose `error` it knows the kind.
pub fn explain_as_json(error: &Error) {
    let told = serde_json::json!({
        "error": error.kind().name(), "message": error.to_string(),
        "advice": error.advice(), "retryable": error.is_retryable(),
    });
    tell(&json_line(&told));
}

/// The process's exit status for an error: 2 for what the user wrote, 3 for what is not there, 4
/// for a routine that failed, 1 for everything else.
pub fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        ErrorKind::InvalidArgument | ErrorKind::InvalidSource | ErrorKind::Ambiguous => 2,
        ErrorKind::NotFound | ErrorKind::Unreachable | ErrorKind::Unavailable => 3,
        ErrorKind::RoutineCrashed | ErrorKind::RoutineExited | ErrorKind::RoutineFailed => 4,
        _ => 1,
    })
}
