//! Plays the conversations of tests/golden against `step`.
//!
//! Each event is `> TIME_MS EVENT …`; `event` shows how each is written. A `<` line is one action;
//! the last of each event gives the next deadline, if there is one.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant};
use farcall_golden::Conversation;
use farcall_kernel::Options;
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::spawner::{ExitHow, Exited, OutputTail};
use farcall_wire::{PILOT_VERSION, PilotHello};

use crate::state::{LauncherSettings, Settings, State};
use crate::step::{Action, Event, step};

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<Play>(env!("CARGO_MANIFEST_DIR"), 6);
}

#[test]
fn options_text_says_the_defaults() {
    let options = Options::from_text("options.toml", include_str!("options.toml")).unwrap();
    assert_eq!(options.read::<Settings>().unwrap(), Settings::default());
    let wrong = [
        ("jobs_max = 0", "jobs_max is 0"),
        ("default = \"condor\"", "there is no launcher \"condor\""),
        ("modules.heat = \"slurn\"", "there is no launcher \"slurn\""),
        ("launchers.condor = {}", "it is missing: the launcher's program"),
        ("launchers.slurm.queue = \"a\\nb\"", "it contains a line end"),
        ("launchers.slurm.environment = { \"A=B\" = \"C\" }", "write { NAME"),
        (
            "launchers.\"my slurm\" = { command = [\"x\"] }",
            "a launcher's name may have only letters",
        ),
        ("launchers.ssh.host = \"two words\"", "not a host name"),
        ("launchers.slurm.minute = 5", "minutes"),
        ("launchers.slurm = 3", "expected a table, such as { queue = \"short\", minutes = 30 }"),
    ];
    for (text, reason) in wrong {
        let open = |_: &crate::GateWish<'_>| unreachable!("nothing is started");
        let error = crate::construct(&Options::from_text("farcall.toml", text).unwrap(), open)
            .err()
            .unwrap();
        assert!(
            error.to_string().contains(reason) && error.to_string().contains("line: 1"),
            "{text}: {error}"
        );
    }
}

struct Play {
    state: State,
}

impl Conversation for Play {
    fn begin(script: &str) -> Play {
        let mut slurm = LauncherSettings { slots_max: Some(4), ..LauncherSettings::default() };
        if script.contains("The settings name a partition") {
            slurm.queue = "nosuch".to_owned();
            slurm.minutes = Some(30);
            slurm.options = vec!["--exclusive".to_owned()];
        }
        let launchers = [("slurm".to_owned(), slurm)].into();
        let settings = Settings { launchers, jobs_max: 3, ..Settings::default() };
        Play { state: State::new(settings, "mark".to_owned()) }
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let (time, event) = event.split_once(' ').unwrap();
        let now = Instant(time.parse::<u64>().unwrap() * 1_000_000);
        let shown: Vec<String> =
            step(&mut self.state, now, self::event(event)).into_iter().map(show).collect();
        let deadline =
            self.state.next_deadline().map(|at| format!("deadline {}", at.0 / 1_000_000));
        shown.into_iter().chain(deadline).collect()
    }

    fn end(self) {
        let State { waiting, executables, pilots, .. } = &self.state;
        let waiting: usize = waiting.values().map(std::collections::VecDeque::len).sum();
        let lost: usize = self.state.jobs.values().map(|job| job.lost.count()).sum();
        let at_pilots: usize = pilots.values().map(|pilot| pilot.running.len()).sum();
        assert_eq!(waiting + at_pilots + lost, executables.len(), "each waits, or is at a pilot");
    }
}

fn image(launcher: &str, backend: String) -> ExecutableImage {
    ExecutableImage {
        kind: ImageKind::GenericHost { libraries: Vec::new() },
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        environment: Vec::new(),
        backend,
        ranks: 0,
        resources: Default::default(),
        launcher: launcher.to_owned(),
        executables_max: 0,
        module_text: Arc::from([]),
    }
}

fn event(text: &str) -> Event {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = || words[1].parse::<u64>().unwrap();
    let rest = |from: usize| words[from..].join(" ");
    let executable = || ExecutableId(words[words.len().min(3) - 1].parse().unwrap());
    match words[0] {
        "start" => {
            let backend = words.get(3).map_or("", |backend| backend.trim_matches('-'));
            let backend = Some(backend).filter(|word| !word.contains('=')).unwrap_or("").to_owned();
            let asked = words.iter().find_map(|word| word.strip_prefix("asking="));
            let resources = asked.map_or(Ok(Default::default()), str::parse).unwrap();
            let image = ExecutableImage { resources, ..image(words[2], backend) };
            let array = words.get(4).and_then(|array| array.parse().ok());
            let executable = ExecutableId(number());
            Event::Start { executable, module: "m".to_owned(), image, array }
        }
        "stop" => {
            Event::Stop { executable: ExecutableId(number()), grace: Duration::from_millis(100) }
        }
        "cancel" => Event::Cancel { number: number() },
        "prepared" => Event::Prepared { job: number() },
        "unprepared" => {
            let error = Error::new(ErrorKind::System, "prepare a job", "No space left on device");
            Event::Unprepared { job: number(), error }
        }
        "answered" => Event::Answered { launcher: words[1].to_owned(), line: rest(2) },
        "noticed" => Event::Noticed { launcher: words[1].to_owned(), line: rest(2) },
        "launcher-ended" => Event::LauncherEnded { launcher: words[1].to_owned(), how: rest(2) },
        "pilot" => {
            let version = if words.contains(&"old") { 0 } else { PILOT_VERSION };
            let slots = words[3].parse().unwrap();
            let host = format!("n{}", words[1]);
            let hello = PilotHello {
                version,
                job: words[2].to_owned(),
                slots,
                host,
                pid: 7,
                product: String::new(),
            };
            Event::PilotCame { pilot: number(), hello }
        }
        "failed" => {
            let error =
                Error::new(ErrorKind::Unavailable, "start an executable", "its library is missing");
            Event::PilotFailed { pilot: number(), executable: executable(), error }
        }
        "exited" => {
            let how = ExitHow::of_signal(11, false);
            let executable = executable();
            let stdout = OutputTail::default();
            let stderr = OutputTail::default();
            let exited = Exited { executable, how, rank: None, was_stopped: false, stderr, stdout };
            Event::PilotReaped { pilot: number(), exited }
        }
        "said" => Event::PilotSaid { pilot: number() },
        "line" => Event::LineCame { job: words[1].to_owned(), executable: executable() },
        "lost" => Event::PilotLost { pilot: number(), why: rest(2) },
        "tick" => Event::Tick,
        "shutdown" => Event::Shutdown,
        _ => panic!("no such event: {text}"),
    }
}

fn show(action: Action) -> String {
    match action {
        Action::ReportFailed { executable, error } => {
            format!("report {executable} failed: {error}")
        }
        Action::ReportStarted { executable } => format!("report {executable} started"),
        Action::DropLine { executable } => format!("drop the line of {executable}"),
        Action::ReportExited(exited) => {
            format!(
                "report {} {}; stderr {:?}",
                exited.executable,
                exited.how,
                exited.stderr.text()
            )
        }
        Action::StartLauncher { launcher } => format!("start launcher {launcher}"),
        Action::EndLauncher { launcher } => format!("end launcher {launcher}"),
        Action::Prepare { job } => format!("prepare job {job}"),
        Action::Remove { job } => format!("remove the folder of {job}"),
        Action::Create { job } => format!("create job {job}"),
        Action::Tell { launcher, line } => format!("tell {launcher}: {line}"),
        Action::StartAt { pilot, executable } => format!("have pilot {pilot} start {executable}"),
        Action::StopAt { pilot, executable, .. } => format!("have pilot {pilot} stop {executable}"),
        Action::AskPilot { pilot } => format!("ask pilot {pilot} whether it is there"),
        Action::EndPilot { pilot } => format!("end pilot {pilot}"),
        Action::DropPilot { pilot } => format!("drop pilot {pilot}"),
        Action::Finish => "finish".to_owned(),
    }
}
