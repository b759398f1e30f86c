//! Launchers: the programs that start jobs, what they say, and what each job is given.

use std::collections::BTreeMap;

use farcall_base::{Error, Result};

use super::Driver;
use super::program::{Program, Said};
use crate::gate::{Gate, GateWish, OpenGate};
use crate::request;
use crate::state::Number;
use crate::step::Event;

/// The programs.
#[derive(Default)]
pub(super) struct Launchers {
    /// Those that run, by name.
    pub(super) running: BTreeMap<String, Program>,
    /// Those that are to end, or have.
    pub(super) leaving: Vec<Program>,
}

/// Where pilots come in.
pub(super) struct Gates {
    open: OpenGate,
    /// Those that are open, by launcher.
    pub(super) opened: BTreeMap<String, Box<dyn Gate>>,
}

impl Gates {
    pub(super) fn new(open: OpenGate) -> Gates {
        Gates { open, opened: BTreeMap::new() }
    }
}

impl Driver {
    pub(super) fn hear_launcher(&mut self, name: &str) {
        let Some(program) = self.launchers.running.get_mut(name) else { return };
        for said in program.exchange() {
            let launcher = name.to_owned();
            match said {
                Said::Answer(line) => self.events.push_back(Event::Answered { launcher, line }),
                Said::Notice(line) => {
                    self.fetch_last_words(&line);
                    self.events.push_back(Event::Noticed { launcher, line });
                }
                Said::Ended(how) => {
                    if let Some(program) = self.launchers.running.remove(name) {
                        self.launchers.leaving.push(program);
                    }
                    return self.events.push_back(Event::LauncherEnded { launcher, how });
                }
            }
        }
    }

    /// What a job wrote before its end says more than how it ended.
    fn fetch_last_words(&mut self, notice: &str) {
        let mut words = notice.split(' ');
        let (Some("STATUS_NOTIFY"), Some(id), Some("DONE" | "FAILED")) =
            (words.next(), words.next(), words.next())
        else {
            return;
        };
        if let Some(job) = self.state.jobs.values_mut().find(|job| job.id.as_deref() == Some(id)) {
            job.said = self.folder.output_of(&job.name);
        }
    }

    pub(super) fn start_launcher(&mut self, launcher: &str) {
        let settings = self.state.settings.launcher(launcher).unwrap_or_default();
        match Program::start(&settings.command) {
            Ok(program) => drop(self.launchers.running.insert(launcher.to_owned(), program)),
            Err(error) => {
                let how = error.to_string();
                self.events.push_back(Event::LauncherEnded { launcher: launcher.to_owned(), how });
            }
        }
    }

    pub(super) fn tell_launcher(&mut self, launcher: &str, lines: &[String]) {
        let Some(program) = self.launchers.running.get_mut(launcher) else { return };
        program.tell(lines);
        self.hear_launcher(launcher);
    }

    /// Makes a job's folder, with its ticket inside.
    pub(super) fn prepare(&mut self, number: Number) -> Result<()> {
        let gone = || Error::internal("prepare a job", "it is gone");
        let job = self.state.jobs.get(&number).ok_or_else(gone)?;
        let name = job.name.clone();
        let launcher = job.kind.launcher.clone();
        let settings = self.state.settings.launcher(&launcher).ok_or_else(gone)?;
        if !self.gates.opened.contains_key(&launcher) {
            let folder = self.folder.prepare()?;
            let wish = GateWish {
                folder: &folder,
                dial: self.state.settings.dial(&launcher),
                listen: settings.listen.as_deref().unwrap_or("0.0.0.0"),
                reached_at: &settings.reached_at,
            };
            self.gates.opened.insert(launcher.clone(), (self.gates.open)(&wish)?);
        }
        let gate = self.gates.opened.get_mut(&launcher).ok_or_else(gone)?;
        let options = self.state.settings.pilot_options.lines();
        let options: String = options.map(|line| format!("option {line}\n")).collect();
        let ticket = format!("farcall-ticket 1\njob {name}\n{options}{}", gate.ticket(&name)?);
        self.folder.make(&name, &ticket)
    }

    pub(super) fn create(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        let Some(settings) = self.state.settings.launcher(&job.kind.launcher) else { return };
        let program = match settings.program.as_str() {
            "" => std::env::current_exe().unwrap_or_else(|_| "farcall".into()),
            program => program.into(),
        };
        let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = if settings.host.is_empty() { own() } else { settings.host.clone() };
        let files = request::Files {
            program: &program,
            folder: &self.folder.of(&job.name),
            ticket: &self.folder.ticket_of(&job.name),
            output: &self.folder.output_file_of(&job.name),
            host: &host,
            bridge: self.gates.opened.get(&job.kind.launcher).and_then(|gate| gate.bridge()),
        };
        let lines = request::create(number, job, &settings, &files);
        let launcher = job.kind.launcher.clone();
        self.tell_launcher(&launcher, &lines);
    }
}
