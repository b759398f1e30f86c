//! `farcall publish`, `withdraw`, `reload`, `drain`: what a server that runs is told to do.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Client, ModuleReport, Order, Published};
use serde_json::{Value, json};

use crate::connection::ChosenServer;
use crate::output::{end_by, notice, print, print_json, table, tell as say};

/// Time to connect, where no other is given.
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// Time for compiling and linking one file, or all.
const BUILD_MAX: Duration = Duration::from_secs(3600);
/// Time for what a server does at once.
const ORDER_MAX: Duration = Duration::from_secs(60);
/// Time that a server has beyond that of its calls. After it, the command reports that the server
/// does not stop.
const END_MAX: Duration = Duration::from_millis(900);

/// A user who reloads a server may have changed something else.
const NOT_RELOADED: &str = "modules and rights were read again; limits and addresses are read when \
    a server starts";

/// Publishes files.
#[derive(Args)]
pub struct PublishArguments {
    /// Interface files or Python files, or names of libraries that come with Farcall (lapack,
    /// fftw). To a server on another host the files are sent, with those that they refer to; a file
    /// that is not here is read on the server's host
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Publish them again whenever the server is started again
    #[arg(long)]
    stay: bool,
    /// Print what was published as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Withdraws modules.
#[derive(Args)]
pub struct WithdrawArguments {
    /// The modules
    #[arg(required = true)]
    modules: Vec<String>,
    /// Print what was withdrawn as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Reloads modules.
#[derive(Args)]
pub struct ReloadArguments {
    /// The modules [default: all]
    modules: Vec<String>,
    /// Print what happened to each module as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Stops a server.
#[derive(Args)]
pub struct DrainArguments {
    /// Seconds after which the server stops even if calls still run [default: the server's
    /// drain_ms]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Print how long it took as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Publishes each file; stops at the first that fails.
pub fn publish(arguments: &PublishArguments) -> Result<()> {
    let client = arguments.server.connect_to_order(CONNECT_MAX)?;
    let mut published = Vec::new();
    let done = arguments.files.iter().try_for_each(|file| {
        let reports = give(&client, file, arguments.stay)?;
        match arguments.json {
            true => published.extend(reports.iter().map(value)),
            false => tell(&reports)?,
        }
        Ok(())
    });
    // What was published before a mistake is.
    if arguments.json {
        print_json(&published.into())?;
    }
    done
}

/// Publishes a file: a server on this host reads it where it is, another one is sent it.
fn give(client: &Client, file: &Path, stay: bool) -> Result<Vec<ModuleReport>> {
    let is_elsewhere = !client.address().starts_with("unix:");
    if is_elsewhere && file.is_file() && client.takes_files() {
        return client.publish(Published::of_file(file)?, stay, BUILD_MAX);
    }
    let named = named(file)?;
    let told = match stay {
        true => client.publish_there(named, BUILD_MAX),
        false => client.administer(Order::Publish(named), BUILD_MAX),
    };
    told.map_err(|error| missing_there(error, is_elsewhere, file))
}

/// An older server reads the file on its own host. Users forget this when the host is another one.
fn missing_there(error: Error, is_elsewhere: bool, file: &Path) -> Error {
    if error.kind() == ErrorKind::NotFound && is_elsewhere && file.exists() {
        error.fix(
            "the file is on this host, and the server reads files of its own host: copy it there, \
             and pass its full path there",
        )
    } else {
        error
    }
}

/// Withdraws each module.
pub fn withdraw(arguments: &WithdrawArguments) -> Result<()> {
    let client = arguments.server.connect_to_order(CONNECT_MAX)?;
    let mut withdrawn = Vec::new();
    let done = arguments.modules.iter().try_for_each(|module| {
        client.administer(Order::Withdraw(module.clone()), ORDER_MAX)?;
        withdrawn.push(json!({"module": module}));
        Ok(())
    });
    if arguments.json {
        print_json(&withdrawn.into())?;
    }
    done
}

/// Reloads modules. Fails after all were tried, when one could not be reloaded.
pub fn reload(arguments: &ReloadArguments) -> Result<ExitCode> {
    let client = arguments.server.connect_to_order(CONNECT_MAX)?;
    let reports = if arguments.modules.is_empty() {
        client.administer(Order::Reload(None), BUILD_MAX)?
    } else {
        each(&client, &arguments.modules)?
    };
    match arguments.json {
        true => print_json(&reports.iter().map(value).collect())?,
        false => tell(&reports)?,
    }
    if arguments.modules.is_empty() && !arguments.json {
        notice(NOT_RELOADED);
    }
    let failed = reports.iter().any(|report| report.failure.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn each(client: &Client, modules: &[String]) -> Result<Vec<ModuleReport>> {
    let mut reports = Vec::new();
    for module in modules {
        reports.extend(client.administer(Order::Reload(Some(module.clone())), BUILD_MAX)?);
    }
    Ok(reports)
}

/// Waits until no call is open; then the server stops.
pub fn drain(arguments: &DrainArguments) -> Result<()> {
    let milliseconds = arguments.timeout.map(milliseconds).transpose()?;
    let limit = milliseconds.map(|time| Duration::from_millis(time).saturating_add(END_MAX));
    let client = arguments.server.connect_to_order(limit.unwrap_or(CONNECT_MAX))?;
    let begin = Instant::now();
    limit.and_then(|limit| begin.checked_add(limit)).into_iter().for_each(end_by);
    let patience = limit.unwrap_or(BUILD_MAX);
    client.administer(Order::Drain(milliseconds), patience)?;
    if arguments.json {
        print_json(&json!({"seconds": begin.elapsed().as_secs_f64()}))?;
    }
    Ok(())
}

/// What became of a module; the keys are stable.
fn value(report: &ModuleReport) -> Value {
    json!({
        "module": report.module,
        "routines": report.routines,
        "warnings": report.warnings,
        "failure": report.failure.clone().map(|failure| Error::from(failure).to_string()),
    })
}

fn milliseconds(seconds: f64) -> Result<u64> {
    let time = Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|time| u64::try_from(time.as_millis()).ok());
    time.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "drain a server", format!("{seconds} is not a time"))
            .fix("write seconds: --timeout 30")
    })
}

/// A file by its whole path; a bare name that is no file here stands for what comes with the
/// server.
pub fn named(file: &Path) -> Result<String> {
    let bare = file.components().count() == 1 && file.extension().is_none() && !file.exists();
    let path = if bare { file.to_path_buf() } else { absolute(file)? };
    path.into_os_string().into_string().map_err(|path| {
        Error::new(ErrorKind::InvalidArgument, "publish a file", "its path is not UTF-8")
            .with("path", path.display())
    })
}

fn absolute(file: &Path) -> Result<PathBuf> {
    std::path::absolute(file).map_err(|error| Error::system("publish a file", error))
}

fn tell(reports: &[ModuleReport]) -> Result<()> {
    for report in reports {
        if !report.warnings.trim().is_empty() {
            say(report.warnings.trim_end());
        }
        if let Some(failure) = &report.failure {
            notice(&format!(
                "{} is served as before: {}",
                report.module,
                Error::from(failure.clone())
            ));
        }
    }
    let done = reports.iter().filter(|report| report.failure.is_none());
    let rows: Vec<_> =
        done.map(|report| (report.module.clone(), routines(report.routines))).collect();
    print(|out| table(out, &rows))
}

fn routines(count: u32) -> String {
    if count == 1 { "1 routine".to_owned() } else { format!("{count} routines") }
}
