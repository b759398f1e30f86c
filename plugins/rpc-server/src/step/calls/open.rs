//! Calls that clients open: what is checked before one is accepted, and where it is entered.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Resources, Result,
};
use farcall_wire::{Argument, Open, run_timeout_of};

use crate::state::{
    Arguments, Call, CallClock, CallKey, CallMemory, Known, PeerKind, Run, Variant, Wants,
};
use crate::step::calls::check;
use crate::step::calls::nest::Around;
use crate::step::calls::ranks;
use crate::step::calls::resources;
use crate::step::data::make::release as release_stays;
use crate::step::kept::keep::expected_bytes;
use crate::step::{Server, Surroundings};

impl Server {
    pub(in crate::step) fn open(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        open: Open,
    ) {
        self.acknowledged(surroundings, connection, channel);
        let mut open = Some(open);
        match self.admit(surroundings, connection, channel, &mut open) {
            Ok(announced) => {
                if let Some(peer) = self.state.front.peer_mut(connection) {
                    peer.connection.grant(channel, announced);
                }
            }
            Err(error) => {
                if let Some(open) = &open {
                    self.audit_refused(connection, Some(open.call), &open.routine, &error);
                }
                self.count_refused(connection, &error);
                self.refuse(connection, channel, &error);
            }
        }
    }

    /// Checks a call and makes room for it; returns the bytes of data that come with it. Takes
    /// `open` if it does.
    fn admit(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        taken: &mut Option<Open>,
    ) -> Result<u64> {
        let Some(open) = taken.as_ref() else { return Ok(0) };
        self.check_id(&open.call)?;
        let around =
            self.around(connection, open.parent.as_ref().map(|parent| parent.as_slice()))?;
        self.check_calls_max(connection)?;
        self.may_ask(connection, &open.routine)?;
        self.look_at_placement(connection, open)?;
        let (on, routine) = self.called(connection, open, &around)?;
        let interface = &routine.routine.interface;
        let limit = self.state.limits.call_bytes_max;
        let layout = check::layout(interface, &routine.sizer, open, limit)?;
        self.check_data(connection, open, interface, &layout)?;
        self.check_calls_back(connection, &routine)?;
        let ranks = ranks::of(&routine, open)?;
        let asked = self.asked_for(&routine, open, on)?;
        let run_timeout = run_timeout_of(open)?;
        let keep = self.keep_of(connection, open, around.nesting.levels)?;
        let Some(peer) = self.state.front.peer(connection) else { return Ok(0) };
        let PeerKind::Client { segments, .. } = &peer.kind else { return Ok(0) };
        let caller = peer.caller.clone();
        let counted = peer.counted;
        let plan = check::plan(interface, open, &layout, segments, limit)?;
        if let Some(keep) = keep {
            let bytes = expected_bytes(&routine, &layout, open, plan.bytes(), keep);
            self.take_kept_room(surroundings, &caller, keep, bytes)?;
        }
        let lease = self.check_stays(connection, open, &caller, &plan)?;
        let memory = self.memory_for(surroundings, connection, &caller, open, &plan)?;
        let now = surroundings.now();
        let deadline = deadline_of(open, now, around.until);
        let Some(open) = taken.take() else { return Ok(0) };
        let wants = Wants::of(&open);
        let variant = Variant { ranks, resources: resources::of_pool(&routine, asked) };
        let share = self.share_of(counted, &routine, &variant, &open);
        let variant = if on.is_some() { Variant::default() } else { variant };
        let call = Call {
            id: open.call,
            client: Some((connection, channel)),
            caller,
            counted: self.state.counters.begun(counted, routine.counted),
            routine,
            open,
            layout,
            memory,
            arguments: Arguments::default(),
            run: Run { share, ..Run::default() },
            wants,
            times: CallClock::new(now, deadline, run_timeout, asked.wall_time),
            nesting: around.nesting,
            variant,
            keep,
            on,
        };
        let key = self.enter(connection, channel, call, &plan);
        self.enter_stays(key, lease, &plan);
        Ok(plan.announced)
    }

    /// What is called, and the object that it is called on.
    fn called(
        &mut self,
        connection: ConnectionId,
        open: &Open,
        around: &Around,
    ) -> Result<(Option<ExecutableId>, Arc<Known>)> {
        if let Some((executable, routine)) = self.object_called(connection, open, around)? {
            self.may_call(connection, &routine)?;
            return Ok((Some(executable), routine));
        }
        if let Some(routine) = self.data_routine(open) {
            return Ok((None, routine));
        }
        let routine = self.routine_of_nobody(open)?;
        self.may_call(connection, &routine)?;
        Ok((None, routine))
    }

    /// Memory for what comes with a call, and for its results that stay.
    fn memory_for(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        caller: &crate::state::Caller,
        open: &Open,
        plan: &check::Plan,
    ) -> Result<CallMemory> {
        let stays = self.allocate_stays(surroundings, caller, plan)?;
        let segments = named_segments(open);
        match plan.allocate(surroundings, connection) {
            Ok(own) => Ok(CallMemory { own, segments, stays, ..CallMemory::default() }),
            Err(error) => {
                release_stays(surroundings, &stays);
                Err(error)
            }
        }
    }

    /// What a call asks for, or the object that it is on was made with.
    fn asked_for(
        &self,
        routine: &Known,
        open: &Open,
        on: Option<ExecutableId>,
    ) -> Result<Resources> {
        match on.and_then(|object| self.state.objects.hold_of(object)) {
            Some(hold) => resources::of_object(open, hold.variant.resources),
            None => resources::of(routine, open),
        }
    }

    /// A call stands in the tables from now on.
    fn enter(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        call: Call,
        plan: &check::Plan,
    ) -> CallKey {
        let now = call.times.accepted;
        let on = call.on;
        let parent = call.nesting.parent;
        let number = self.state.number();
        let key = self.state.calls.enter(number, call);
        self.begin_inside(parent, key);
        if let Some(executable) = on {
            self.stand_at_object(key, executable, connection);
        }
        self.enter_kept(key);
        if plan.announced > 0 {
            self.state.calls.begin_arriving(key);
            self.watch_for_stalls(now);
        }
        if let Some(PeerKind::Client { calls, .. }) = self.kind_mut(connection) {
            calls.insert(channel, key);
        }
        if plan.fetches {
            self.fetch_arguments(key);
        }
        self.wait_for_data(key);
        key
    }

    /// Refuses an id that a call has, open or kept, whoever made it (spec/wire.md, section 7):
    /// whoever knows an id could have its outcome, or have it vanish.
    fn check_id(&self, id: &CallId) -> Result<()> {
        if !self.state.calls.has_id(id) && !self.state.kept.has(id) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "accept a call",
            "a call with this id is already open or kept",
        )
        .fix("give each call its own id: sixteen random bytes"))
    }

    fn check_calls_max(&self, connection: ConnectionId) -> Result<()> {
        self.check_under_way(connection, "accept a call")?;
        // Calls whose results wait for a slow reader hold memory too.
        if self.state.calls.count() >= self.state.limits.calls_max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "accept a call",
                "the server has too many calls",
            )
            .with("calls_max", self.state.limits.calls_max)
            .fix("try again later, or raise calls_max in farcall.toml")
            .retryable());
        }
        Ok(())
    }

    /// The routine of a call on no object.
    fn routine_of_nobody(&self, open: &Open) -> Result<Arc<Known>> {
        let routine = self.routine(open)?;
        match routine.routine.interface.full_class() {
            None => Ok(routine),
            Some(class) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "accept a call",
                "a method needs an object",
            )
            .with("method", &routine.name)
            .fix(format!("hold an object of {class}, and call the method on that"))),
        }
    }

    pub(in crate::step) fn routine(&self, open: &Open) -> Result<Arc<Known>> {
        match self.state.routines.get(&open.routine) {
            Some(routine) if routine.is_called_with(&open.contract) => Ok(routine.clone()),
            known => Err(Error::new(
                ErrorKind::InterfaceChanged,
                "accept a call",
                match known {
                    Some(_) => format!(
                        "the interface of \"{}\" changed after it was fetched",
                        open.routine
                    ),
                    None => format!("the interface of \"{}\" must be fetched first", open.routine),
                },
            )
            .fix("fetch the interface and call again")
            .retryable()),
        }
    }
}

/// The segments that a call's arguments and wanted results lie in.
fn named_segments(open: &Open) -> Vec<u32> {
    let named = |argument: &Argument| {
        if let Argument::Shared(segment, ..) = argument { Some(*segment) } else { None }
    };
    open.arguments.iter().chain(open.wanted.iter().flatten()).filter_map(named).collect()
}

/// When a call's time has passed: its own, or that of the call around it.
fn deadline_of(open: &Open, now: Instant, around: Option<Instant>) -> Option<Instant> {
    let own = open.remaining_us.map(|us| now + Duration::from_micros(us));
    own.into_iter().chain(around).min()
}
