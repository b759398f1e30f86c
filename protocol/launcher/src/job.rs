//! What a job is: the attributes of `JOB_CREATE` (spec/launcher.md, section 4).

/// Most slots of one job.
pub const COUNT_MAX: u32 = 100_000;
/// Tells a program that its standard streams are connected with those of a bridge.
const STDIO: &str = "--stdio";
/// Longest time of a job, in minutes: ten years.
const MINUTES_MAX: u32 = 5_256_000;

/// How the program is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// As many slots as are asked for, on as many nodes as that takes.
    #[default]
    Normal,
    /// One copy with one slot, on the first node: it starts the other ranks by itself.
    Mpi,
}

/// A job that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Where: only launchers that reach other hosts look at it.
    pub hostname: String,
    /// Of the service there that starts jobs; 0: the usual one.
    pub port: u16,
    /// Who asks, for people.
    pub client_name: String,
    /// The program.
    pub executable_path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How it is started.
    pub backend: Backend,
    /// Slots that are wanted.
    pub count: u32,
    /// Ranks of each of them, where they are programs of MPI.
    pub ranks: u32,
    /// Whether the program and its ticket are to be copied to where they run.
    pub staging: bool,
    /// The longest time between two checks at the job, in seconds.
    pub status_polling: Option<u32>,
    /// Where it runs; `None`: the user's home or this launcher's own folder.
    pub work_directory: Option<String>,
    /// Where its output goes; `None`: nowhere.
    pub stdout_file: Option<String>,
    /// The same for what it complains of.
    pub stderr_file: Option<String>,
    /// Variables beside those that it has anyway.
    pub environment: Vec<(String, String)>,
    /// For how long it may run, in minutes.
    pub minutes_max: Option<u32>,
    /// A queue, or partition.
    pub queue_name: Option<String>,
    /// Whom its time is charged to.
    pub project: Option<String>,
    /// How many nodes it is spread over.
    pub host_count: Option<u32>,
    /// Memory that it wants on each node, in MB.
    pub memory_mb: Option<u32>,
    /// More options for the command that submits it.
    pub options: Vec<String>,
    /// A command of this host that is connected with each copy's standard input and output.
    pub bridge: Option<String>,
}

impl Job {
    pub(crate) fn new() -> Job {
        Job {
            hostname: String::new(),
            port: 0,
            client_name: String::new(),
            executable_path: String::new(),
            arguments: Vec::new(),
            backend: Backend::Normal,
            count: 1,
            ranks: 1,
            staging: false,
            status_polling: None,
            work_directory: None,
            stdout_file: None,
            stderr_file: None,
            environment: Vec::new(),
            minutes_max: None,
            queue_name: None,
            project: None,
            host_count: None,
            memory_mb: None,
            options: Vec::new(),
            bridge: None,
        }
    }

    /// Takes an attribute; one that it does not know goes by.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match name {
            "hostname" => self.hostname = word(name, value)?,
            "port" => self.port = number(name, value, 0, 65_535)? as u16,
            "client_name" => value.clone_into(&mut self.client_name),
            "executable_path" => value.clone_into(&mut self.executable_path),
            "argument" => self.arguments.push(value.to_owned()),
            "backend" => self.backend = backend(value)?,
            "count" => self.count = number(name, value, 1, COUNT_MAX)?,
            "ranks" => self.ranks = number(name, value, 1, COUNT_MAX)?,
            "staging" => self.staging = truth(name, value)?,
            "redirect_enable" | "refresh_credential" => drop(truth_or_number(name, value)?),
            "status_polling" => {
                self.status_polling =
                    Some(number(name, value, 0, 86_400)?).filter(|seconds| *seconds > 0)
            }
            "work_directory" => self.work_directory = text(),
            "stdout_file" => self.stdout_file = text(),
            "stderr_file" => self.stderr_file = text(),
            "environment" => self.environment.push(variable(value)?),
            "max_time" => self.minutes_max = self.minutes_max.or(minutes(name, value)?),
            "max_wall_time" => self.minutes_max = minutes(name, value)?.or(self.minutes_max),
            "queue_name" => self.queue_name = Some(word(name, value)?),
            "project" => self.project = Some(word(name, value)?),
            "host_count" => self.host_count = Some(number(name, value, 1, COUNT_MAX)?),
            "min_memory" => {
                self.memory_mb =
                    Some(number(name, value, 1, u32::MAX)?.max(self.memory_mb.unwrap_or(0)))
            }
            "max_memory" => {
                self.memory_mb =
                    Some(number(name, value, 1, u32::MAX)?.max(self.memory_mb.unwrap_or(0)))
            }
            "option" | "rsl_extensions" => self.options.push(option(name, value)?),
            "bridge" => self.bridge = text(),
            _ => {}
        }
        Ok(())
    }

    /// All attributes are there.
    pub(crate) fn check(mut self) -> Result<Job, String> {
        // So its program knows that its standard streams lead to the server.
        if self.bridge.is_some() && !self.arguments.iter().any(|argument| argument == STDIO) {
            self.arguments.push(STDIO.to_owned());
        }
        if !self.executable_path.starts_with('/') {
            return Err("executable_path: the program's absolute path is required".to_owned());
        }
        if u64::from(self.count) * u64::from(self.ranks) > u64::from(COUNT_MAX) {
            return Err(format!("count times ranks is more than {COUNT_MAX}"));
        }
        Ok(self)
    }

    /// Processes that it takes altogether.
    pub fn tasks(&self) -> u32 {
        if self.backend == Backend::Mpi { self.count * self.ranks } else { self.count }
    }

    /// The program and its arguments.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.executable_path).chain(&self.arguments).cloned().collect()
    }

    /// What each copy is told of its slots, where there is one copy.
    pub fn slots(&self) -> u32 {
        if self.backend == Backend::Mpi { 1 } else { self.count }
    }
}

/// The words for a job that ran for longer than it may.
pub fn timed_out(minutes_max: Option<u32>) -> String {
    let limit = minutes_max.map_or(String::new(), |minutes| format!(" of {minutes} min"));
    format!("timed out: it reached its time limit{limit}")
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = value.trim().parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{name}: a number from {least} to {most} is required"))
}

/// 0 is none, as in Ninf-G's configuration.
fn minutes(name: &str, value: &str) -> Result<Option<u32>, String> {
    Ok(Some(number(name, value, 0, MINUTES_MAX)?).filter(|minutes| *minutes > 0))
}

fn truth(name: &str, value: &str) -> Result<bool, String> {
    match value.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name}: true or false is required")),
    }
}

/// Ninf-G gives the time between two refreshes of a credential, too, by a number.
fn truth_or_number(name: &str, value: &str) -> Result<bool, String> {
    value.trim().parse::<u32>().map_or_else(|_| truth(name, value), |number| Ok(number > 0))
}

fn backend(value: &str) -> Result<Backend, String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "normal" => Ok(Backend::Normal),
        "mpi" | "blacs" => Ok(Backend::Mpi),
        _ => Err("backend: normal or mpi is required".to_owned()),
    }
}

/// What becomes part of an option: no option of its own.
fn word(name: &str, value: &str) -> Result<String, String> {
    let is_word = !value.is_empty()
        && !value.starts_with('-')
        && !value.contains(|c: char| c.is_whitespace());
    is_word
        .then(|| value.to_owned())
        .ok_or_else(|| format!("{name}: one word that does not begin with '-' is required"))
}

/// Only an option: anything else would be taken for the name of a job's script.
fn option(name: &str, value: &str) -> Result<String, String> {
    let is_option = value.starts_with('-') && !value.trim_matches('-').is_empty();
    is_option
        .then(|| value.to_owned())
        .ok_or_else(|| format!("{name}: one option is required, such as --qos=high"))
}

fn variable(value: &str) -> Result<(String, String), String> {
    let wrong = || "environment: NAME=VALUE is required".to_owned();
    let (name, value) = value.split_once('=').ok_or_else(wrong)?;
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit());
    if is_name { Ok((name.to_owned(), value.to_owned())) } else { Err(wrong()) }
}
