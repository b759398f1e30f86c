//! The conversation with a launcher (spec/launcher.md): requests, their answers in order, and
//! notices.

use std::time::Duration;

use farcall_base::{Error, ErrorKind};

use super::{Action, Turn};
use crate::state::{Asked, Kind, Number, Standing};

/// What people see of a launcher's words.
const TEXT_CHARACTERS_MAX: usize = 300;

impl Turn<'_> {
    /// Sees that a launcher runs.
    pub(super) fn need_launcher(&mut self, launcher: &str) {
        if self.state.launchers.contains_key(launcher) {
            return;
        }
        self.state.launchers.insert(launcher.to_owned(), Default::default());
        self.act(Action::StartLauncher { launcher: launcher.to_owned() });
        self.ask(launcher, Asked::Features { begun: false }, "QUERY_FEATURES".to_owned());
    }

    /// Tells a launcher that runs something that it answers.
    pub(super) fn ask(&mut self, launcher: &str, asked: Asked, line: String) {
        if asked == Asked::Exit
            && let Some(entry) = self.state.launchers.get_mut(launcher)
        {
            entry.leaving = true;
        }
        if self.await_answer(launcher, asked) {
            self.act(Action::Tell { launcher: launcher.to_owned(), line });
        }
    }

    /// Whether the launcher runs, and its answer is awaited.
    pub(super) fn await_answer(&mut self, launcher: &str, asked: Asked) -> bool {
        let until = self.now + Duration::from_millis(self.state.settings.answer_ms);
        let entry = self.state.launchers.get_mut(launcher);
        entry.map(|entry| entry.asked.push_back((asked, until))).is_some()
    }

    /// A line of a launcher's standard output.
    pub(super) fn answered(&mut self, launcher: &str, line: &str) {
        let Some(entry) = self.state.launchers.get_mut(launcher) else { return };
        let Some((asked, _)) = entry.asked.front().cloned() else {
            return self
                .broke(launcher, &format!("it sent an answer without a request: {}", shown(line)));
        };
        if let Asked::Features { begun } = asked {
            return self.featured(launcher, line, begun);
        }
        entry.asked.pop_front();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, asked) {
            ("S", Asked::Create(job)) => self.understood(job, launcher),
            ("S", _) | ("F", Asked::Destroy | Asked::Status | Asked::Exit) => {}
            ("F", Asked::Create(job)) => self.refused(job, launcher, rest),
            _ => self.broke(
                launcher,
                &format!("its answer begins with neither S nor F: {}", shown(line)),
            ),
        }
    }

    /// A line of what a launcher says of itself. Beside the version one feature is needed: without
    /// it, what calls ask for would be skipped without a word.
    fn featured(&mut self, launcher: &str, line: &str, begun: bool) {
        let Some(entry) = self.state.launchers.get_mut(launcher) else { return };
        match line.split_once(' ') {
            None if line == "SM" && !begun => {
                if let Some((asked, _)) = entry.asked.front_mut() {
                    *asked = Asked::Features { begun: true };
                }
            }
            None if line == "REPLY_END" && begun => drop(entry.asked.pop_front()),
            Some(("protocol_version", version)) if begun && !version.starts_with("2.") => {
                self.broke(
                    launcher,
                    &format!("it uses version {} of the protocol, not 2", shown(version)),
                );
            }
            Some(("feature", "resources")) if begun => entry.knows_resources = true,
            _ if begun => {}
            _ => self
                .broke(launcher, &format!("it did not identify itself, but sent: {}", shown(line))),
        }
    }

    /// A launcher makes a job. It has said before whether it knows what that asks for.
    fn understood(&mut self, job: Number, launcher: &str) {
        let knows = self.state.launchers.get(launcher).is_some_and(|entry| entry.knows_resources);
        let asked = self.state.jobs.get(&job).map(|job| job.kind.resources).unwrap_or_default();
        if knows || asked.is_empty() {
            return;
        }
        let message = "its launcher does not know of cores, memory, gpus and wall_time of a call";
        let error = Error::new(ErrorKind::Unavailable, "start a job", message)
            .with("launcher", launcher)
            .with("resources", asked)
            .fix(
                "leave them out, or have the launcher name the feature \"resources\" \
                (spec/launcher.md)",
            );
        self.job_failed(job, &error);
    }

    fn refused(&mut self, job: Number, launcher: &str, reason: &str) {
        let error = Error::new(ErrorKind::Unavailable, "start a job", shown(reason))
            .with("launcher", launcher);
        let settings = self.state.settings.launcher(launcher).unwrap_or_default().asked();
        let error = match settings.as_slice() {
            [] => error,
            settings => error.with("settings", settings.join(", ")).fix(
                "if a setting is wrong, change it where it comes from: `farcall config show`, with \
                 HOST/LAUNCHER for a server that `farcall connect` started, says that",
            ),
        };
        self.job_failed(job, &error);
    }

    /// A line of a launcher's standard error: a notice, or words for people.
    pub(super) fn noticed(&mut self, launcher: &str, line: &str) {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("CREATE_NOTIFY"), Some(request), Some("S"), Some(id)) => {
                self.created(launcher, request, id.trim())
            }
            (Some("CREATE_NOTIFY"), Some(request), Some("F"), reason) => {
                let reason = reason.unwrap_or("it gave no reason").to_owned();
                if let Some(job) = self.submitted(launcher, request) {
                    self.refused(job, launcher, &reason);
                }
            }
            (Some("STATUS_NOTIFY"), Some(id), Some(standing), text) => {
                let text = shown(text.unwrap_or(""));
                if let Some(number) = self.job_of(launcher, id) {
                    self.job_stands(number, standing, &text);
                }
            }
            (Some("SIZE_NOTIFY"), Some(of), Some(which), rest) => {
                let most = rest.and_then(|rest| rest.split(' ').next()?.parse().ok());
                let job = match of {
                    "request" => self.submitted(launcher, which),
                    _ => self.job_of(launcher, which),
                };
                if let (Some(number), Some(most)) = (job, most) {
                    self.job_too_large(number, most);
                }
            }
            (Some("DELAY_NOTIFY"), Some(request), ..) => self.delayed(launcher, request, line),
            _ => {}
        }
    }

    /// The job that a launcher calls so.
    fn job_of(&self, launcher: &str, id: &str) -> Option<Number> {
        let is_it = |(_, job): &(&Number, &crate::state::Job)| {
            job.kind.launcher == launcher && job.id.as_deref() == Some(id)
        };
        self.state.jobs.iter().find(is_it).map(|(number, _)| *number)
    }

    /// A job is not submitted yet: people hear why.
    fn delayed(&mut self, launcher: &str, request: &str, line: &str) {
        let Some(number) = self.submitted(launcher, request) else { return };
        let until = self.now + Duration::from_millis(self.state.settings.submit_ms);
        let why = shown(line.splitn(3, ' ').nth(2).unwrap_or_default());
        if let Some(job) = self.state.jobs.get_mut(&number) {
            job.is_delayed(&why, until);
            self.state.changed = true;
        }
    }

    /// The job of a request that the launcher has not named yet.
    fn submitted(&self, launcher: &str, request: &str) -> Option<Number> {
        let number: Number = request.parse().ok()?;
        let job = self.state.jobs.get(&number)?;
        (job.kind.launcher == launcher && job.id.is_none() && job.standing != Standing::Over)
            .then_some(number)
    }

    fn created(&mut self, launcher: &str, request: &str, id: &str) {
        if let Some(entry) = self.state.launchers.get_mut(launcher) {
            entry.works = true;
        }
        let Some(number) = self.submitted(launcher, request) else {
            // It was given up: it is no longer needed.
            return self.ask(launcher, Asked::Destroy, format!("JOB_DESTROY {id}"));
        };
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        job.id = Some(id.to_owned());
        if matches!(job.standing, Standing::Submitting { .. }) {
            job.standing = Standing::Pending;
        }
        let unwanted = std::mem::take(&mut job.unwanted);
        self.state.changed = true;
        if unwanted {
            self.end_job(number);
        }
    }

    /// It does not keep to the protocol, or does not answer.
    fn broke(&mut self, launcher: &str, how: &str) {
        self.act(Action::EndLauncher { launcher: launcher.to_owned() });
        self.launcher_ended(launcher, how);
    }

    pub(super) fn end_late_launchers(&mut self) {
        let is_late = |entry: &crate::state::Launcher| {
            entry.asked.front().is_some_and(|(_, until)| *until <= self.now)
        };
        let late: Vec<String> = self
            .state
            .launchers
            .iter()
            .filter(|(_, entry)| is_late(entry))
            .map(|(name, _)| name.clone())
            .collect();
        for launcher in late {
            let seconds = self.state.settings.answer_ms / 1000;
            self.broke(&launcher, &format!("it gave no answer within {seconds} s"));
        }
    }

    /// A launcher is gone, and with it whatever it knew of jobs: those whose programs have come go
    /// on, as these need no launcher; the others are over, and their programs find no ticket should
    /// they come after all.
    pub(super) fn launcher_ended(&mut self, launcher: &str, how: &str) {
        let Some(entry) = self.state.launchers.remove(launcher) else { return };
        // What the next one says of sizes may be something else.
        self.state.sizes.retain(|(kind, _), _| kind.launcher != launcher);
        if !entry.leaving {
            let error = Error::new(
                ErrorKind::Unavailable,
                "start a job",
                format!("the launcher failed: {}", shown(how)),
            )
            .with("launcher", launcher)
            .fix("run it by hand to see what it prints: spec/launcher.md describes the requests");
            if entry.works && self.state.closing.is_none() {
                return self.begin_anew(launcher, &error);
            }
            let jobs: Vec<Number> = self
                .state
                .jobs
                .iter()
                .filter(|(_, job)| job.kind.launcher == launcher)
                .map(|(n, _)| *n)
                .collect();
            for number in jobs {
                self.job_failed(number, &error);
            }
            let kinds: Vec<Kind> = self
                .state
                .waiting
                .keys()
                .filter(|kind| kind.launcher == launcher)
                .cloned()
                .collect();
            for kind in kinds {
                self.fail_excess(&kind, u32::MAX, &error);
            }
        }
    }
}

/// A launcher's words, fit for a terminal and for an error.
fn shown(words: &str) -> String {
    let clean = words.trim().chars().take(TEXT_CHARACTERS_MAX);
    clean.map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
