//! A job: how far it is, what became of its slots, and who was lost with its pilots. Pure.

use std::time::Duration;

use farcall_base::{ExecutableId, Instant};

use super::{ABSENT, Kind, Pilot, TOGETHER};

/// What the slots of a job are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// Calls that need nothing of each other: several small jobs begin sooner than a large one.
    Calls,
    /// An array of handles: one job, unless none can be so large.
    Array,
}

/// A job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) kind: Kind,
    pub(crate) purpose: Purpose,
    /// How its pilots call it.
    pub(crate) name: String,
    /// What its launcher calls it.
    pub(crate) id: Option<String>,
    pub(crate) standing: Standing,
    pub(crate) text: String,
    /// The end of what its program wrote before it was there.
    pub(crate) said: String,
    pub(crate) slots: Slots,
    pub(crate) lost: Lost,
    pub(crate) absence: Absence,
    /// Its launcher was told to end it, or will be when it has a name for it.
    pub(crate) unwanted: bool,
    pub(crate) since: Instant,
}

impl Job {
    /// One that its launcher is asked for, which has until then to name it.
    pub(crate) fn new(
        kind: Kind,
        (slots, purpose): (u32, Purpose),
        name: String,
        now: Instant,
        until: Instant,
    ) -> Job {
        Job {
            kind,
            purpose,
            name,
            id: None,
            standing: Standing::Submitting { until },
            text: String::new(),
            said: String::new(),
            slots: Slots::new(slots),
            lost: Lost::default(),
            absence: Absence::default(),
            unwanted: false,
            since: now,
        }
    }

    /// Whether pilots of it may come.
    pub(crate) fn is_open(&self) -> bool {
        self.standing != Standing::Over && !self.unwanted
    }

    /// Whether it has not begun.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.unwanted && matches!(self.standing, Standing::Submitting { .. } | Standing::Pending)
    }

    /// Whether its launcher has not named it in time.
    pub(crate) fn is_submission_late(&self, now: Instant) -> bool {
        match self.standing {
            Standing::Submitting { until } => until <= now,
            _ => false,
        }
    }

    /// Whether its program should be there, and is not.
    fn is_absent(&self) -> bool {
        self.standing == Standing::Active && !self.slots.served
    }

    /// For how long its program has been silent, once that is odd.
    pub(crate) fn silent_for(&self, now: Instant) -> Option<Duration> {
        let since = self.absence.since.filter(|_| self.is_absent());
        since.map(|since| now.since(since)).filter(|absent| *absent >= ABSENT)
    }

    /// Its launcher says that it waits in the queue.
    pub(crate) fn waits(&mut self) {
        self.standing = Standing::Pending;
        self.absence = Absence::default();
        self.slots.start_over();
    }

    /// Its launcher has not submitted it yet, for this reason, and tries again.
    pub(crate) fn is_delayed(&mut self, why: &str, until: Instant) {
        if matches!(self.standing, Standing::Submitting { .. }) {
            self.standing = Standing::Submitting { until };
            why.clone_into(&mut self.text);
        }
    }

    /// Its launcher says that it runs.
    pub(crate) fn runs(&mut self, now: Instant) {
        self.standing = Standing::Active;
        if !self.slots.served {
            self.absence.begin(now);
        }
    }

    /// It has ended.
    pub(crate) fn ends(&mut self) {
        self.standing = Standing::Over;
        self.absence.told_next = None;
    }

    /// A pilot with so many slots is there.
    pub(crate) fn pilot_came(&mut self, slots: u32, now: Instant) {
        self.slots.pilot_came(slots, now);
        self.absence.told_next = None;
        self.standing = Standing::Active;
    }

    /// A pilot is gone.
    pub(crate) fn pilot_left(&mut self, pilot: &Pilot) {
        self.slots.pilot_left(pilot, self.standing);
    }

    /// Whether people are told now that its program has not come.
    pub(crate) fn is_absence_due(&mut self, now: Instant) -> bool {
        let Some(at) = self.absence.told_next.filter(|at| *at <= now) else { return false };
        self.absence.told_next = self.is_absent().then(|| at.max(now) + ABSENT);
        true
    }

    /// Whether it runs for a node whose pilots never came, or died: it does not end by itself until
    /// its batch system finds that node dead.
    pub(crate) fn waits_for_node(&self) -> bool {
        self.standing == Standing::Active && (self.slots.missing > 0 || self.slots.broken)
    }

    /// When something is due that nobody else looks after.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let submitting = match self.standing {
            Standing::Submitting { until } => Some(until),
            _ => None,
        };
        let deadlines = [
            submitting,
            self.lost.until,
            self.lost.asked_next(),
            self.absence.told_next,
            self.slots.missing_until,
        ];
        deadlines.into_iter().flatten().min()
    }
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its launcher was asked, and has until then to say what it is called.
    Submitting {
        until: Instant,
    },
    Pending,
    Active,
    /// Its launcher says that it has ended; pilots of it may still say goodbye.
    Over,
}

impl Standing {
    pub(super) fn word(self) -> &'static str {
        match self {
            Standing::Submitting { .. } => "submitting",
            Standing::Pending => "pending",
            Standing::Active => "active",
            Standing::Over => "ending",
        }
    }
}

/// What a job was asked for, and what came of it.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Slots that it was asked for.
    asked: u32,
    /// The same, but for those that were lost.
    wanted: u32,
    /// Slots whose pilots have come.
    came: u32,
    /// Slots whose pilots have not come since it began, and until when they may.
    missing: u32,
    missing_until: Option<Instant>,
    /// Slots that may come again, until it is known what became of the job.
    doubtful: u32,
    /// Whether any came.
    served: bool,
    /// Whether a pilot is gone that was not told to end.
    broken: bool,
}

impl Slots {
    fn new(asked: u32) -> Slots {
        Slots {
            asked,
            wanted: asked,
            came: 0,
            missing: asked,
            missing_until: None,
            doubtful: 0,
            served: false,
            broken: false,
        }
    }

    pub(crate) fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Slots that may still come.
    pub(crate) fn coming(&self) -> u32 {
        self.wanted.saturating_sub(self.came)
    }

    pub(crate) fn were_served(&self) -> bool {
        self.served
    }

    pub(crate) fn has_doubtful(&self) -> bool {
        self.doubtful > 0
    }

    fn pilot_came(&mut self, slots: u32, now: Instant) {
        self.came = self.came.saturating_add(slots);
        // One that started over after a fault brings what was lost, or more.
        self.wanted = self.wanted.max(self.came);
        self.served = true;
        self.doubtful = self.doubtful.saturating_sub(slots);
        self.missing = self.missing.saturating_sub(slots);
        self.missing_until =
            if self.missing > 0 { self.missing_until.or(Some(now + TOGETHER)) } else { None };
    }

    /// A pilot's slots are lost, unless its batch system begins it again.
    fn pilot_left(&mut self, pilot: &Pilot, standing: Standing) {
        self.came = self.came.saturating_sub(pilot.slots);
        self.broken |= !pilot.leaving;
        if pilot.leaving && standing != Standing::Pending {
            self.wanted = self.wanted.saturating_sub(pilot.slots);
        } else {
            self.doubtful = self.doubtful.saturating_add(pilot.slots);
        }
    }

    /// A job that waits again brings all that it was asked for.
    fn start_over(&mut self) {
        if self.came == 0 {
            self.wanted = self.asked;
            self.missing = self.asked;
            self.missing_until = None;
        }
    }

    /// Whether those that have not come with the others are counted on no more, from now on.
    pub(crate) fn give_up_missing(&mut self, now: Instant) -> bool {
        let is_late = self.missing_until.is_some_and(|until| until <= now);
        if is_late {
            self.wanted = self.wanted.saturating_sub(self.missing).max(self.came);
            self.missing_until = None;
        }
        is_late
    }

    /// It is known what became of the job: slots that were in doubt come again if it waits, and are
    /// lost otherwise. Whether there were any.
    pub(crate) fn settle_doubtful(&mut self, standing: Standing) -> bool {
        let doubtful = std::mem::take(&mut self.doubtful);
        if standing != Standing::Pending {
            self.wanted = self.wanted.saturating_sub(doubtful);
        }
        doubtful > 0
    }
}

/// Executables whose pilot is gone, and in which words, until it is known what became of the job.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    executables: Vec<(ExecutableId, String)>,
    /// Until when the launcher's answer is waited for.
    until: Option<Instant>,
    second: SecondQuestion,
}

/// Whether the launcher is asked once more, since its first answer was that the job goes on.
#[derive(Clone, Copy, Debug, Default)]
enum SecondQuestion {
    #[default]
    NotNeeded,
    Due(Instant),
    Asked,
}

impl Lost {
    pub(crate) fn add(&mut self, executables: Vec<ExecutableId>, how: &str) {
        self.executables
            .extend(executables.into_iter().map(|executable| (executable, how.to_owned())));
    }

    pub(crate) fn wait_until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// The launcher says that the job goes on. If that is its first answer, it is to be asked once
    /// more at that time, unless that is too late; whether a second question is still to come.
    pub(crate) fn goes_on(&mut self, at: Instant) -> bool {
        let is_in_time = self.until.is_some_and(|until| at < until);
        if is_in_time && matches!(self.second, SecondQuestion::NotNeeded) {
            self.second = SecondQuestion::Due(at);
        }
        self.asked_next().is_some()
    }

    /// When the launcher is asked once more.
    fn asked_next(&self) -> Option<Instant> {
        match self.second {
            SecondQuestion::Due(at) => Some(at),
            SecondQuestion::NotNeeded | SecondQuestion::Asked => None,
        }
    }

    /// Whether it is asked once more now.
    pub(crate) fn is_second_due(&mut self, now: Instant) -> bool {
        let is_due = self.asked_next().is_some_and(|at| at <= now);
        if is_due {
            self.second = SecondQuestion::Asked;
        }
        is_due
    }

    /// Whether the launcher was asked, and has not answered.
    pub(crate) fn is_asked(&self) -> bool {
        self.until.is_some()
    }

    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Takes all of them to be reported.
    pub(crate) fn take(&mut self) -> Vec<(ExecutableId, String)> {
        std::mem::take(self).executables
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.executables.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.executables.len()
    }
}

/// A job that runs, as far as its launcher knows, without its program.
#[derive(Debug, Default)]
pub(crate) struct Absence {
    /// Since when it runs, ...
    since: Option<Instant>,
    /// ... and when people are told next that its program has not come.
    told_next: Option<Instant>,
}

impl Absence {
    fn begin(&mut self, now: Instant) {
        if self.since.is_none() {
            self.since = Some(now);
            self.told_next = Some(now + ABSENT);
        }
    }
}
