//! The tables of launchers, jobs, pilots and executables, and the settings of the manifest. Pure.

mod job;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ExecutableId, Instant, Resources};
use farcall_services::directory::ExecutableImage;
use farcall_wire::JobStatus;
use serde::Deserialize;

pub(crate) use job::{Job, Purpose, Standing};

use crate::gate::Dial;
use crate::ranks::RanksRules;
use crate::resources::Most;

/// Starts of one executable, at most: pilots that end before it is there.
pub(crate) const TRIES_MAX: u32 = 3;
/// Time after which people are told that a job's program has not come, and between this and the
/// next time.
pub(crate) const ABSENT: Duration = Duration::from_secs(10);
/// Time after which the other pilots of a job are not counted on when one has come: they are
/// started together. One that comes later is welcome all the same.
pub(crate) const TOGETHER: Duration = Duration::from_secs(60);
/// Questions to a pilot without an answer: more than one, as this host may have stood still itself.
pub(crate) const UNANSWERED_MAX: u32 = 3;

/// What the manifest says of a launcher; options.toml says what each means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, such as { queue = \"short\", minutes = 30 }"
)]
pub(crate) struct LauncherSettings {
    pub(crate) command: Vec<String>,
    pub(crate) program: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) dial: Option<Dial>,
    pub(crate) listen: Option<String>,
    pub(crate) reached_at: Vec<String>,
    pub(crate) queue: String,
    pub(crate) project: String,
    pub(crate) minutes: Option<u64>,
    pub(crate) memory_mb: Option<u64>,
    pub(crate) cores: Option<u32>,
    pub(crate) gpus: Option<u32>,
    pub(crate) gpu_option: String,
    pub(crate) resources_max: Most,
    pub(crate) options: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) slots_min: Option<u32>,
    pub(crate) slots_max: Option<u32>,
    pub(crate) jobs_max: Option<usize>,
    pub(crate) idle_seconds: Option<u64>,
    pub(crate) staging: bool,
}

impl LauncherSettings {
    /// What each job is asked for because a setting says so, with the option that sets it, too.
    pub(crate) fn asked(&self) -> Vec<String> {
        let texts =
            [("queue", &self.queue, "--partition"), ("project", &self.project, "--account")];
        let texts = texts.into_iter().filter(|(_, value, _)| !value.is_empty());
        let texts = texts.map(|(key, value, option)| format!("{key}={value} ({option})"));
        let numbers =
            [("minutes", self.minutes, "--time-limit"), ("memory_mb", self.memory_mb, "--memory")];
        let numbers = numbers.into_iter().filter_map(|(key, value, option)| {
            value.map(|value| format!("{key}={value} ({option})"))
        });
        let options = self.options.join(" ");
        let options = (!options.is_empty()).then(|| format!("options={options}"));
        texts.chain(numbers).chain(options).collect()
    }
}

/// The options of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) launchers: BTreeMap<String, LauncherSettings>,
    pub(crate) modules: BTreeMap<String, String>,
    pub(crate) default: String,
    pub(crate) folder: String,
    pub(crate) pilot_options: String,
    /// What those say of ranks.
    #[serde(skip)]
    pub(crate) ranks: RanksRules,
    pub(crate) gather_ms: u64,
    pub(crate) answer_ms: u64,
    pub(crate) submit_ms: u64,
    pub(crate) greeting_ms: u64,
    pub(crate) silence_ms: u64,
    pub(crate) jobs_max: usize,
    pub(crate) pilots_max: usize,
    pub(crate) requests_max: usize,
}

/// Jobs of a launcher that wait, unless the manifest says otherwise: more would stand before those of
/// others, and a small site allows few.
const WAITING_MAX: usize = 8;
/// Launchers that come with Farcall.
pub(crate) const SHIPPED: [&str; 6] = ["local", "ssh", "slurm", "gridengine", "pbs", "lsf"];

impl Default for Settings {
    fn default() -> Self {
        Settings {
            launchers: BTreeMap::new(),
            modules: BTreeMap::new(),
            default: String::new(),
            folder: String::new(),
            pilot_options: String::new(),
            ranks: RanksRules::default(),
            gather_ms: 20,
            answer_ms: 60_000,
            submit_ms: 300_000,
            greeting_ms: 10_000,
            silence_ms: 60_000,
            jobs_max: 256,
            pilots_max: 4096,
            requests_max: 4096,
        }
    }
}

impl Settings {
    /// What holds for a launcher; `None` for one that nobody knows.
    pub(crate) fn launcher(&self, name: &str) -> Option<LauncherSettings> {
        let shipped = SHIPPED.contains(&name);
        let mut settings = match self.launchers.get(name) {
            Some(settings) => settings.clone(),
            None if shipped => LauncherSettings::default(),
            None => return None,
        };
        if settings.command.is_empty() && shipped {
            settings.command = ["/proc/self/exe", "launch", name].map(str::to_owned).to_vec();
        }
        Some(settings).filter(|settings| !settings.command.is_empty())
    }

    /// All names, for people.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        SHIPPED.into_iter().chain(self.launchers.keys().map(String::as_str)).collect()
    }

    pub(crate) fn dial(&self, launcher: &str) -> Dial {
        let default = if launcher == "local" { Dial::Unix } else { Dial::Tls };
        self.launchers.get(launcher).and_then(|settings| settings.dial).unwrap_or(default)
    }

    pub(crate) fn slots_max(&self, launcher: &str) -> u32 {
        self.launchers.get(launcher).and_then(|settings| settings.slots_max).unwrap_or(1024).max(1)
    }

    /// Jobs that may wait in its queue.
    fn waiting_max(&self, launcher: &str) -> usize {
        let most = self.launchers.get(launcher).and_then(|settings| settings.jobs_max);
        most.unwrap_or(WAITING_MAX).max(1)
    }

    /// Time between two questions to a pilot whether it is there.
    pub(crate) fn ask_every(&self) -> Duration {
        Duration::from_millis(self.silence_ms / u64::from(UNANSWERED_MAX + 1))
            .max(Duration::from_millis(1))
    }

    pub(crate) fn idle(&self, launcher: &str) -> Duration {
        Duration::from_secs(
            self.launchers.get(launcher).and_then(|settings| settings.idle_seconds).unwrap_or(60),
        )
    }
}

/// Executables of one launcher and backend that are given the same share jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) launcher: String,
    /// Empty for routines of one process.
    pub(crate) backend: String,
    /// Processes that run each call; 0: one, without MPI.
    pub(crate) ranks: u32,
    /// What each process is given.
    pub(crate) resources: Resources,
}

/// A number of ours: of a job, or of a pilot's connection.
pub(crate) type Number = u64;

/// All that is known.
///
/// Invariants: an executable is in `executables` from its start until its end was reported; it
/// waits in exactly one of `waiting`, or is among the `running` of exactly one pilot, or among the
/// `lost` of exactly one job. A pilot's job is in `jobs`.
pub(crate) struct State {
    pub(crate) settings: Settings,
    /// What tells this server's jobs from those of others.
    pub(crate) mark: String,
    pub(crate) launchers: BTreeMap<String, Launcher>,
    /// Executables that no pilot has yet.
    pub(crate) waiting: BTreeMap<Kind, VecDeque<ExecutableId>>,
    /// When jobs are asked for those.
    pub(crate) gathering: BTreeMap<Kind, Instant>,
    /// What launchers say of the most slots of a job, where they do.
    pub(crate) sizes: BTreeMap<(Kind, Purpose), u32>,
    pub(crate) jobs: BTreeMap<Number, Job>,
    pub(crate) pilots: BTreeMap<Number, Pilot>,
    pub(crate) executables: BTreeMap<ExecutableId, Executable>,
    pub(crate) numbers: Number,
    /// When the node stops: nothing begins any more, and nothing is waited for beyond this.
    pub(crate) closing: Option<Instant>,
    /// Something about jobs is not what was last told.
    pub(crate) changed: bool,
}

/// A launcher that runs.
#[derive(Debug, Default)]
pub(crate) struct Launcher {
    /// What it has not answered yet, and until when it must.
    pub(crate) asked: VecDeque<(Asked, Instant)>,
    /// It was told to end.
    pub(crate) leaving: bool,
    /// It has made a job.
    pub(crate) works: bool,
    /// It says that it asks for what executables are to be given.
    pub(crate) knows_resources: bool,
}

/// What a launcher was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// What it is; whether it has begun to say so.
    Features {
        begun: bool,
    },
    Create(Number),
    Destroy,
    Status,
    Exit,
}

/// A program of a job, which starts executables where it is.
#[derive(Debug)]
pub(crate) struct Pilot {
    pub(crate) job: Number,
    pub(crate) slots: u32,
    pub(crate) host: String,
    pub(crate) running: BTreeSet<ExecutableId>,
    pub(crate) idle_since: Option<Instant>,
    /// It was told to end.
    pub(crate) leaving: bool,
    /// When it is asked next whether it is there, and how often it was since it last said anything.
    pub(crate) asked_next: Instant,
    pub(crate) unanswered: u32,
    /// Until when executables of it may begin, and take calls, where these ask for time.
    pub(crate) takes_until: Option<Instant>,
}

impl Pilot {
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        !self.leaving
            && self.takes_until.is_none_or(|until| now < until)
            && self.running.len() < self.slots as usize
    }
}

/// An executable.
pub(crate) struct Executable {
    pub(crate) kind: Kind,
    pub(crate) module: String,
    pub(crate) image: Arc<ExecutableImage>,
    /// The array of handles that it is for.
    pub(crate) array: Option<u64>,
    pub(crate) place: Place,
    pub(crate) tries: u32,
}

/// Where an executable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Waiting,
    /// A pilot was told to start it.
    Starting(Number),
    /// There is a connection to it.
    Running(Number),
}

impl State {
    pub(crate) fn new(settings: Settings, mark: String) -> State {
        State {
            settings,
            mark,
            launchers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            gathering: BTreeMap::new(),
            sizes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            pilots: BTreeMap::new(),
            executables: BTreeMap::new(),
            numbers: 0,
            closing: None,
            changed: false,
        }
    }

    pub(crate) fn number(&mut self) -> Number {
        self.numbers += 1;
        self.numbers
    }

    /// Slots that jobs of this kind may still bring.
    pub(crate) fn expected(&self, kind: &Kind) -> usize {
        let open = self.jobs.values().filter(|job| job.kind == *kind && job.is_open());
        open.map(|job| job.slots.coming() as usize).sum()
    }

    pub(crate) fn waiting_of(&self, kind: &Kind) -> usize {
        self.waiting.get(kind).map_or(0, VecDeque::len)
    }

    /// Executables that wait and that no job comes for.
    pub(crate) fn missing(&self, kind: &Kind) -> usize {
        self.waiting_of(kind).saturating_sub(self.expected(kind))
    }

    /// How many slots the next job has, and for what. What comes already is for those at the front
    /// of the line. Arrays have jobs of their own where those of calls are to be small.
    pub(crate) fn next_job(&self, kind: &Kind) -> Option<(u32, Purpose)> {
        let array_of = |executable| self.executables.get(executable).and_then(|one| one.array);
        let missing = self.waiting.get(kind)?.iter().skip(self.expected(kind)).map(array_of);
        let missing: Vec<Option<u64>> = missing.collect();
        let first = *missing.first()?;
        let is_apart = self.sizes.contains_key(&(kind.clone(), Purpose::Calls));
        let alike = missing.iter().take_while(|array| !is_apart || **array == first);
        let has_array = alike.clone().any(Option::is_some);
        let purpose = if has_array { Purpose::Array } else { Purpose::Calls };
        let most = self.size_max(kind, purpose) as usize;
        Some((alike.take(most).count() as u32, purpose))
    }

    /// Most slots of a job, at least one.
    fn size_max(&self, kind: &Kind, purpose: Purpose) -> u32 {
        if !kind.backend.is_empty() {
            return 1;
        }
        let most = self.settings.slots_max(&kind.launcher);
        self.sizes.get(&(kind.clone(), purpose)).map_or(most, |size| most.min(*size))
    }

    /// Whether another job may be asked for now; otherwise when one has begun or ended.
    pub(crate) fn may_ask(&self, kind: &Kind) -> bool {
        let waits = |job: &&Job| job.kind.launcher == kind.launcher && job.is_waiting();
        self.jobs.len() < self.settings.jobs_max
            && self.jobs.values().filter(waits).count() < self.settings.waiting_max(&kind.launcher)
    }

    pub(crate) fn job_named(&self, name: &str) -> Option<Number> {
        self.jobs.iter().find(|(_, job)| job.name == name).map(|(number, _)| *number)
    }

    /// Until when an executable is to begin calls, where its calls ask for time.
    pub(crate) fn takes_calls_until(&self, executable: ExecutableId) -> Option<Instant> {
        match self.executables.get(&executable)?.place {
            Place::Starting(pilot) | Place::Running(pilot) => self.pilots.get(&pilot)?.takes_until,
            Place::Waiting => None,
        }
    }

    pub(crate) fn has_pilots(&self, job: Number) -> bool {
        self.pilots.values().any(|pilot| pilot.job == job)
    }

    /// Whether anybody of a launcher's jobs may dial in.
    pub(crate) fn is_awaiting(&self, launcher: &str) -> bool {
        let jobs = self.jobs.values().filter(|job| job.standing != Standing::Over);
        let piloted = self.pilots.values().filter_map(|pilot| self.jobs.get(&pilot.job));
        jobs.chain(piloted).any(|job| job.kind.launcher == launcher)
    }

    /// When something is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let asked = self
            .launchers
            .values()
            .filter_map(|launcher| launcher.asked.front().map(|(_, until)| *until));
        let idle = self.pilots.values().filter(|pilot| !pilot.leaving).filter_map(|pilot| {
            let launcher = &self.jobs.get(&pilot.job)?.kind.launcher;
            Some(pilot.idle_since? + self.settings.idle(launcher))
        });
        let silent = self.pilots.values().map(|pilot| pilot.asked_next);
        let jobs = self.jobs.values().filter_map(Job::next_deadline);
        let gathering = self.gathering.values().copied();
        asked.chain(idle).chain(silent).chain(gathering).chain(jobs).chain(self.closing).min()
    }

    /// What its launcher says of a job; and, once that is odd, that its program does not come.
    fn text_of(&self, job: &Job, now: Instant) -> String {
        let Some(silent) = job.silent_for(now) else { return job.text.clone() };
        let seconds = silent.as_secs();
        let advice = match self.settings.dial(&job.kind.launcher) {
            Dial::Tls => {
                "; if its host cannot reach this one, set another reached_at for the launcher, or \
                    dial = \"stdio\""
            }
            Dial::Unix | Dial::Stdio => "",
        };
        format!("{}; its program has been silent for {seconds} s{advice}", job.text)
    }

    /// What people see.
    pub(crate) fn told(&self, now: Instant) -> Vec<JobStatus> {
        self.jobs.iter().map(|(number, job)| self.told_of(*number, job, now)).collect()
    }

    fn told_of(&self, number: Number, job: &Job, now: Instant) -> JobStatus {
        let pilots = || self.pilots.values().filter(move |pilot| pilot.job == number);
        let hosts: BTreeSet<String> = pilots().map(|pilot| pilot.host.clone()).collect();
        JobStatus {
            number,
            launcher: job.kind.launcher.clone(),
            id: job.id.clone().unwrap_or_default(),
            state: if job.unwanted { "ending" } else { job.standing.word() }.to_owned(),
            text: with_resources(self.text_of(job, now), job.kind.resources),
            slots: job.slots.wanted(),
            running: pilots().map(|pilot| pilot.running.len() as u32).sum(),
            hosts: hosts.into_iter().collect(),
            age_us: u64::try_from(now.since(job.since).as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// What people see of a job says what its executables are given.
fn with_resources(text: String, given: Resources) -> String {
    if given.is_empty() { text } else { format!("{text}; each with {given}") }
}
