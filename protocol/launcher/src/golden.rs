//! Plays the conversations of tests/golden against both launchers.
//!
//! A script says `launcher slurm` (or another batch system), `launcher here` or `launcher there`. Each event is `> TIME_MS
//! EVENT …`: `create ID ATTRIBUTE; …`, `ask REQUEST`, `ran COMMAND OUTPUT`, `failed COMMAND STATUS
//! WORDS`, `late COMMAND`, `started KEY`, `ended KEY well|badly TEXT`, `closed`, `tick`. A command
//! is the oldest of its name that runs, or the one of that number. In texts, `\n` is a line's end.
//! The last line of each event says when it wants to be woken.

use farcall_base::Instant;
use farcall_golden::Conversation;

use crate::{
    Action, Batch, Ended, Event, Launcher, Outcome, Processes, Requests, Settings, Start, Where,
    quoted, system,
};

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<Play>(env!("CARGO_MANIFEST_DIR"), 8);
}

struct Play {
    launcher: Box<dyn Launcher>,
    requests: Requests,
    /// Commands that run.
    running: Vec<(u64, String)>,
}

impl Conversation for Play {
    fn begin(script: &str) -> Play {
        let which = script.lines().find_map(|line| line.strip_prefix("launcher ")).unwrap();
        let launcher: Box<dyn Launcher> = match which {
            "here" => Box::new(Processes::new(Where::Here)),
            "there" => Box::new(Processes::new(Where::There)),
            name => {
                let settings = Settings::new("farcall-1".to_owned());
                Box::new(Batch::new(system(name, "").unwrap(), settings))
            }
        };
        Play { launcher, requests: Requests::default(), running: Vec::new() }
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let (time, event) = event.split_once(' ').unwrap();
        let now = Instant(time.parse::<u64>().unwrap() * 1_000_000);
        let (name, rest) = event.split_once(' ').unwrap_or((event, ""));
        match name {
            "create" => {
                let (id, attributes) = rest.split_once(' ').unwrap();
                let attributes = attributes.replace("; ", "\n");
                self.ask(now, &format!("JOB_CREATE {id}\n{attributes}\nJOB_CREATE_END\n"));
            }
            "ask" => self.ask(now, &format!("{rest}\n")),
            _ => {
                let event = self.hear(name, rest);
                self.launcher.handle_event(now, event);
            }
        }
        let actions: Vec<Action> = std::iter::from_fn(|| self.launcher.poll_action()).collect();
        let begun = actions.iter().filter_map(|action| match action {
            // Of the two questions to squeue, the one for everybody's place has a name of its own.
            Action::Run(number, command)
                if command.words.iter().any(|word| word == "--states=PENDING") =>
            {
                Some((*number, "places".to_owned()))
            }
            Action::Run(number, command) => Some((*number, command.words[0].clone())),
            _ => None,
        });
        self.running.extend(begun);
        let wake = self.launcher.wake().map(|at| format!("wake {}", at.0 / 1_000_000));
        actions.into_iter().map(show).chain(wake).collect()
    }
}

impl Play {
    fn hear(&mut self, name: &str, rest: &str) -> Event {
        let command = rest.split(' ').next().unwrap();
        let is_it =
            |(number, name): &(u64, String)| name == command || number.to_string() == command;
        let at = self.running.iter().position(is_it);
        if ["ran", "failed", "late"].contains(&name) {
            let (number, _) = self.running.remove(
                at.unwrap_or_else(|| panic!("{rest}: it does not run; {:?} do", self.running)),
            );
            return event(number, name, rest);
        }
        event(0, name, rest)
    }

    fn ask(&mut self, now: Instant, text: &str) {
        for request in self.requests.handle_bytes(text.as_bytes()) {
            self.launcher.handle_request(now, request);
        }
    }
}

fn event(number: u64, name: &str, rest: &str) -> Event {
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = text.replace("\\n", "\n");
    let ran = |status: Option<i32>, output: &str, words: &str| {
        Event::Ran(number, Outcome { status, output: output.to_owned(), words: words.to_owned() })
    };
    match name {
        "ran" => ran(Some(0), &text, ""),
        "late" => ran(None, "", ""),
        "failed" => {
            let (status, words) = text.split_once(' ').unwrap();
            ran(Some(status.parse().unwrap()), "", words)
        }
        "started" => Event::Started(first.to_owned()),
        "ended" => {
            let (how, text) = text.split_once(' ').unwrap();
            Event::Ended(
                first.to_owned(),
                Ended { is_success: how == "well", text: text.to_owned() },
            )
        }
        "closed" => Event::Closed,
        "tick" => Event::Woken,
        _ => panic!("no such event: {name}"),
    }
}

fn show(action: Action) -> String {
    let line = |words: &[String]| words.join(" ");
    match action {
        Action::Reply(text) => format!("reply {text}"),
        Action::Notice(text) => format!("notice {text}"),
        Action::Run(number, command) => {
            format!("run {number} ({:?}) {}", command.limit, line(&command.words))
        }
        Action::Start(key, Start::Here(job)) => {
            format!("start {key} here {}", quoted(&job.program.path))
        }
        Action::Start(key, Start::There(job)) => {
            format!("start {key} at {} {}", job.hostname, job.program.path)
        }
        Action::Start(key, Start::Bridged(start)) => {
            format!(
                "start {key} {:?} {} <-> {}",
                start.environment,
                line(&start.words),
                start.bridge
            )
        }
        Action::Stop(key) => format!("stop {key}"),
        Action::Kill(key) => format!("kill {key}"),
        Action::End(is_clean) => {
            format!("end {}", if is_clean { "clean" } else { "with something left" })
        }
    }
}
