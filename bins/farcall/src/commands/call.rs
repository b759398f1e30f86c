//! `farcall call`: one call with arguments from the command line and files.

mod bar;
mod elements;
mod interrupt;
mod json;
mod readable;
mod screen;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Argument, CallOptions, News, Output, Outputs, Routine};
use farcall_idl::interface::{ElementType, Interface, Mode, Order, Parameter, Shape};
use farcall_idl::nearest;
use farcall_idl::signature::{needed, positional, results, signature};

use super::resources::ResourceArguments;
use crate::connection::{Connection, ServerArguments};
use crate::files::{Pending, place_of};
use crate::output::{end, end_by, print};
use crate::values::{Value, unmarked, value};
use farcall_formats::Data;
use interrupt::Interrupt;
use screen::{ProgressForm, Screen};

/// Interval between checks of the progress of the call's arrays and of an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Calls a routine.
#[derive(Args)]
pub struct CallArguments {
    /// The routine: MODULE/NAME, or NAME if only one module has it
    name: String,
    /// Arguments in the order of `farcall show`, or by name (NAME=VALUE): 3, 0.5, 1+2j, text,
    /// [[1,2],[3,4]], @file.npy, @file.mtx, or @- for a NumPy file on standard input
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    arguments: Vec<String>,
    /// Write a result to a file (arrays as .npy or .mtx) instead of printing it; may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    out: Vec<String>,
    /// Time limit for connecting and the call; starting a private server does not count
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    timeout: Option<Duration>,
    /// Time limit for the routine once it runs; time in the queue does not count
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    run_timeout: Option<Duration>,
    /// Number of MPI processes for the call, if MPI starts the routine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Run on this server, of those that the server knows, and on no other: a name or an address that
    /// `farcall servers` lists
    #[arg(long, value_name = "ADDRESS")]
    at: Option<String>,
    #[command(flatten)]
    resources: ResourceArguments,
    /// Print the routine's progress as lines on standard error, even if it is not a terminal
    #[arg(long, conflicts_with = "quiet")]
    progress: bool,
    /// Hide the routine's output and all progress
    #[arg(short, long)]
    quiet: bool,
    /// Print the results as a JSON object, and progress as one JSON object per line on standard
    /// error
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    server: ServerArguments,
}

impl CallArguments {
    /// The time limit that is given, or that of every command.
    fn timeout(&self) -> Option<Duration> {
        self.timeout.or_else(|| end().map(|end| end.saturating_duration_since(Instant::now())))
    }

    fn progress_form(&self) -> ProgressForm {
        match (self.quiet, self.json, self.progress) {
            (true, ..) => ProgressForm::None,
            (_, true, _) => ProgressForm::Json,
            (_, _, true) => ProgressForm::Lines,
            _ => ProgressForm::Bar,
        }
    }
}

/// A timeout, in seconds or with its unit: `90s`, `15m`, `12h`, `7d`. Zero would end every call
/// before it begins.
pub(super) fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let units = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86400.0)];
    let written = units.iter().find_map(|(unit, each)| Some((text.strip_suffix(*unit)?, *each)));
    let (number, each) = written.unwrap_or((text, 1.0));
    let wrong = "it is not a number of seconds, nor a time such as 90s, 15m, 12h or 7d";
    let number: f64 = number.parse().map_err(|_| wrong.to_owned())?;
    Duration::try_from_secs_f64(number * each)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "a timeout must be a positive number of seconds".to_owned())
}

/// A result that goes into a file, by parameter.
pub(super) type Files = Vec<(usize, Pending)>;

/// Reads the arguments, makes the call, prints its results.
pub fn call(arguments: &CallArguments) -> Result<()> {
    let (connection, deadline) = connect(arguments)?;
    let routine = match deadline {
        // The connection's own patience may end first: it is the same time.
        Some(deadline) => {
            match connection.client.routine_within(&arguments.name, deadline.left()) {
                Err(error) if error.kind() == ErrorKind::TimedOut => None,
                found => found?,
            }
        }
        None => Some(connection.client.routine(&arguments.name)?),
    };
    let routine = routine.ok_or_else(|| {
        late("the server does not show the interface of the routine", arguments.timeout())
    })?;
    let interface = routine.interface();
    let mut values: Vec<(usize, Value)> = Vec::new();
    // Files of the user's that the routine writes, by parameter.
    let mut replaced: Vec<(usize, PathBuf)> = Vec::new();
    for (index, text) in assign(interface, &arguments.arguments)? {
        let parameter = &interface.parameters[index];
        if is_file(parameter) && parameter.mode.is_output() {
            replaced.push((index, PathBuf::from(text)));
        }
        values.push((index, value(interface, parameter, text)?));
    }
    let files = destinations(interface, &arguments.out, &mut replaced)?;
    for (index, path) in
        replaced.iter().filter(|(index, _)| !interface.parameters[*index].mode.is_input())
    {
        values.push((*index, Argument::Text(path.as_os_str().as_encoded_bytes().to_vec()).into()));
    }
    let outputs = invoke(&routine, &mut values, arguments, deadline)?;
    // What the routine left no file for is as it was.
    replaced.retain(|(index, _)| matches!(outputs.all().get(*index), Some(Output::Written(_))));
    show(interface, &outputs, files, replaced, arguments.json)
}

/// Writes arrays to their files and prints the rest. `written` are files that have their content
/// already.
fn show(
    interface: &Interface,
    outputs: &Outputs,
    files: Files,
    written: Vec<(usize, PathBuf)>,
    as_json: bool,
) -> Result<()> {
    let arrays = files.iter().map(|(index, file)| (*index, file.path().to_path_buf()));
    let written: Vec<(usize, PathBuf)> = arrays.chain(written).collect();
    for (index, file) in files {
        file.write(&data_of(interface, outputs, index)?)?;
    }
    print(|out| match as_json {
        true => json::write(out, interface, outputs, &written),
        false => readable::write(out, interface, outputs, &written),
    })
}

/// The same for a call whose files came as their contents.
pub(super) fn give(
    interface: &Interface,
    outputs: &Outputs,
    files: Files,
    contents: Vec<(usize, PathBuf)>,
    as_json: bool,
) -> Result<()> {
    for (index, path) in &contents {
        if let Some(Output::Text(Some(content))) = outputs.all().get(*index) {
            std::fs::write(path, content).map_err(|error| {
                Error::system("write a result", error).with("file", path.display())
            })?;
        }
    }
    show(interface, outputs, files, contents, as_json)
}

/// When the time of a call is over.
#[derive(Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    /// What is left; a moment at least, in which nothing is done, so that whoever needs it says
    /// what he waits for.
    fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

/// Connects in the time that the call has, of which a server that is started for it takes nothing.
fn connect(arguments: &CallArguments) -> Result<(Connection, Option<Deadline>)> {
    let begin = Instant::now();
    let timeout = arguments.timeout();
    let connection = match timeout {
        Some(timeout) => arguments.server.connect_within(timeout),
        None => arguments.server.connect(),
    };
    let connection = connection.map_err(|error| match (error.kind(), timeout) {
        (ErrorKind::TimedOut, Some(timeout)) => in_time(error, timeout),
        _ => error,
    })?;
    let begin = if connection.is_private() { Instant::now() } else { begin };
    // A time that no clock can hold is no limit.
    let deadline = timeout.and_then(|timeout| begin.checked_add(timeout));
    deadline.into_iter().for_each(end_by);
    Ok((connection, deadline.map(Deadline)))
}

fn late(message: &'static str, timeout: Option<Duration>) -> Error {
    in_time(Error::new(ErrorKind::TimedOut, "call", message), timeout.unwrap_or_default())
}

fn in_time(error: Error, timeout: Duration) -> Error {
    let known = error.advice().map(|known| format!("{known}, or "));
    let known = known.unwrap_or_else(|| "check the server with `farcall doctor`, or ".to_owned());
    error
        .with("timeout", format!("{} s", timeout.as_secs_f64()))
        .fix(format!("{known}raise --timeout"))
}

/// Makes the call and waits for its end.
fn invoke(
    routine: &Routine,
    values: &mut [(usize, Value)],
    arguments: &CallArguments,
    deadline: Option<Deadline>,
) -> Result<Outputs> {
    let parameters = &routine.interface().parameters;
    let named = values
        .iter_mut()
        .map(|(index, value)| (parameters[*index].name.as_str(), value.argument()));
    let timeout = deadline.map(Deadline::left);
    let ranks = arguments.ranks.unwrap_or(0);
    let told = !arguments.quiet;
    let options = CallOptions {
        timeout,
        run_timeout: arguments.run_timeout,
        output: told,
        progress: told,
        ranks,
        at: arguments.at.as_deref().map(Into::into),
        resources: arguments.resources.read()?,
        ..CallOptions::default()
    };
    let mut screen = Screen::new(!arguments.quiet && !arguments.json, arguments.progress_form());
    let mut interrupt = Interrupt::heard()?;
    let outcome = routine.call_watched(named, &options, Some(LOOK_EVERY), |call, news| {
        interrupt.look(call);
        screen.look();
        match news {
            Some(News::Stdout(bytes) | News::Stderr(bytes)) => screen.show(&bytes),
            Some(News::Progress(done, words)) => screen.tell(done, words),
            Some(News::Started) => screen.begin(),
            Some(News::Queued(before)) => screen.queue(before),
            _ if screen.draws() => screen.draw(&call.transfer()),
            _ => {}
        }
    });
    screen.clear();
    interrupt.end();
    outcome
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call", message)
}

/// Which parameter each argument is for.
pub(super) fn assign<'a>(
    interface: &Interface,
    arguments: &'a [String],
) -> Result<Vec<(usize, &'a str)>> {
    let assigned = assign_some(interface, arguments)?;
    let given = |index: &usize| assigned.iter().any(|(known, _)| known == index);
    // What the routine refers to on a condition, or reads, may be left out where that does not
    // hold: the client's core knows.
    let conditional = |index: &usize| {
        let parameter = &interface.parameters[*index];
        parameter.when.is_some() || parameter.given.is_some()
    };
    match needed(interface).iter().find(|index| !given(index) && !conditional(index)) {
        Some(missing) => Err(wrong(format!("{} is missing", interface.parameters[*missing].name))
            .with("usage", signature(interface))
            .fix(format!("see `farcall show {}`", interface.full_name()))),
        None => Ok(assigned),
    }
}

/// The same where any may be missing.
pub(super) fn assign_some<'a>(
    interface: &Interface,
    arguments: &'a [String],
) -> Result<Vec<(usize, &'a str)>> {
    let order = positional(interface);
    let mut next = order.iter().copied();
    let mut assigned: Vec<(usize, &str)> = Vec::new();
    for argument in arguments {
        let argument = unmarked(argument);
        let (index, text) = match named(argument) {
            Some((name, text)) => (input(interface, name)?, text),
            None => (next.next().ok_or_else(|| too_many(interface, order.len()))?, argument),
        };
        if assigned.iter().any(|(known, _)| *known == index) {
            return Err(wrong(format!("{} was passed twice", interface.parameters[index].name)));
        }
        assigned.push((index, text));
    }
    Ok(assigned)
}

/// `name=value`, where the name could be a parameter's.
fn named(argument: &str) -> Option<(&str, &str)> {
    let (name, text) = argument.split_once('=')?;
    let word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (word && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then_some((name, text))
}

fn too_many(interface: &Interface, count: usize) -> Error {
    let arguments = if count == 1 { "argument" } else { "arguments" };
    wrong(format!("{} takes {count} {arguments} by position", interface.full_name()))
        .with("usage", signature(interface))
        .fix("pass all others as NAME=VALUE")
}

/// The parameter of a named argument, if it is one that a caller gives.
fn input(interface: &Interface, name: &str) -> Result<usize> {
    let takes = |p: &Parameter| p.mode.is_input() || matches!(p.shape, Shape::Callback { .. });
    let (index, parameter) = find(interface, name)?;
    if takes(parameter) {
        return Ok(index);
    }
    Err(wrong(format!("{name} is a result of {}", interface.full_name()))
        .fix(format!("write it to a file with --out {name}=FILE.npy")))
}

/// A parameter by its name, or the error that suggests the nearest.
fn find<'a>(interface: &'a Interface, name: &str) -> Result<(usize, &'a Parameter)> {
    let mut all = interface.caller_parameters();
    all.find(|(_, parameter)| parameter.name == name).ok_or_else(|| {
        let names = || interface.caller_parameters().map(|(_, parameter)| parameter.name.as_str());
        let error = wrong(format!("{} has no parameter \"{name}\"", interface.full_name()));
        match nearest(name, names()) {
            Some(near) => error.fix(format!("did you mean {near}?")),
            None => error.fix(format!("it has {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

fn is_file(parameter: &Parameter) -> bool {
    parameter.element == ElementType::Filename && parameter.shape == Shape::Scalar
}

/// The files of `--out`, made before the call: it must not be lost for a wrong folder. Those that
/// the routine itself writes are `replaced`.
pub(super) fn destinations(
    interface: &Interface,
    out: &[String],
    replaced: &mut Vec<(usize, PathBuf)>,
) -> Result<Files> {
    let mut files: Files = Vec::new();
    let mut places: Vec<PathBuf> = Vec::new();
    for text in out {
        let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            return Err(wrong(format!("--out {text} does not name a file"))
                .fix("write --out NAME=FILE.npy"));
        };
        let (index, parameter) = find(interface, name)?;
        if !parameter.mode.is_output() || parameter.mode == Mode::Work {
            let names: Vec<_> =
                results(interface).map(|(_, parameter)| parameter.name.as_str()).collect();
            return Err(wrong(format!("{name} is not a result of {}", interface.full_name()))
                .fix(format!("its results are {}", names.join(", "))));
        }
        let twice = files.iter().any(|(known, _)| *known == index)
            || replaced.iter().any(|(known, _)| *known == index);
        match (is_file(parameter), parameter.mode.is_input()) {
            (true, true) => {
                return Err(wrong(format!("the file {name} is replaced in place"))
                    .fix("pass its path as the argument, without --out"));
            }
            _ if twice => {
                return Err(wrong(format!("--out {name} was passed twice"))
                    .fix("name one file, and copy it later"));
            }
            (false, _) => files.push((index, Pending::create(path.as_ref())?)),
            (true, false) => replaced.push((index, PathBuf::from(path))),
        }
        // The later one would be all that is left.
        let place = place_of(path.as_ref());
        if places.contains(&place) {
            return Err(wrong(format!("two results have the same file, {path}"))
                .fix("name a different file for each"));
        }
        places.push(place);
    }
    Ok(files)
}

/// A result as an array of this program, in its storage order.
fn data_of(interface: &Interface, outputs: &Outputs, index: usize) -> Result<Data> {
    let parameter = &interface.parameters[index];
    let Some(Output::Array(array)) = outputs.all().get(index) else {
        return Err(wrong("the result is not an array: it was not computed, or is text")
            .with("result", &parameter.name));
    };
    let order = match &parameter.shape {
        Shape::Array { order, .. } if array.shape.len() > 1 => *order,
        _ => Order::Row,
    };
    let bytes = array.packed(order)?;
    Ok(Data { element: array.element, shape: array.shape.clone(), order, bytes, decimal: false })
}
