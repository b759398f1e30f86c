//! How objects begin: what the directory says of them, their executables one after the other, and
//! the word that all are ready.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_services::directory::{ExecutableImage, PublishedRoutine};
use farcall_wire::Reply;

use crate::state::{HoldNumber, Standing, State, Variant};
use crate::step::executables::pool::Place;
use crate::step::{Server, Surroundings};

/// Executables of objects that come at a time, whoever wants them: processes that start slow each
/// other down.
const STARTS_MAX: usize = 32;

impl Server {
    /// The directory knows what is to be held, or not.
    pub fn held(
        &mut self,
        surroundings: &mut dyn Surroundings,
        hold: HoldNumber,
        answer: Result<Vec<Arc<PublishedRoutine>>>,
    ) {
        match answer.and_then(|routines| self.know_hold(hold, &routines)) {
            Ok(()) => {
                self.fail_outdated(surroundings, hold);
                let objects = self.state.objects.of_hold(hold);
                self.state.objects.start_all(objects);
                self.start_held(surroundings.now());
            }
            Err(error) => self.fail_hold(surroundings, hold, &error),
        }
    }

    fn know_hold(&mut self, number: HoldNumber, routines: &[Arc<PublishedRoutine>]) -> Result<()> {
        let gone = || {
            Error::new(ErrorKind::ConnectionLost, "hold an object", "its owner has disconnected")
        };
        let asked = self.state.objects.hold(number).and_then(|hold| hold.asked);
        let (connection, _) = asked.ok_or_else(gone)?;
        let first = routines
            .first()
            .ok_or_else(|| Error::internal("hold an object", "the class has no methods"))?;
        self.may_call(connection, first)?;
        let known = routines
            .iter()
            .map(|routine| (routine.routine.interface.full_name(), self.remember(routine)));
        let known = known.collect();
        let Some(hold) = self.state.objects.hold_mut(number) else { return Err(gone()) };
        hold.routines = known;
        let asked = hold.variant.resources;
        let asked = asked.over(first.routine.interface.resources).settled();
        let variant = Variant { resources: asked, ..hold.variant };
        let module = Arc::new((first.module.name.clone(), first.module.generation, variant));
        let Variant { ranks, resources } = variant;
        let image = ExecutableImage { ranks, resources, ..first.module.executable.clone() };
        hold.image = Some((module, image));
        let class = &first.routine.interface.class;
        hold.class = (!class.is_empty()).then(|| class.clone());
        Ok(())
    }

    /// Starts executables of objects, as many as may come at a time.
    pub(super) fn start_held(&mut self, now: Instant) {
        // What a launcher starts does not slow this host down, and comes in one job.
        let elsewhere = |state: &State| {
            let next = state.objects.next_to_start().and_then(|next| state.objects.hold_of(next));
            next.and_then(|hold| hold.image.as_ref())
                .is_some_and(|(_, image)| !image.launcher.is_empty())
        };
        while (self.state.objects.starting() < STARTS_MAX || elsewhere(&self.state))
            && let Some(executable) = self.state.objects.take_next_to_start()
        {
            let is_wanted =
                self.state.objects.get(executable).is_some_and(|one| !one.standing.is_ending());
            let hold = self.state.objects.hold_of(executable).filter(|_| is_wanted);
            if let Some((module, image)) = hold.and_then(|hold| hold.image.clone()) {
                self.state.objects.process_began(executable);
                self.begin_executable(executable, &module, image, now, Place::Held);
            }
        }
    }

    /// An executable of an object has loaded its module, or cannot.
    pub(in crate::step) fn object_loaded(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        reply: Reply,
    ) {
        let number = self.state.objects.get(executable).map(|object| object.hold);
        let Some(number) = number else { return };
        let broken = || {
            Error::new(
                ErrorKind::Protocol,
                "start an executable",
                "it sent the wrong kind of answer",
            )
        };
        let error = match reply {
            Reply::Done | Reply::Loaded(_) => {
                if let Some(record) = self.state.executables.get_mut(&executable) {
                    record.loaded = true;
                }
                self.state.leave_pool(executable);
                self.free(surroundings.now(), executable);
                self.one_more_is_ready(surroundings, number);
                return self.start_held(surroundings.now());
            }
            Reply::Failed(failure) => Error::from(failure),
            _ => broken(),
        };
        self.fail_hold(surroundings, number, &error);
    }

    /// One that others of its request wait for ends before it is ready. They do without it.
    pub(super) fn one_less_comes(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: HoldNumber,
        error: &Error,
    ) {
        let comes = |one: &ExecutableId| {
            self.state
                .objects
                .get(*one)
                .is_some_and(|object| matches!(object.standing, Standing::Coming))
        };
        if self.state.objects.of_hold(number).iter().any(comes) {
            return self.one_more_is_ready(surroundings, number);
        }
        let Some(hold) = self.state.objects.hold_mut(number) else { return };
        let asked = hold.asked.take();
        let name = hold.name.clone();
        if let Some((connection, channel)) = asked {
            self.refuse_hold(connection, channel, &name, error);
        }
    }

    fn one_more_is_ready(&mut self, surroundings: &mut dyn Surroundings, number: HoldNumber) {
        let Some(hold) = self.state.objects.hold_mut(number) else { return };
        hold.missing = hold.missing.saturating_sub(1);
        if hold.missing > 0 {
            return;
        }
        let asked = hold.asked.take();
        self.state.objects.set_start(number, None);
        if let Some((connection, channel)) = asked {
            self.reply(connection, channel, &Reply::Done);
        }
        for executable in self.state.objects.of_hold(number) {
            if let Some(object) = self.state.objects.get_mut(executable)
                && matches!(object.standing, Standing::Coming)
            {
                object.standing = Standing::Ready;
                self.serve_object(surroundings, executable);
            }
        }
    }

    /// What was asked for together does not come, and none of it stays.
    pub(super) fn fail_hold(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: HoldNumber,
        error: &Error,
    ) {
        let Some(hold) = self.state.objects.hold_mut(number) else { return };
        let asked = hold.asked.take();
        let name = hold.name.clone();
        // Nothing makes those ready that are left while they end one after the other.
        hold.missing = usize::MAX;
        if let Some((connection, channel)) = asked {
            self.refuse_hold(connection, channel, &name, error);
        }
        for executable in self.state.objects.of_hold(number) {
            self.end_object(surroundings, executable, error, None);
        }
    }

    /// The time for a start is over.
    pub(in crate::step) fn give_hold_up(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: HoldNumber,
    ) {
        let Some(hold) = self.state.objects.hold(number) else { return };
        let error = Error::new(
            ErrorKind::TimedOut,
            "hold an object",
            "not all executables were ready in time",
        )
        .with("ready", hold.objects - hold.missing.min(hold.objects))
        .with("objects", hold.objects)
        .fix("wait longer for their start");
        self.fail_hold(surroundings, number, &error);
    }
}
