//! Calls of clients' functions by routines that run: checked like any call, relayed through memory
//! of the client's share, and ended with the call that they belong to (spec/call.md, section 6.1).

use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Result};
use farcall_idl::interface::Parameter;
use farcall_idl::layout::ParameterLayout;
use farcall_wire::{
    Argument, CALLBACKS, CallResult, CallTimes, InlineBytes, Open, callback_attribute,
    callback_slot,
};

use crate::state::{Call, CallKey, Callback, Known};
use crate::step::calls::check;
use crate::step::{Server, Surroundings};

/// Callbacks that a call may have open at a time: as many threads of it may wait.
const CALLBACKS_MAX: usize = 64;

/// Where a callback came from, or was passed on to.
type Line = (ConnectionId, ChannelId);

impl Server {
    /// Refuses a call whose routine calls functions of a client that takes no such calls.
    pub(super) fn check_calls_back(&self, connection: ConnectionId, routine: &Known) -> Result<()> {
        if routine.callbacks.is_empty() || self.has_feature(connection, CALLBACKS) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            "accept a call",
            "the client does not support callbacks",
        )
        .with("routine", &routine.name)
        .fix("call it with a newer version of Farcall"))
    }

    /// A routine calls a function of its client.
    pub(in crate::step) fn call_back(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
        open: Open,
    ) {
        let Some(connection) =
            self.state.executables.get(&executable).and_then(|record| record.connection)
        else {
            return;
        };
        match self.admit_callback(surroundings, executable, (connection, channel), open) {
            Ok(announced) => {
                if let Some(peer) = self.state.front.peer_mut(connection) {
                    peer.connection.grant(channel, announced);
                }
            }
            Err(error) => self.refuse(connection, channel, &error),
        }
    }

    /// The call that an executable works on, if it may call back.
    fn calling_back(&self, executable: ExecutableId, open: &Open) -> Result<(CallKey, &Call)> {
        let over = || refused(ErrorKind::Cancelled, "its call has ended");
        let parent = open
            .parent
            .as_ref()
            .and_then(|parent| <[u8; 16]>::try_from(parent.as_slice()).ok())
            .map(CallId);
        let line = self.state.executables.get(&executable).map(|record| &record.line);
        let mut keys = line.into_iter().flat_map(|line| line.keys());
        let key =
            keys.find(|key| self.state.calls.get(key).is_some_and(|call| Some(call.id) == parent));
        let key = key.ok_or_else(over)?;
        let call = self
            .state
            .calls
            .get(&key)
            .filter(|call| call.run.unwanted.is_none())
            .ok_or_else(over)?;
        Ok((key, call))
    }

    /// Checks a callback and makes room for it; returns the bytes of data that come with it.
    fn admit_callback(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        line: Line,
        open: Open,
    ) -> Result<u64> {
        let limit = self.state.limits.call_bytes_max;
        let (outer, call) = self.calling_back(executable, &open)?;
        let slot = callback_slot(open.attributes.as_deref());
        let slot = slot.ok_or_else(|| {
            refused(ErrorKind::Unavailable, "executables may open only callbacks")
        })?;
        let kind = call.routine.callbacks.iter().find(|(index, _)| *index == usize::from(slot));
        let kind = kind.map(|(_, kind)| kind.clone());
        let kind = kind.ok_or_else(|| {
            refused(ErrorKind::InvalidArgument, "the parameter is not a function")
        })?;
        if call.open.arguments.get(usize::from(slot)) == Some(&Argument::Null) {
            return Err(refused(
                ErrorKind::InvalidArgument,
                "the caller passed NULL for this function",
            )
            .with("callback", kind.interface.full_name()));
        }
        if (&open.routine, open.contract) != (&call.routine.name, call.routine.contract) {
            return Err(refused(
                ErrorKind::InvalidArgument,
                "the callback names a different routine than the call it belongs to",
            )
            .with("routine", &open.routine));
        }
        if open.arguments.iter().any(|argument| matches!(argument, Argument::Url(_))) {
            return Err(refused(
                ErrorKind::InvalidArgument,
                "only clients may request that an array is fetched",
            ));
        }
        let (client, _) = call
            .client
            .ok_or_else(|| refused(ErrorKind::ConnectionLost, "its client has disconnected"))?;
        if self.state.callbacks.count(outer) >= CALLBACKS_MAX {
            return Err(refused(
                ErrorKind::LimitExceeded,
                "the routine has too many open callbacks",
            )
            .with("callbacks", CALLBACKS_MAX)
            .fix("use fewer threads for callbacks"));
        }
        let layout = check::layout(&kind.interface, &kind.sizer, &open, limit)?;
        let plan = check::plan(&kind.interface, &open, &layout, &Default::default(), limit)?;
        let memory = plan.allocate(surroundings, client)?;
        self.state.callbacks.insert(Callback {
            outer,
            slot,
            kind,
            open,
            layout,
            memory,
            executable: line,
            client: None,
            results: None,
            answered: false,
        });
        Ok(plan.announced)
    }

    /// The arguments of a callback are complete: its client has them.
    pub(in crate::step) fn pass_callback_on(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
    ) {
        let Some(line) = self.line_of(executable, channel) else { return };
        let Some(callback) = self.state.callbacks.get(line) else { return };
        let Some(call) = self.state.calls.get(&callback.outer) else { return };
        let left = call
            .times
            .deadline
            .map(|deadline| deadline.since(surroundings.now()).max(Duration::ZERO));
        let open = Open {
            call: callback.open.call,
            routine: call.routine.name.clone(),
            contract: call.routine.contract,
            arguments: callback.open.arguments.clone(),
            wanted: None,
            remaining_us: left.map(|left| u64::try_from(left.as_micros()).unwrap_or(u64::MAX)),
            result_credit: None,
            parent: Some(call.id.0.to_vec().into()),
            principal: None,
            trace: None,
            attributes: Some(vec![callback_attribute(callback.slot)]),
        };
        let client = call.client.map(|(connection, _)| connection);
        let peer = client
            .and_then(|connection| Some((connection, self.state.front.peer_mut(connection)?)));
        let gone = || refused(ErrorKind::ConnectionLost, "its client has disconnected");
        let opened = peer
            .ok_or_else(gone)
            .and_then(|(connection, peer)| Ok((connection, peer.connection.open(&open)?)));
        match opened {
            Ok(to) => {
                self.state.out.touch(to.0);
                self.state.callbacks.passed(line, to);
                // The routine waits, and what waits for its place may be what the client waits for.
                self.state.queue.look_again();
                self.start_executables(surroundings.now());
            }
            Err(error) => self.end_callback(surroundings, line, &error),
        }
    }

    fn line_of(&self, executable: ExecutableId, channel: ChannelId) -> Option<Line> {
        Some((self.state.executables.get(&executable)?.connection?, channel))
    }

    /// The routine does not wait for a callback any more.
    pub(in crate::step) fn callback_given_up(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
    ) {
        if let Some(line) = self.line_of(executable, channel) {
            self.end_callback(
                surroundings,
                line,
                &refused(ErrorKind::Cancelled, "the routine does not wait for it"),
            );
        }
    }

    /// The head of a client's answer came; its arrays may follow, in the extents that it gives.
    ///
    /// # Errors
    /// The client sends what was not asked for.
    pub(in crate::step) fn callback_resulted(
        &mut self,
        line: Line,
        mut result: Box<CallResult>,
    ) -> Result<()> {
        let Some(callback) = self.state.callbacks.get_mut(line) else { return Ok(()) };
        if result.failure.is_none() {
            let bytes = result.results.iter().map(|argument| match argument {
                Argument::Inline(bytes) => Some(bytes.as_slice()),
                _ => None,
            });
            let kind = callback.kind.clone();
            if result.results.len() != kind.interface.parameters.len() {
                return Err(unasked("another number of results"));
            }
            match kind.sizer.resolve_results(&kind.interface, bytes, &callback.layout) {
                Ok(Some(layout)) => callback.layout = layout,
                Ok(None) => {}
                Err(error) => result.failure = Some((&error).into()),
            }
        }
        if result.failure.is_none() {
            check_results(callback, &result.results)?;
        } else {
            result.results = Vec::new();
        }
        callback.results = Some(result);
        Ok(())
    }

    /// All of a client's answer is there: the executable gets it.
    pub(in crate::step) fn callback_finished(
        &mut self,
        surroundings: &mut dyn Surroundings,
        line: Line,
    ) {
        let Some(callback) = self.state.callbacks.get_mut(line) else { return };
        let Some(mut result) = callback.results.take() else { return };
        let (connection, channel) = callback.executable;
        result.results.iter_mut().filter(|one| **one == Argument::Blocks(Some(0))).for_each(
            |one| {
                *one = Argument::Inline(InlineBytes::new());
            },
        );
        result.times = CallTimes::default();
        callback.answered = true;
        let sends_memory =
            result.results.iter().any(|argument| matches!(argument, Argument::Blocks(_)));
        self.state.callbacks.leave_client(line);
        self.respond(connection, channel, &result);
        if !sends_memory {
            self.forget_callback(surroundings, (connection, channel));
        }
    }

    /// The driver sent frames of a connection: callbacks whose last result frame left are
    /// forgotten.
    pub(in crate::step) fn settle_callbacks(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
    ) {
        if self.state.callbacks.is_empty() {
            return;
        }
        for line in self.state.callbacks.answered_on(connection) {
            let open = self
                .state
                .front
                .peer_mut(connection)
                .is_some_and(|peer| peer.connection.is_open(line.1));
            if !open {
                self.forget_callback(surroundings, line);
            }
        }
    }

    fn forget_callback(&mut self, surroundings: &mut dyn Surroundings, line: Line) {
        if let Some(callback) = self.state.callbacks.remove(line) {
            callback.memory.iter().for_each(|memory| surroundings.release(memory.id));
        }
    }

    /// A call is over, or is to end: so are its callbacks.
    pub(super) fn end_callbacks(&mut self, surroundings: &mut dyn Surroundings, outer: CallKey) {
        if self.state.callbacks.is_empty() {
            return;
        }
        let over = refused(ErrorKind::Cancelled, "its call has ended");
        for line in self.state.callbacks.of(outer) {
            self.end_callback(surroundings, line, &over);
        }
    }

    /// A client's connection is gone, though its calls may be kept: what its functions would have
    /// answered never comes.
    pub(in crate::step) fn callbacks_lost(
        &mut self,
        surroundings: &mut dyn Surroundings,
        client: ConnectionId,
    ) {
        let lost = refused(ErrorKind::ConnectionLost, "the connection to its client was lost");
        for line in self.state.callbacks.with(client) {
            self.end_callback(surroundings, line, &lost);
        }
    }

    /// Ends a callback at both ends, wherever it stands.
    fn end_callback(&mut self, surroundings: &mut dyn Surroundings, line: Line, error: &Error) {
        if self.state.callbacks.get(line).is_some_and(|callback| callback.answered) {
            // Its last bytes leave from that memory still, unless there is nobody to take them.
            return self.settle_callbacks(surroundings, line.0);
        }
        let Some(callback) = self.state.callbacks.remove(line) else { return };
        if let Some((connection, channel)) = callback.client
            && let Some(peer) = self.state.front.peer_mut(connection)
        {
            peer.connection.cancel(channel);
            self.state.out.touch(connection);
        }
        self.refuse(line.0, line.1, error);
        callback.memory.iter().for_each(|memory| surroundings.release(memory.id));
    }
}

/// Refuses results that are not what the callback's interface says, before a byte of them comes.
fn check_results(callback: &Callback, results: &[Argument]) -> Result<()> {
    let parameters = &callback.kind.interface.parameters;
    for (slot, (parameter, result)) in parameters.iter().zip(results).enumerate() {
        if !fits(callback, slot, parameter, result) {
            return Err(
                unasked("a result has the wrong kind or length").with("parameter", &parameter.name)
            );
        }
    }
    Ok(())
}

fn fits(callback: &Callback, slot: usize, parameter: &Parameter, result: &Argument) -> bool {
    if !parameter.mode.is_output() {
        return *result == Argument::Absent;
    }
    let has_memory =
        callback.memory.as_ref().is_some_and(|memory| memory.offsets.contains_key(&(slot as u16)));
    match (callback.layout.parameters.get(slot), result) {
        (_, Argument::Null | Argument::Absent) => true,
        (Some(ParameterLayout::Array(array)), Argument::Inline(bytes)) => {
            bytes.len() as u64 == array.transfer_bytes
        }
        (Some(ParameterLayout::Array(array)), Argument::Blocks(Some(bytes))) => {
            has_memory && *bytes == array.transfer_bytes
        }
        (Some(ParameterLayout::Text), Argument::Inline(_)) => true,
        (Some(ParameterLayout::TextArray { count }), Argument::Texts(texts)) => {
            texts.len() as u64 == *count
        }
        _ => false,
    }
}

fn refused(kind: ErrorKind, message: &'static str) -> Error {
    Error::new(kind, "call back", message)
}

fn unasked(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "take a callback's answer", message)
}
