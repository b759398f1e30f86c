//! Event → actions: when jobs are asked for, who gets which executable, what becomes of both. Pure.

mod jobs;
mod launchers;
mod lost;
mod pilots;

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant, Result, nearest};
use farcall_services::directory::ExecutableImage;
use farcall_services::spawner::{ExitHow, Exited, OutputTail};
use farcall_wire::PilotHello;

use crate::resources;
use crate::state::{Asked, Executable, Kind, Number, Place, Settings, State};

/// Time that executables, pilots and launchers have to end when the node stops.
const CLOSING_MAX: Duration = Duration::from_secs(3);

/// What has happened.
pub(crate) enum Event {
    /// Somebody asks for a start.
    Start { executable: ExecutableId, module: String, image: ExecutableImage, array: Option<u64> },
    /// Somebody asks for an end.
    Stop { executable: ExecutableId, grace: Duration },
    /// Somebody asks for the end of a job.
    Cancel { number: Number },
    /// What a job needs is there: its ticket's path, and the program that it is to run.
    Prepared { job: Number },
    /// It is not.
    Unprepared { job: Number, error: Error },
    /// A launcher wrote a line to its standard output.
    Answered { launcher: String, line: String },
    /// A launcher wrote a line to its standard error.
    Noticed { launcher: String, line: String },
    /// A launcher ended, or could not be started; what it said last.
    LauncherEnded { launcher: String, how: String },
    /// A pilot said who it is.
    PilotCame { pilot: Number, hello: PilotHello },
    /// It said something, whatever that is.
    PilotSaid { pilot: Number },
    /// A pilot could not start an executable.
    PilotFailed { pilot: Number, executable: ExecutableId, error: Error },
    /// An executable has ended.
    PilotReaped { pilot: Number, exited: Exited },
    /// The connection to an executable is there.
    LineCame { job: String, executable: ExecutableId },
    /// A pilot's connection ended.
    PilotLost { pilot: Number, why: String },
    /// Time passed.
    Tick,
    /// The node stops.
    Shutdown,
}

/// What the driver must do, in this order.
#[derive(Debug)]
pub(crate) enum Action {
    /// Report that an executable could not be started.
    ReportFailed { executable: ExecutableId, error: Error },
    /// Hand its connection over.
    ReportStarted { executable: ExecutableId },
    /// The connection that came is nobody's.
    DropLine { executable: ExecutableId },
    /// Report its end, and forget it.
    ReportExited(Box<Exited>),
    /// Start a launcher.
    StartLauncher { launcher: String },
    /// Give it time to end, then end it.
    EndLauncher { launcher: String },
    /// Make a job's folder and ticket.
    Prepare { job: Number },
    /// Remove them.
    Remove { job: String },
    /// Ask a launcher for a job that was prepared.
    Create { job: Number },
    /// Tell a launcher something else.
    Tell { launcher: String, line: String },
    /// Have a pilot start an executable.
    StartAt { pilot: Number, executable: ExecutableId },
    /// Have it end one.
    StopAt { pilot: Number, executable: ExecutableId, grace: Duration },
    /// Ask it whether it is there.
    AskPilot { pilot: Number },
    /// Have it end.
    EndPilot { pilot: Number },
    /// Close its connection.
    DropPilot { pilot: Number },
    /// Everything has ended.
    Finish,
}

/// Takes one event in.
pub(crate) fn step(state: &mut State, now: Instant, event: Event) -> Vec<Action> {
    let mut turn = Turn { state, now, actions: Vec::new() };
    match event {
        Event::Start { executable, module, image, array } => {
            turn.start(executable, module, image, array)
        }
        Event::Stop { executable, grace } => turn.stop(executable, grace),
        Event::Cancel { number } => turn.cancel(number),
        Event::Prepared { job } => turn.prepared(job),
        Event::Unprepared { job, error } => turn.job_failed(job, &error),
        Event::Answered { launcher, line } => turn.answered(&launcher, &line),
        Event::Noticed { launcher, line } => turn.noticed(&launcher, &line),
        Event::LauncherEnded { launcher, how } => turn.launcher_ended(&launcher, &how),
        Event::PilotCame { pilot, hello } => turn.pilot_came(pilot, hello),
        Event::PilotSaid { pilot } => turn.pilot_said(pilot),
        Event::PilotFailed { pilot, executable, error } => {
            turn.pilot_failed(pilot, executable, error)
        }
        Event::PilotReaped { pilot, exited } => turn.pilot_reaped(pilot, exited),
        Event::LineCame { job, executable } => turn.line_came(&job, executable),
        Event::PilotLost { pilot, why } => turn.pilot_lost(pilot, &why),
        Event::Tick => turn.tick(),
        Event::Shutdown => turn.shutdown(),
    }
    turn.gather();
    turn.finish_if_done();
    turn.actions
}

/// One event's turn.
struct Turn<'a> {
    state: &'a mut State,
    now: Instant,
    actions: Vec<Action>,
}

impl Turn<'_> {
    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn start(
        &mut self,
        executable: ExecutableId,
        module: String,
        image: ExecutableImage,
        array: Option<u64>,
    ) {
        let checked = self.check_start(executable, &image.launcher);
        let kind = match checked.and_then(|()| kind_of(&self.state.settings, &module, &image)) {
            Ok(kind) => kind,
            Err(error) => return self.act(Action::ReportFailed { executable, error }),
        };
        let Kind { ranks, resources, .. } = kind;
        let image = ExecutableImage { ranks, resources, ..image };
        let image = Arc::new(image);
        let place = Place::Waiting;
        let entry = Executable { kind: kind.clone(), module, image, array, place, tries: 0 };
        self.state.executables.insert(executable, entry);
        self.state.waiting.entry(kind.clone()).or_default().push_back(executable);
        self.serve();
    }

    fn check_start(&self, executable: ExecutableId, launcher: &str) -> Result<()> {
        let refused = |kind, message: String| Error::new(kind, "start an executable", message);
        if self.state.closing.is_some() {
            return Err(refused(ErrorKind::ShuttingDown, "the node is stopping".to_owned()));
        }
        if self.state.executables.contains_key(&executable) {
            return Err(refused(
                ErrorKind::Internal,
                format!("executable {executable} already exists"),
            ));
        }
        if self.state.settings.launcher(launcher).is_none() {
            return Err(no_launcher(&self.state.settings, launcher));
        }
        Ok(())
    }

    /// Gives waiting executables to pilots with room; jobs come for the others.
    fn serve(&mut self) {
        let free: Vec<Number> = self
            .state
            .pilots
            .iter()
            .filter(|(_, pilot)| pilot.has_room(self.now))
            .map(|(n, _)| *n)
            .collect();
        for pilot in free {
            self.fill(pilot);
        }
    }

    fn stop(&mut self, executable: ExecutableId, grace: Duration) {
        let Some(entry) = self.state.executables.get(&executable) else { return };
        match entry.place {
            Place::Waiting => {
                let kind = entry.kind.clone();
                self.leave_line(&kind, executable);
                let message = "it was stopped before it started";
                let error = Error::new(ErrorKind::Cancelled, "start an executable", message);
                self.fail(executable, error);
                self.end_surplus(&kind);
            }
            Place::Starting(pilot) | Place::Running(pilot) => {
                self.act(Action::StopAt { pilot, executable, grace })
            }
        }
    }

    fn leave_line(&mut self, kind: &Kind, executable: ExecutableId) {
        if let Some(line) = self.state.waiting.get_mut(kind) {
            line.retain(|other| *other != executable);
        }
    }

    /// It never was there.
    fn fail(&mut self, executable: ExecutableId, error: Error) {
        if self.state.executables.remove(&executable).is_some() {
            self.act(Action::ReportFailed { executable, error });
        }
    }

    /// It was there, and is lost.
    fn lose(&mut self, executable: ExecutableId, why: &str) {
        if self.state.executables.remove(&executable).is_none() {
            return;
        }
        let mut stderr = OutputTail::new(1, 400);
        stderr.push(self.now, why.as_bytes());
        let how = ExitHow::Lost;
        let stdout = OutputTail::default();
        self.act(Action::ReportExited(Box::new(Exited {
            executable,
            how,
            rank: None,
            was_stopped: false,
            stderr,
            stdout,
        })));
    }

    fn tick(&mut self) {
        let due: Vec<Kind> = self
            .state
            .gathering
            .iter()
            .filter(|(_, at)| **at <= self.now)
            .map(|(k, _)| k.clone())
            .collect();
        for kind in due {
            self.state.gathering.remove(&kind);
            self.ask_for_jobs(&kind);
        }
        self.end_late_launchers();
        self.fail_late_jobs();
        self.ask_again();
        self.tell_late();
        self.tell_of_absent();
        self.give_up_missing();
        self.end_idle_pilots();
        self.ask_pilots();
        if self.state.closing.is_some_and(|until| until <= self.now) {
            self.give_up();
        }
    }

    fn shutdown(&mut self) {
        if self.state.closing.is_some() {
            return;
        }
        self.state.closing = Some(self.now + CLOSING_MAX);
        self.state.gathering.clear();
        let waiting: Vec<ExecutableId> =
            self.state.waiting.values_mut().flat_map(std::mem::take).collect();
        for executable in waiting {
            let error =
                Error::new(ErrorKind::ShuttingDown, "start an executable", "the node is stopping");
            self.fail(executable, error);
        }
        let pilots: Vec<Number> = self.state.pilots.keys().copied().collect();
        for pilot in pilots {
            self.end_pilot(pilot);
        }
        let jobs: Vec<Number> = self.state.jobs.keys().copied().collect();
        for job in jobs {
            self.end_job(job);
        }
        let launchers: Vec<String> = self.state.launchers.keys().cloned().collect();
        for launcher in launchers {
            self.ask(&launcher, Asked::Exit, "EXIT".to_owned());
        }
    }

    /// Nobody is waited for any more.
    fn give_up(&mut self) {
        let pilots: Vec<Number> = self.state.pilots.keys().copied().collect();
        for pilot in pilots {
            self.act(Action::DropPilot { pilot });
            self.pilot_lost(pilot, "the node stopped");
        }
        let left: Vec<ExecutableId> = self.state.executables.keys().copied().collect();
        for executable in left {
            self.lose(executable, "the node stopped");
        }
        let launchers: Vec<String> = self.state.launchers.keys().cloned().collect();
        for launcher in launchers {
            self.state.launchers.remove(&launcher);
            self.act(Action::EndLauncher { launcher });
        }
        let jobs: Vec<Number> = self.state.jobs.keys().copied().collect();
        for job in jobs {
            self.forget_job(job);
        }
    }

    fn finish_if_done(&mut self) {
        let State { executables, pilots, launchers, closing, .. } = &*self.state;
        if closing.is_some() && executables.is_empty() && pilots.is_empty() && launchers.is_empty()
        {
            let jobs: Vec<Number> = self.state.jobs.keys().copied().collect();
            for job in jobs {
                self.forget_job(job);
            }
            self.act(Action::Finish);
        }
    }
}

fn kind_of(settings: &Settings, module: &str, image: &ExecutableImage) -> Result<Kind> {
    let launcher = image.launcher.clone();
    let own = settings.launcher(&launcher).unwrap_or_default();
    let resources = resources::of(&launcher, &own, image.resources)?;
    if image.backend.is_empty() || image.backend.eq_ignore_ascii_case("normal") {
        return Ok(Kind { launcher, backend: String::new(), ranks: 0, resources });
    }
    Ok(Kind {
        launcher,
        backend: image.backend.to_ascii_lowercase(),
        ranks: settings.ranks.of(module, image.ranks)?,
        resources,
    })
}

/// There is no launcher of that name.
pub(crate) fn no_launcher(settings: &Settings, launcher: &str) -> Error {
    let near = nearest(launcher, settings.names(), 1);
    let near = near.first().map_or(String::new(), |near| format!("did you mean \"{near}\"? "));
    let names = settings.names().into_iter().collect::<Vec<_>>().join(", ");
    let fix = format!(
        "{near}there are {names}; to add another, set launchers.{launcher}.command in the options \
        of spawner-jobs: in the file of serve --manifest, or in ~/.config/farcall/farcall.toml of \
        the host that farcall connect reaches"
    );
    let message = format!("there is no launcher \"{launcher}\"");
    Error::new(ErrorKind::NotFound, "start an executable", message).fix(fix)
}
