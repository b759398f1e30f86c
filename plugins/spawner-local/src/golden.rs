//! Plays the conversations of tests/golden against `step`.
//!
//! Each event is `> TIME_MS EVENT …`; `event` shows how each is written. A `<` line is one action;
//! the last of each event gives the next deadline, if there is one.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant};
use farcall_golden::Conversation;
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::spawner::{ExitHow, Output};

use crate::state::{Settings, State};
use crate::step::{Action, Event, step};

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<Play>(env!("CARGO_MANIFEST_DIR"), 6);
}

struct Play {
    state: State,
    /// Events so far: the numbers of requests.
    events: u64,
}

impl Conversation for Play {
    fn begin(_: &str) -> Play {
        let settings =
            Settings { executables_max: 2, output_tail_lines_max: 2, ..Settings::default() };
        Play { state: State::new(settings), events: 0 }
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        self.events += 1;
        let words: Vec<&str> = event.split_whitespace().collect();
        let now = Instant(words[0].parse::<u64>().unwrap() * 1_000_000);
        let shown =
            step(&mut self.state, now, self::event(self.events, &words[1..])).into_iter().map(show);
        let deadline =
            self.state.next_deadline().map(|at| format!("deadline {}", at.0 / 1_000_000));
        shown.chain(deadline).collect()
    }
}

fn event(request: u64, words: &[&str]) -> Event {
    let executable = ExecutableId(words.get(1).map_or(0, |number| number.parse().unwrap()));
    match words {
        ["start", _, image @ ..] => {
            let module = "m".to_string();
            Event::Start { request, executable, module, image: Box::new(self::image(image)) }
        }
        ["stop", _, "grace", grace] => {
            Event::Stop { executable, grace: Duration::from_millis(grace.parse().unwrap()) }
        }
        ["spawned", _] => Event::Spawned { executable },
        ["spawn-failed", _] => Event::SpawnFailed {
            executable,
            error: Error::new(ErrorKind::Unavailable, "start", "no such file"),
        },
        ["stderr", _, text @ ..] => output(executable, Output::Stderr, text),
        ["stdout", _, text @ ..] => output(executable, Output::Stdout, text),
        ["exited", _, status] => Event::Ended {
            executable,
            how: ExitHow::Status(status.parse().unwrap()),
            was_stopped: false,
        },
        ["killed", _, number] => {
            let number = number.parse().unwrap();
            let how = ExitHow::Signal { number, name: "SIGNAL", core: false };
            Event::Ended { executable, how, was_stopped: false }
        }
        ["tick"] => Event::Tick,
        ["shutdown"] => Event::Shutdown,
        _ => panic!("no such event: {words:?}"),
    }
}

fn output(executable: ExecutableId, output: Output, words: &[&str]) -> Event {
    Event::Output {
        executable,
        output,
        before: Instant(0),
        bytes: (words.join(" ") + "\n").into_bytes(),
    }
}

/// `host`, or a path; then `backend=B`, `ranks=N`, or variables `NAME=VALUE`.
fn image(words: &[&str]) -> ExecutableImage {
    let kind = match words[0] {
        "host" => ImageKind::GenericHost { libraries: Vec::new() },
        path => ImageKind::Linked { path: path.to_string() },
    };
    let mut image = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind,
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: Arc::from([]),
    };
    for (name, value) in words[1..].iter().map(|word| word.split_once('=').unwrap()) {
        match name {
            "backend" => image.backend = value.to_string(),
            "ranks" => image.ranks = value.parse().unwrap(),
            _ => image.environment.push((name.to_string(), value.to_string())),
        }
    }
    image
}

fn show(action: Action) -> String {
    match action {
        Action::Refuse { error, .. } => format!("refuse {} {error}", error.kind().name()),
        Action::Spawn { executable, command, .. } => {
            let variables =
                command.environment.iter().map(|(name, value)| format!("{name}={value} "));
            let arguments =
                command.arguments.iter().map(|argument| format!(" {argument}")).collect::<String>();
            format!(
                "spawn {executable}: {}{}{arguments}",
                variables.collect::<String>(),
                command.program
            )
        }
        Action::ReportStarted { executable } => format!("report {executable} started"),
        Action::ReportFailed { executable, error } => {
            format!("report {executable} failed: {error}")
        }
        Action::Signal { executable, signal } => format!("signal {executable} {signal:?}"),
        Action::ReportExited(exited) => format!(
            "report {} {}{}; stderr {:?}; stdout {:?}",
            exited.executable,
            exited.rank.map_or(String::new(), |rank| format!("rank {rank} ")),
            exited.how,
            exited.stderr.text(),
            exited.stdout.text()
        ),
        Action::Finish => "finish".to_string(),
    }
}
