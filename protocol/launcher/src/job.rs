//! What a job is: the attributes of `JOB_CREATE` (spec/launcher.md, section 4).

/// Most slots of one job.
pub const COUNT_MAX: u32 = 100_000;
/// Tells a program that its standard streams are connected with those of a bridge.
const STDIO: &str = "--stdio";
/// Names the file by which a program is let in.
const TICKET: &str = "--ticket";
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Where: only launchers that reach other hosts look at it.
    pub hostname: String,
    /// Of the service there that starts jobs; 0: the usual one.
    pub port: u16,
    /// Who asks, for people.
    pub client_name: String,
    /// What runs.
    pub program: Program,
    /// In how many processes.
    pub shape: Shape,
    /// What it is given to run with.
    pub resources: Resources,
    /// The longest time between two checks at the job, in seconds.
    pub status_polling: Option<u32>,
    /// A command of this host that is connected with each copy's standard input and output.
    pub bridge: Option<String>,
}

impl Job {
    /// Takes an attribute; one that it does not know goes by.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_taken = self.program.take(name, value)?
            || self.shape.take(name, value)?
            || self.resources.take(name, value)?;
        if is_taken {
            return Ok(());
        }
        match name {
            "hostname" => self.hostname = word(name, value)?,
            "port" => self.port = number(name, value, 0, 65_535)? as u16,
            "client_name" => value.clone_into(&mut self.client_name),
            "redirect_enable" | "refresh_credential" => drop(truth_or_number(name, value)?),
            "status_polling" => {
                self.status_polling =
                    Some(number(name, value, 0, 86_400)?).filter(|seconds| *seconds > 0)
            }
            "bridge" => self.bridge = text(value),
            _ => {}
        }
        Ok(())
    }

    /// All attributes are there.
    pub(crate) fn check(mut self) -> Result<Job, String> {
        // So its program knows that its standard streams lead to the server.
        let arguments = &mut self.program.arguments;
        if self.bridge.is_some() && !arguments.iter().any(|argument| argument == STDIO) {
            arguments.push(STDIO.to_owned());
        }
        self.program.check()?;
        self.shape.check()?;
        Ok(self)
    }
}

/// The program of a job, and what it finds where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its absolute path.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Whether it and its ticket are to be copied to where they run.
    pub staging: bool,
    /// Where it runs; `None`: the user's home or this launcher's own folder.
    pub work_directory: Option<String>,
    /// Where its output goes; `None`: nowhere.
    pub stdout_file: Option<String>,
    /// The same for what it complains of.
    pub stderr_file: Option<String>,
    /// Variables beside those that it has anyway.
    pub environment: Vec<(String, String)>,
}

impl Program {
    /// Whether the attribute is one of these, which it has taken then.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "executable_path" => value.clone_into(&mut self.path),
            "argument" => self.arguments.push(value.to_owned()),
            "staging" => self.staging = truth(name, value)?,
            "work_directory" => self.work_directory = text(value),
            "stdout_file" => self.stdout_file = text(value),
            "stderr_file" => self.stderr_file = text(value),
            "environment" => self.environment.push(variable(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        if self.path.starts_with('/') {
            return Ok(());
        }
        Err("executable_path: the program's absolute path is required".to_owned())
    }

    /// The program and its arguments.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.path).chain(&self.arguments).cloned().collect()
    }

    /// The file by which it is let in, where it was given one.
    pub fn ticket(&self) -> Option<&String> {
        self.arguments.iter().skip_while(|argument| *argument != TICKET).nth(1)
    }

    /// Whether the argument at this place is that file's path.
    pub(crate) fn is_ticket(&self, at: usize) -> bool {
        at > 0 && self.arguments[at - 1] == TICKET
    }

    /// Whether what it complains of is kept for the end: it has a folder there, and no other place
    /// for it.
    pub(crate) fn has_own_errors(&self) -> bool {
        self.staging
            && self.stderr_file.is_none()
            && self.arguments.iter().any(|argument| argument == TICKET)
    }
}

/// In how many processes a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How the program is started.
    pub backend: Backend,
    /// Slots that are wanted.
    pub count: u32,
    /// Slots that are enough: the driver asks for the others in further jobs, where a launcher
    /// says that one is too large. `None`: all or nothing, from a driver that does not listen.
    pub count_min: Option<u32>,
    /// One job is better than several that begin sooner.
    pub together: bool,
    /// Ranks of each of them, where they are programs of MPI.
    pub ranks: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { backend: Backend::Normal, count: 1, count_min: None, together: false, ranks: 1 }
    }
}

impl Shape {
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "backend" => self.backend = backend(value)?,
            "count" => self.count = number(name, value, 1, COUNT_MAX)?,
            "count_min" => self.count_min = Some(number(name, value, 1, COUNT_MAX)?),
            "together" => self.together = truth(name, value)?,
            "ranks" => self.ranks = number(name, value, 1, COUNT_MAX)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        if u64::from(self.count) * u64::from(self.ranks) <= u64::from(COUNT_MAX) {
            return Ok(());
        }
        Err(format!("count times ranks is more than {COUNT_MAX}"))
    }

    /// Whether the program starts the other ranks by itself.
    pub fn is_mpi(&self) -> bool {
        self.backend == Backend::Mpi
    }

    /// Processes that it takes altogether.
    pub fn tasks(&self) -> u32 {
        if self.is_mpi() { self.count * self.ranks } else { self.count }
    }

    /// The least number of slots, where that is less than what is wanted. MPI's ranks are all
    /// needed.
    pub fn least(&self) -> Option<u32> {
        self.count_min.filter(|least| *least < self.count && !self.is_mpi())
    }

    /// What each copy is told of its slots, where there is one copy.
    pub fn slots(&self) -> u32 {
        if self.is_mpi() { 1 } else { self.count }
    }
}

/// What a job may use, and who pays for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
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
    /// What each slot is given, or each rank.
    pub slot: SlotResources,
    /// More options for the command that submits it.
    pub options: Vec<String>,
}

/// What each slot is given: each call that runs at a time; of a program of MPI's, each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotResources {
    /// Processors.
    pub cores: Option<u32>,
    /// Memory in MB.
    pub memory_mb: Option<u32>,
    /// GPUs.
    pub gpus: Option<u32>,
    /// How a site asks for those, instead of as its manual says: `{}` stands for their number.
    pub gpu_option: Option<String>,
    /// Minutes that are needed: in less a call would be cut short.
    pub minutes: Option<u32>,
}

impl SlotResources {
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "cores" => self.cores = Some(number(name, value, 1, COUNT_MAX)?),
            "slot_memory" => self.memory_mb = Some(number(name, value, 1, u32::MAX)?),
            "gpus" => self.gpus = Some(number(name, value, 1, COUNT_MAX)?),
            "gpu_option" => self.gpu_option = Some(option(name, value)?),
            "min_wall_time" => self.minutes = minutes(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether anything is asked for.
    pub fn is_asked(&self) -> bool {
        *self != SlotResources::default()
    }

    /// Processors of each slot.
    pub fn cores(&self) -> u32 {
        self.cores.unwrap_or(1)
    }

    /// The site's own option for so many GPUs.
    pub fn site_option(&self, gpus: u32) -> Option<String> {
        Some(self.gpu_option.as_ref()?.replace("{}", &gpus.to_string()))
    }
}

impl Resources {
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        if self.slot.take(name, value)? {
            return Ok(true);
        }
        match name {
            "max_time" => self.minutes_max = self.minutes_max.or(minutes(name, value)?),
            "max_wall_time" => self.minutes_max = minutes(name, value)?.or(self.minutes_max),
            "queue_name" => self.queue_name = Some(word(name, value)?),
            "project" => self.project = Some(word(name, value)?),
            "host_count" => self.host_count = Some(number(name, value, 1, COUNT_MAX)?),
            // The greater of the two.
            "min_memory" | "max_memory" => {
                let memory_mb = number(name, value, 1, u32::MAX)?;
                self.memory_mb = self.memory_mb.max(Some(memory_mb));
            }
            "option" | "rsl_extensions" => self.options.push(option(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The words for a job that ran for longer than it may.
pub fn timed_out(minutes_max: Option<u32>) -> String {
    let limit = minutes_max.map_or(String::new(), |minutes| format!(" of {minutes} min"));
    format!("timed out: it reached its time limit{limit}")
}

/// `None` for no text.
fn text(value: &str) -> Option<String> {
    Some(value.to_owned()).filter(|value| !value.is_empty())
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
