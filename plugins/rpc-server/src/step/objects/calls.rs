//! Calls on objects: which may be, and one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_base::{
    CallId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, ObjectId, Result,
};
use farcall_wire::{ON, Open};

use super::{copy_of, unknown};
use crate::state::{Call, CallKey, ClientKey, HoldNumber, Known, Object, Phase, Rank, Standing};
use crate::step::calls::nest::Around;
use crate::step::{Server, Surroundings};

impl Server {
    /// The object that a call is on, if it is on one, and what it calls there.
    pub(in crate::step) fn object_called(
        &self,
        connection: ConnectionId,
        open: &Open,
        around: &Around,
    ) -> Result<Option<(ExecutableId, Arc<Known>)>> {
        let attribute = open.attributes.iter().flatten().find(|attribute| attribute.name == ON);
        let Some(attribute) = attribute else { return Ok(None) };
        let wrong = || {
            Error::new(
                ErrorKind::InvalidArgument,
                "call an object",
                "its id does not have 16 bytes",
            )
        };
        let id = ObjectId(attribute.value.as_slice().try_into().map_err(|_| wrong())?);
        let principal = self.rights(connection).map_or("", |rights| rights.principal());
        let found = self.state.objects.find(principal, id);
        let (executable, object) = found
            .and_then(|executable| Some((executable, self.state.objects.get(executable)?)))
            .ok_or_else(|| unknown(id))?;
        if let Standing::Ended(reason) = &object.standing {
            return Err(Error::from(reason.clone()).with("object", id));
        }
        self.check_no_circle(executable, open, around)?;
        Ok(Some((executable, self.on_object(executable, object, open)?)))
    }

    /// What an Open calls on an object: in the version that the object was made from.
    fn on_object(
        &self,
        executable: ExecutableId,
        object: &Object,
        open: &Open,
    ) -> Result<Arc<Known>> {
        let refused = |message: String| {
            Error::new(ErrorKind::InvalidArgument, "call an object", message)
                .with("object", object.id)
        };
        let hold = self.state.objects.hold_of(executable);
        let hold = hold.ok_or_else(|| Error::internal("call an object", "it was not requested"))?;
        let not_of_it =
            || refused(format!("its class {} has no method \"{}\"", hold.name, open.routine));
        if hold.image.is_none() {
            // The directory has not answered yet; whoever calls has the interface from there.
            let known = self.routine(open)?;
            let of = known.routine.interface.full_class().unwrap_or_else(|| known.name.clone());
            return if *of == *hold.name { Ok(known) } else { Err(not_of_it()) };
        }
        let known = hold.routines.get(&open.routine).ok_or_else(not_of_it)?;
        if known.is_called_with(&open.contract) {
            return Ok(known.clone());
        }
        Err(refused(format!("it was created before the interface of \"{}\" changed", open.routine))
            .fix("create a new one: this one keeps its old interface"))
    }

    /// A call that stands in one on the same object would wait for its own end, and so would one
    /// for which others wait that it waits for.
    fn check_no_circle(
        &self,
        executable: ExecutableId,
        open: &Open,
        around: &Around,
    ) -> Result<()> {
        let refused = |message| Error::new(ErrorKind::InvalidArgument, "call an object", message);
        let outer: Vec<ExecutableId> =
            self.outer_calls(around).filter_map(|call| call.on).collect();
        if outer.contains(&executable) || self.names_as_parent(executable, open) {
            return Err(refused("the call was made inside another call on the same object")
                .fix("wait until that call returns: calls on an object run one after the other"));
        }
        if !outer.is_empty() && self.waits_for_one_of(executable, &outer) {
            return Err(refused("this call and one on another object would wait for each other")
                .fix("if calls on objects are nested, use the same order everywhere, or try again later")
                .retryable());
        }
        Ok(())
    }

    /// The calls that a new one stands in, the innermost first.
    fn outer_calls(&self, around: &Around) -> impl Iterator<Item = &Call> {
        let call_of = |parent: Option<(CallKey, CallId)>| {
            parent.and_then(|(key, _)| self.state.calls.get(&key))
        };
        std::iter::successors(call_of(around.nesting.parent), move |call| {
            call_of(call.nesting.parent)
        })
    }

    /// Whether what runs on an object waits, directly or through others, for one of these objects.
    /// Only what runs has calls inside it that it may wait for, and so it is enough to ask this of
    /// each call that is opened inside another.
    fn waits_for_one_of(&self, executable: ExecutableId, objects: &[ExecutableId]) -> bool {
        let running = |on| self.state.executables.get(&on).and_then(|record| record.line.front());
        let mut seen = BTreeSet::new();
        let mut next: Vec<CallKey> = running(executable).into_iter().collect();
        while let Some(key) = next.pop() {
            let Some(call) = self.state.calls.get(&key).filter(|_| seen.insert(key)) else {
                continue;
            };
            for inner in &call.nesting.inner {
                let waiting =
                    self.state.calls.get(inner).filter(|call| call.run.executable.is_none());
                match waiting.and_then(|call| call.on) {
                    Some(on) if objects.contains(&on) => return true,
                    Some(on) => next.extend(running(on)),
                    None => next.push(*inner),
                }
            }
        }
        false
    }

    /// Whether a call says that it belongs to the one that runs on the object.
    fn names_as_parent(&self, executable: ExecutableId, open: &Open) -> bool {
        let running =
            self.state.executables.get(&executable).and_then(|record| record.line.front());
        let running = running.and_then(|key| self.state.calls.get(&key));
        let parent = open.parent.as_ref();
        parent.zip(running).is_some_and(|(parent, call)| parent.as_slice() == call.id.0)
    }

    /// A call on an object was accepted: its place is behind those that were opened before it,
    /// whichever is complete first.
    pub(in crate::step) fn stand_at_object(
        &mut self,
        key: CallKey,
        executable: ExecutableId,
        connection: ConnectionId,
    ) {
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        let turn = object.line.push_last(key, Rank::default());
        object.calls += 1;
        self.take_turn(key, turn);
        self.own_object(executable, connection);
    }

    /// A connection is an object's owner from now on, unless it is one inside a call: these do not
    /// last.
    pub(in crate::step) fn own_object(
        &mut self,
        executable: ExecutableId,
        connection: ConnectionId,
    ) {
        let peer = self.state.front.peer(connection);
        let is_inside = peer.is_none_or(|peer| peer.inside.is_some());
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        if !is_inside && !object.standing.is_ending() {
            object.owner = Some(connection);
            object.client = peer.and_then(|peer| peer.resuming.client.clone());
            self.state.objects.set_lease(executable, None);
        }
    }

    /// A client came back: what it owned is its again, called or not.
    pub(in crate::step) fn own_again(&mut self, client: &ClientKey, connection: ConnectionId) {
        let its =
            |object: &Object| object.owner.is_none() && object.client.as_ref() == Some(client);
        let owned = self.state.objects.iter().filter(|(_, object)| its(object));
        for executable in owned.map(|(executable, _)| executable).collect::<Vec<_>>() {
            self.own_object(executable, connection);
        }
    }

    /// A call leaves an object's line. It may have held up the others.
    pub(in crate::step) fn leave_object_line(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        call: &Call,
        executable: ExecutableId,
    ) {
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        if call.run.turn.is_some_and(|turn| object.line.remove(key, turn)) {
            self.serve_object(surroundings, executable);
        }
    }

    /// A call comes back to an object that has not begun it: it is the next.
    pub(in crate::step) fn return_to_object(&mut self, key: CallKey, executable: ExecutableId) {
        if let Some(object) = self.state.objects.get_mut(executable) {
            let turn = object.line.push_first(key, Rank::default());
            self.take_turn(key, turn);
        }
    }

    /// Calls that wait for an object before a call, which stands in its line.
    pub(in crate::step) fn before_at_object(
        &self,
        key: CallKey,
        executable: ExecutableId,
    ) -> Option<usize> {
        let object = self.state.objects.get(executable)?;
        let at = object.line.iter().position(|other| other == key)?;
        let runs =
            self.state.executables.get(&executable).is_some_and(|record| !record.line.is_empty());
        Some(at + usize::from(runs))
    }

    /// Gives an object that is free its next call, if that is complete.
    pub(in crate::step) fn serve_object(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
    ) {
        while let Some(key) = self.next_at_object(executable) {
            if !self.is_to_be_listened_to(key, executable) {
                self.choose_threads_on(key, executable);
                self.pass_on(surroundings, key, executable);
            }
        }
        self.end_if_free(surroundings, executable);
    }

    fn next_at_object(&mut self, executable: ExecutableId) -> Option<CallKey> {
        let is_free = |phase: &Phase| matches!(phase, Phase::Idle { .. });
        self.state.executables.get(&executable).filter(|record| is_free(&record.phase))?;
        let object = self.state.objects.get_mut(executable)?;
        let first = object.line.front().and_then(|key| self.state.calls.get(&key));
        let is_complete =
            first.is_some_and(|call| call.arguments.complete && call.arguments.fetching == 0);
        if !is_complete || !matches!(object.standing, Standing::Ready) {
            return None;
        }
        object.line.pop_front()
    }

    /// An executable is free again: the next call for it, or for others of its module.
    pub(in crate::step) fn serve_next(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
    ) {
        let Some(record) = self.state.executables.get(&executable) else { return };
        if record.held {
            return self.serve_object(surroundings, executable);
        }
        let module = record.module.clone();
        self.serve_all(surroundings, &module);
    }

    /// Calls that came before it was known which publication the objects are of, and that were made
    /// for another.
    pub(super) fn fail_outdated(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: HoldNumber,
    ) {
        let Some((module, _)) = self.state.objects.hold(number).and_then(|hold| hold.image.clone())
        else {
            return;
        };
        let error = Error::new(
            ErrorKind::InterfaceChanged,
            "call an object",
            "its module was published again",
        )
        .fix("fetch the interface and call again")
        .retryable();
        for executable in self.state.objects.of_hold(number) {
            let Some(object) = self.state.objects.get(executable) else { continue };
            let is_other = |key: &CallKey| {
                self.state.calls.get(key).is_some_and(|call| call.routine.module_key != module)
            };
            let outdated: Vec<CallKey> = object.line.iter().filter(is_other).collect();
            for key in outdated {
                self.finish(surroundings, key, Err(copy_of(&error)));
            }
        }
    }

    /// Whether a call on an object goes on though its client is lost: one that runs, on an object
    /// that stays.
    pub(in crate::step) fn goes_on_alone(&self, key: CallKey) -> bool {
        let Some(call) = self.state.calls.get(&key).filter(|call| call.run.executable.is_some())
        else {
            return false;
        };
        let object = call.on.and_then(|executable| self.state.objects.get(executable));
        object.is_some_and(|object| matches!(object.standing, Standing::Ready))
    }

    /// The connection of owners is gone, after a goodbye or without one.
    pub(in crate::step) fn owner_gone(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        in_order: bool,
    ) {
        for hold in self.state.objects.holds_mut() {
            hold.asked.take_if(|(asked, _)| *asked == connection);
        }
        let owned =
            self.state.objects.iter().filter(|(_, object)| object.owner == Some(connection));
        let owned: Vec<ExecutableId> = owned.map(|(executable, _)| executable).collect();
        let now = surroundings.now();
        for executable in owned {
            self.lose_owner(surroundings, executable, in_order, now);
        }
    }

    fn lose_owner(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        in_order: bool,
        now: Instant,
    ) {
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        object.owner = None;
        let is_ending = object.standing.is_ending();
        let Some((lease, detached)) =
            self.state.objects.hold_of(executable).map(|hold| (hold.lease, hold.detached))
        else {
            return;
        };
        if in_order && !detached {
            let error =
                Error::new(ErrorKind::Cancelled, "call an object", "its owner disconnected")
                    .fix("create it detached, so that it survives the connection");
            self.end_object(surroundings, executable, &error, None);
        } else if !is_ending {
            self.state.objects.set_lease(executable, Some(now + lease));
        }
    }
}
