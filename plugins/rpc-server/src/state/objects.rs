//! Objects: executables that are held for somebody, and the requests that are about several of
//! them.
//!
//! - An object stands in `all` under the number that its executable has, had or will have, from its
//!   Hold until nothing of it is left.
//! - It stands in `ids` until it is told to end.
//! - `due` has exactly the times that objects and holds name.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, ExecutableId, Instant, ObjectId};
use farcall_services::directory::ExecutableImage;
use farcall_wire::Failure;

use super::{ClientKey, Known, ModuleKey, Variant, WaitingLine};

/// A request to hold executables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldNumber(pub u64);

/// A request to end some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseNumber(pub u64);

/// What several objects share that were asked for together.
pub struct Hold {
    /// `module/Class`, or the routine in full.
    pub name: Arc<str>,
    /// Who waits until all are ready.
    pub asked: Option<(ConnectionId, ChannelId)>,
    /// Objects of it that are not ready yet.
    pub missing: usize,
    /// Objects of it.
    pub objects: usize,
    /// What can be called on them, by full name, in the version that they were made from; empty
    /// until that is known.
    pub routines: BTreeMap<String, Arc<Known>>,
    /// What to start.
    pub image: Option<(ModuleKey, ExecutableImage)>,
    /// The class, if they are objects of one.
    pub class: Option<String>,
    /// What each is to be.
    pub variant: Variant,
    /// How long they stay without their owner.
    pub lease: Duration,
    /// They do also when that says goodbye.
    pub detached: bool,
    /// Since when.
    pub since: Instant,
    /// When all must be ready.
    pub until: Option<Instant>,
}

/// How far an object has come.
pub enum Standing {
    /// Not all that were asked for together are ready.
    Coming,
    /// It takes calls.
    Ready,
    /// It was told to end.
    Ending {
        /// Why, for calls on it.
        reason: Failure,
        /// Who is told.
        releases: Vec<ReleaseNumber>,
        /// Whether it ends in order, and when it is ended otherwise.
        in_order: Option<Instant>,
    },
    /// It has ended by itself, for this reason.
    Ended(Failure),
}

/// A held executable.
pub struct Object {
    /// The name that its owner gave it.
    pub id: ObjectId,
    /// Whose it is.
    pub principal: Arc<str>,
    /// Asked for in this request.
    pub hold: HoldNumber,
    /// How far it has come.
    pub standing: Standing,
    /// Calls that wait, in the order of their Opens.
    pub line: WaitingLine,
    /// Calls on it so far.
    pub calls: u64,
    /// Whose connection keeps it.
    pub owner: Option<ConnectionId>,
    /// Who that is, if it may come back under its name.
    pub client: Option<ClientKey>,
    /// When its lease has expired, while it has no owner.
    pub ends_at: Option<Instant>,
}

/// A request to end objects.
pub struct Release {
    /// Who waits for it.
    pub asked: (ConnectionId, ChannelId),
    /// Objects that have not ended yet.
    pub left: usize,
    /// What was wrong with the first that did not end in order.
    pub problem: Option<Failure>,
    /// Whether it is an administrator's order.
    pub is_order: bool,
}

/// What becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A request's objects must be ready.
    Start(HoldNumber),
    /// An object's lease is over.
    Lease(ExecutableId),
    /// An object had its time to end in order.
    End(ExecutableId),
}

/// All objects.
#[derive(Default)]
pub struct Objects {
    /// By the number of their executable.
    all: BTreeMap<ExecutableId, Object>,
    /// Principals choose ids each for themselves.
    ids: HashMap<ObjectId, Vec<ExecutableId>>,
    /// Requests, as long as there are objects of theirs.
    holds: BTreeMap<HoldNumber, Hold>,
    /// Requests to end some.
    releases: BTreeMap<ReleaseNumber, Release>,
    /// Objects whose executables are to be started.
    queue: VecDeque<ExecutableId>,
    /// Executables that come.
    starting: BTreeSet<ExecutableId>,
    /// Executables that live.
    processes: BTreeSet<ExecutableId>,
    due: BTreeSet<(Instant, Due)>,
}

impl Objects {
    /// Enters one.
    pub fn insert(&mut self, executable: ExecutableId, object: Object) {
        self.ids.entry(object.id).or_default().push(executable);
        self.all.insert(executable, object);
    }

    /// An object, by the number of its executable.
    pub fn get(&self, executable: ExecutableId) -> Option<&Object> {
        self.all.get(&executable)
    }

    /// As [`Objects::get`], to change it.
    pub fn get_mut(&mut self, executable: ExecutableId) -> Option<&mut Object> {
        self.all.get_mut(&executable)
    }

    /// All objects.
    pub fn iter(&self) -> impl Iterator<Item = (ExecutableId, &Object)> {
        self.all.iter().map(|(executable, object)| (*executable, object))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A principal's object of this id.
    pub fn find(&self, principal: &str, id: ObjectId) -> Option<ExecutableId> {
        self.called(id).find(|executable| {
            self.all.get(executable).is_some_and(|one| &*one.principal == principal)
        })
    }

    /// Everybody's objects of this id.
    pub fn called(&self, id: ObjectId) -> impl Iterator<Item = ExecutableId> {
        self.ids.get(&id).into_iter().flatten().copied()
    }

    /// A principal's objects.
    pub fn of<'a>(
        &'a self,
        principal: &'a str,
    ) -> impl Iterator<Item = (ExecutableId, &'a Object)> {
        self.all
            .iter()
            .filter(move |(_, one)| &*one.principal == principal)
            .map(|(executable, one)| (*executable, one))
    }

    /// The objects of one request.
    pub fn of_hold(&self, hold: HoldNumber) -> Vec<ExecutableId> {
        self.all
            .iter()
            .filter(|(_, one)| one.hold == hold)
            .map(|(executable, _)| *executable)
            .collect()
    }

    /// The request in which an object was asked for.
    pub fn hold_of(&self, executable: ExecutableId) -> Option<&Hold> {
        self.holds.get(&self.all.get(&executable)?.hold)
    }

    /// The request that an object shares with others that were asked for at the same time.
    pub fn array_of(&self, executable: ExecutableId) -> Option<HoldNumber> {
        let number = self.all.get(&executable)?.hold;
        self.hold(number).filter(|hold| hold.objects > 1).map(|_| number)
    }

    /// A request for objects begins.
    pub fn begin_hold(&mut self, number: HoldNumber, hold: Hold) {
        self.holds.insert(number, hold);
    }

    /// A request, as long as there are objects of it.
    pub fn hold(&self, number: HoldNumber) -> Option<&Hold> {
        self.holds.get(&number)
    }

    /// As [`Objects::hold`], to change it.
    pub fn hold_mut(&mut self, number: HoldNumber) -> Option<&mut Hold> {
        self.holds.get_mut(&number)
    }

    /// All requests, to change them.
    pub fn holds_mut(&mut self) -> impl Iterator<Item = &mut Hold> {
        self.holds.values_mut()
    }

    /// A request to end objects begins.
    pub fn begin_release(&mut self, number: ReleaseNumber, release: Release) {
        self.releases.insert(number, release);
    }

    /// A request to end objects.
    pub fn release(&self, number: ReleaseNumber) -> Option<&Release> {
        self.releases.get(&number)
    }

    /// As [`Objects::release`], to change it.
    pub fn release_mut(&mut self, number: ReleaseNumber) -> Option<&mut Release> {
        self.releases.get_mut(&number)
    }

    /// It is answered.
    pub fn end_release(&mut self, number: ReleaseNumber) -> Option<Release> {
        self.releases.remove(&number)
    }

    /// Nobody finds it by its id any more, and no lease of it runs.
    pub fn hide(&mut self, executable: ExecutableId) {
        self.set_lease(executable, None);
        let Some(object) = self.all.get(&executable) else { return };
        if let Some(known) = self.ids.get_mut(&object.id) {
            known.retain(|one| *one != executable);
            if known.is_empty() {
                self.ids.remove(&object.id);
            }
        }
    }

    /// Takes one out; its request goes with the last.
    pub fn remove(&mut self, executable: ExecutableId) -> Option<Object> {
        self.hide(executable);
        let object = self.all.remove(&executable)?;
        if let Standing::Ending { in_order: Some(at), .. } = object.standing {
            self.due.remove(&(at, Due::End(executable)));
        }
        if let Some(hold) = self.holds.get_mut(&object.hold) {
            hold.objects -= 1;
            if hold.objects == 0 {
                self.set_start(object.hold, None);
                self.holds.remove(&object.hold);
            }
        }
        Some(object)
    }

    /// When an object's lease is over, if one runs.
    pub fn set_lease(&mut self, executable: ExecutableId, at: Option<Instant>) {
        let Some(object) = self.all.get_mut(&executable) else { return };
        if let Some(before) = std::mem::replace(&mut object.ends_at, at) {
            self.due.remove(&(before, Due::Lease(executable)));
        }
        self.due.extend(at.map(|at| (at, Due::Lease(executable))));
    }

    /// When a request's objects must be ready, if it says so and they are not.
    pub fn set_start(&mut self, number: HoldNumber, at: Option<Instant>) {
        let Some(hold) = self.holds.get_mut(&number) else { return };
        if let Some(before) = std::mem::replace(&mut hold.until, at) {
            self.due.remove(&(before, Due::Start(number)));
        }
        self.due.extend(at.map(|at| (at, Due::Start(number))));
    }

    /// An object that is told to end in order must have ended by then.
    pub fn set_end(&mut self, executable: ExecutableId, at: Instant) {
        if let Some(Standing::Ending { in_order, .. }) =
            self.all.get_mut(&executable).map(|one| &mut one.standing)
        {
            *in_order = Some(at);
            self.due.insert((at, Due::End(executable)));
        }
    }

    /// The next thing that becomes due.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What is due now, and is forgotten with that.
    pub fn take_due(&mut self, now: Instant) -> Option<Due> {
        let first = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.remove(&first);
        Some(first.1)
    }

    /// Executables of these are to be started, one after the other.
    pub fn start_all(&mut self, objects: Vec<ExecutableId>) {
        self.queue.extend(objects);
    }

    /// The next one to be started.
    pub fn next_to_start(&self) -> Option<ExecutableId> {
        self.queue.front().copied()
    }

    /// It is started now.
    pub fn take_next_to_start(&mut self) -> Option<ExecutableId> {
        self.queue.pop_front()
    }

    /// How many come.
    pub fn starting(&self) -> usize {
        self.starting.len()
    }

    /// One is there, or will never be.
    pub fn comes_no_more(&mut self, executable: ExecutableId) {
        self.starting.remove(&executable);
    }

    /// An executable of an object begins.
    pub fn process_began(&mut self, executable: ExecutableId) {
        self.processes.insert(executable);
        self.starting.insert(executable);
    }

    /// An executable is gone; it may have been that of an object.
    pub fn process_ended(&mut self, executable: ExecutableId) {
        self.processes.remove(&executable);
        self.starting.remove(&executable);
    }

    /// Executables that live, or end.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Whether there is an object that has neither an owner nor a lease nor an end before it.
    pub fn forgotten(&self) -> bool {
        let stays = |one: &Object| one.owner.is_none() && one.ends_at.is_none();
        self.all.values().any(|one| stays(one) && !matches!(one.standing, Standing::Ending { .. }))
    }
}
