//! Objects: executables that are held for one principal each, and calls on them (spec/call.md,
//! section 11).

mod calls;
mod end;
mod start;

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{
    ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, ObjectId, Result,
};
use farcall_wire::{Failure, HoldRequest, Reply};

use crate::state::{
    Action, Due, Hold, HoldNumber, Object, Release, ReleaseNumber, Standing, Variant,
};
use crate::step::{Server, Surroundings};

impl Server {
    /// A client wants executables held for it.
    pub(in crate::step) fn hold_executables(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        channel: ChannelId,
        asked: &HoldRequest,
    ) {
        if let Err(error) = self.begin_hold(now, connection, channel, asked) {
            self.refuse_hold(connection, channel, &asked.name, &error);
        }
    }

    pub(in crate::step) fn refuse_hold(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        name: &str,
        error: &Error,
    ) {
        self.audit_refused(connection, None, name, error);
        self.reply(connection, channel, &Reply::Failed(error.into()));
    }

    fn begin_hold(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        channel: ChannelId,
        asked: &HoldRequest,
    ) -> Result<()> {
        self.around(connection, None)?;
        self.may_ask(connection, &asked.name)?;
        let principal: Arc<str> =
            self.rights(connection).map_or("", |rights| rights.principal()).into();
        if let Some(hold) = self.is_held_for(connection, asked) {
            self.tell_again(hold, connection, channel);
            return Ok(());
        }
        self.check_hold(&principal, asked)?;
        let resources = asked.resources.unwrap_or_default().read()?;
        let variant = Variant { ranks: asked.ranks.unwrap_or_default(), resources };
        let number = HoldNumber(self.state.number());
        let hold = Hold {
            name: asked.name.as_str().into(),
            asked: Some((connection, channel)),
            missing: asked.count as usize,
            objects: asked.count as usize,
            routines: Default::default(),
            image: None,
            class: None,
            variant,
            lease: Duration::from_micros(asked.lease_us),
            detached: asked.detached.unwrap_or_default(),
            since: now,
            until: None,
        };
        self.state.objects.begin_hold(number, hold);
        let client = self.client_of(connection);
        for id in (0..asked.count).map_while(|index| asked.first.after(index)) {
            let executable = ExecutableId(self.state.number());
            let object = Object {
                id,
                principal: principal.clone(),
                hold: number,
                standing: Standing::Coming,
                line: Default::default(),
                calls: 0,
                owner: Some(connection),
                client: client.clone(),
                ends_at: None,
            };
            self.state.objects.insert(executable, object);
        }
        let until = asked.start_us.map(|us| now + Duration::from_micros(us));
        self.state.objects.set_start(number, until);
        self.state.out.act(Action::Hold {
            hold: number,
            name: asked.name.clone(),
            visible: self.visible(connection),
        });
        Ok(())
    }

    /// Whether a client that lost its connection asks for what it has already.
    fn is_held_for(&self, connection: ConnectionId, asked: &HoldRequest) -> Option<HoldNumber> {
        let client = self.client_of(connection)?;
        let mut held =
            self.state.objects.called(asked.first).filter_map(|one| self.state.objects.get(one));
        let object = held.find(|object| {
            object.client.as_ref() == Some(&client) && !object.standing.is_ending()
        })?;
        let hold = self.state.objects.hold(object.hold)?;
        (*hold.name == *asked.name && hold.objects == asked.count as usize).then_some(object.hold)
    }

    /// The answer about objects goes to where their owner is now.
    fn tell_again(&mut self, number: HoldNumber, connection: ConnectionId, channel: ChannelId) {
        let Some(hold) = self.state.objects.hold_mut(number) else { return };
        if hold.missing > 0 {
            hold.asked = Some((connection, channel));
        } else {
            self.reply(connection, channel, &Reply::Done);
        }
    }

    /// Whether there is room for so many, under these ids.
    fn check_hold(&self, principal: &str, asked: &HoldRequest) -> Result<()> {
        let limits = &self.state.limits;
        let refused = |kind, message: &str| Error::new(kind, "hold an object", message.to_owned());
        if limits.objects_max == 0 {
            let error = refused(ErrorKind::Unavailable, "this server does not hold objects")
                .with("objects_max", 0);
            return Err(error.fix("raise objects_max in the server's farcall.toml"));
        }
        let steps = asked.count.checked_sub(1);
        if steps.and_then(|steps| asked.first.after(steps)).is_none() {
            return Err(refused(
                ErrorKind::InvalidArgument,
                "the range of ids is too small for this many objects",
            )
            .with("count", asked.count));
        }
        let most = limits.objects_max;
        let mine = limits.objects_of_one_max;
        let room =
            [("objects_max", self.state.objects.len(), most), ("objects_of_one_max", 0, mine)];
        for (key, there, limit) in room {
            let there =
                if key == "objects_max" { there } else { self.state.objects.of(principal).count() };
            if there.saturating_add(asked.count as usize) > limit {
                return Err(refused(ErrorKind::LimitExceeded, "there are too many objects")
                    .with(key, limit)
                    .with("objects", there)
                    .fix(format!("release some, or raise {key} in the server's farcall.toml"))
                    .retryable());
            }
        }
        if Duration::from_micros(asked.lease_us) > limits.object_lease_max {
            return Err(refused(ErrorKind::LimitExceeded, "its lease is too long")
                .with("object_lease_ms_max", limits.object_lease_max.as_millis())
                .fix("request a shorter lease, or raise the limit in the server's farcall.toml"));
        }
        let mut ids = self.state.objects.of(principal).map(|(_, object)| object.id);
        match ids.find(|id| is_among(*id, asked.first, asked.count)) {
            None => Ok(()),
            Some(id) => {
                Err(refused(ErrorKind::InvalidArgument, "this id is already in use")
                    .with("object", id))
            }
        }
    }

    /// A client wants objects of its own to end.
    pub(in crate::step) fn release(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        first: ObjectId,
        count: u32,
    ) {
        let principal =
            self.rights(connection).map_or(String::new(), |rights| rights.principal().to_owned());
        let mine = self.state.objects.of(&principal);
        let meant =
            mine.filter(|(_, one)| !one.standing.is_ending() && is_among(one.id, first, count));
        let meant: Vec<ExecutableId> = meant.map(|(executable, _)| executable).collect();
        if meant.is_empty() {
            return self.reply(connection, channel, &Reply::Failed((&unknown(first)).into()));
        }
        let release = Release {
            asked: (connection, channel),
            left: meant.len(),
            problem: None,
            is_order: false,
        };
        let error = Error::new(ErrorKind::Cancelled, "call an object", "it was released");
        self.end_for(surroundings, release, meant, &error);
    }

    /// An administrator wants objects to end, whosever they are.
    pub(in crate::step) fn delete(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        ids: &[ObjectId],
    ) {
        let mut meant: Vec<ExecutableId> =
            ids.iter().flat_map(|id| self.state.objects.called(*id)).collect();
        meant.sort_unstable();
        meant.dedup();
        let missing = ids.iter().find(|id| self.state.objects.called(**id).next().is_none());
        let problem = missing.map(|id| Failure::from(&unknown(*id)));
        let release =
            Release { asked: (connection, channel), left: meant.len(), problem, is_order: true };
        let error = Error::new(
            ErrorKind::Cancelled,
            "call an object",
            "an administrator of the server deleted it",
        );
        self.end_for(surroundings, release, meant, &error);
    }

    fn end_for(
        &mut self,
        surroundings: &mut dyn Surroundings,
        release: Release,
        meant: Vec<ExecutableId>,
        error: &Error,
    ) {
        let number = ReleaseNumber(self.state.number());
        let is_nobody = meant.is_empty();
        self.state.objects.begin_release(number, release);
        for executable in meant {
            self.end_object(surroundings, executable, error, Some(number));
        }
        if is_nobody {
            self.tell_release(number);
        }
    }

    /// What is due of objects.
    pub(in crate::step) fn look_after_objects(&mut self, surroundings: &mut dyn Surroundings) {
        while let Some(due) = self.state.objects.take_due(surroundings.now()) {
            match due {
                Due::Start(hold) => self.give_hold_up(surroundings, hold),
                Due::Lease(executable) => {
                    let error =
                        Error::new(ErrorKind::Cancelled, "call an object", "its lease has expired")
                            .fix("request a longer lease, or call the object from time to time");
                    self.end_object(surroundings, executable, &error, None);
                }
                Due::End(executable) => self.end_by_force(executable),
            }
        }
        if self.state.draining {
            self.end_free_objects(surroundings);
        }
    }
}

/// Whether an id is one of so many from the first on.
fn is_among(id: ObjectId, first: ObjectId, count: u32) -> bool {
    id.0[..12] == first.0[..12]
        && id.index().checked_sub(first.index()).is_some_and(|steps| steps < count)
}

/// An id of nobody's reads like that of somebody else.
pub(in crate::step) fn unknown(id: ObjectId) -> Error {
    Error::new(
        ErrorKind::NotFound,
        "find an object",
        "you have no object with this \
        id",
    )
    .with("object", id)
    .fix(
        "create a new one: this one was released or deleted, its lease expired, the server \
        restarted, or it belongs to another user",
    )
}

/// Errors hold their cause, which cannot be copied and does not travel.
fn copy_of(error: &Error) -> Error {
    Error::from(Failure::from(error))
}

impl Standing {
    /// Whether it was told to end.
    pub fn is_ending(&self) -> bool {
        matches!(self, Standing::Ending { .. })
    }
}
