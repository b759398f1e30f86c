//! Strangers at the door: clients that connect, connections from inside calls, and what becomes of
//! those for whom there is no room.

use std::os::fd::OwnedFd;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant};
use farcall_link::hosts::CertifiedHosts;
use farcall_link::stream::{ByteStream, Listener, Proof};
use rustix::event::epoll;

use super::journal::Life;
use super::{ACCEPT_BUDGET, ACCEPT_REST, Driver};
use crate::LogLevel;
use crate::access::{self, Principal};
use crate::state::{Caller, Nest, Newcomer, Speaks};
use crate::step::Surroundings;

/// Where clients come in.
pub struct Doors {
    pub listeners: Vec<Box<dyn Listener>>,
    /// A descriptor to spare: given up, it lets a client in when there is no other, who is told so.
    spare: Option<std::fs::File>,
    /// When resting listeners are to be looked at again.
    pub resting_until: Option<Instant>,
}

impl Doors {
    /// They are open.
    pub fn new(listeners: Vec<Box<dyn Listener>>) -> Doors {
        Doors { listeners, spare: spare_descriptor(), resting_until: None }
    }

    /// Nobody comes in any more.
    pub fn shut(&mut self) {
        self.listeners.clear();
        self.resting_until = None;
    }
}

impl Driver {
    pub(super) fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPT_BUDGET {
            // There are none any more once farewell was said.
            let Some(listener) = self.doors.listeners.get_mut(index) else { return };
            match listener.accept() {
                Ok(Some(stream)) => self.greet(stream, None),
                Ok(None) => return self.take_relayed(index),
                // A client that is gone already, or that the transport turned away.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {
                    self.turned_away(error)
                }
                Err(error) if is_out_of_descriptors(&error) && self.make_room() => {}
                Err(error) => return self.turn_away(index, &error),
            }
        }
    }

    /// Those who came to be one end of a relayed stream.
    fn take_relayed(&mut self, index: usize) {
        while let Some(listener) = self.doors.listeners.get_mut(index)
            && let Some(relayed) = listener.take_relayed()
        {
            self.pass_relayed(relayed);
        }
    }

    pub(super) fn turned_away(&self, error: std::io::Error) {
        let Ok(reason) = error.downcast::<Error>() else { return };
        self.journal.stranger(reason);
    }

    pub(super) fn greet(&mut self, stream: Box<dyn ByteStream>, refusal: Option<Error>) {
        let peer = stream.peer().clone();
        let own = (self.transports.own_uid)();
        let mut owns_server = true;
        let mut hosts = CertifiedHosts::default();
        let mut speaks = Speaks::ForItself;
        let (token, stranger, name) = match peer.proof {
            // A routine's process that got this far has the server's user and none of its rights.
            Proof::User { uid, pid } if uid == own && self.was_started_here(pid) => {
                owns_server = false;
                (None, None, access::STARTED_HERE.to_owned())
            }
            Proof::User { uid, .. } if uid == own || uid == 0 => {
                speaks = Speaks::MayClaim;
                (None, None, format!("uid {uid}"))
            }
            Proof::User { uid, .. } => (None, Some(foreign_user(uid, own)), format!("uid {uid}")),
            Proof::Certificate { name } => {
                owns_server = false;
                (None, access::check_name(&name).err(), name)
            }
            Proof::Server { name, hosts: named } => {
                owns_server = false;
                // This server dialled that host to join it, and the certificate is that host's.
                if stream.led_by().is_some_and(|host| named.name(host)) {
                    speaks = Speaks::MayClaim;
                }
                hosts = named;
                (None, None, name)
            }
            Proof::Token(token) => (Some(token), None, "token".to_owned()),
            Proof::Inherited | Proof::Address => (None, None, "inherited".to_owned()),
        };
        let shares = stream.passes_descriptors();
        let certificate = stream.certificate().map(Into::into);
        let Some(connection) = self.add(stream) else { return };
        let rights =
            access::rights(&self.options.access, &Principal { name: name.clone(), owns_server });
        self.tell_of(connection, "opened", &name, Some(&peer.address));
        self.world.set_principal(connection, name);
        let now = self.world.now();
        let caller = Caller { address: peer.address, rights, certificate, hosts, speaks };
        let newcomer =
            Newcomer { caller, shares_memory: shares, token, refusal: stranger.or(refusal) };
        self.server.accepted(connection, newcomer, now);
        // What came with the end of a handshake lies in the stream already.
        self.wires.look_again(connection);
    }

    /// Whether a process was started by this one. To ask takes a descriptor, which may be the last
    /// but one: whoever cannot be told from a routine has none of its owner's rights.
    fn was_started_here(&mut self, pid: u32) -> bool {
        let had_spare = self.doors.spare.take().is_some();
        let was = (self.transports.was_started_here)(pid);
        if had_spare {
            self.doors.spare = spare_descriptor();
        }
        was
    }

    /// The routine of an executable calls others: it is a client of ours, at the other end of what
    /// came.
    pub(super) fn nest(&mut self, nest: Nest, descriptor: OwnedFd) {
        // What is no socket, or cannot be watched, is closed; whoever sent it notices.
        let Ok(stream) = (self.transports.socket)(descriptor, Proof::Inherited) else { return };
        let Some(connection) = self.add(stream) else { return };
        let caller = &nest.newcomer.caller;
        self.tell_of(connection, "opened", caller.rights.principal(), Some(&caller.address));
        self.world.set_principal(connection, caller.rights.principal().to_owned());
        self.server.nested(connection, nest, self.world.now());
        self.wires.look_again(connection);
    }

    /// Logs that a client's connection begins or ends; a connection that is refused is begun, and
    /// then refused.
    pub(super) fn tell_of(
        &self,
        connection: ConnectionId,
        outcome: &'static str,
        principal: &str,
        peer: Option<&str>,
    ) {
        self.journal.life(LogLevel::Debug, || Life {
            connection: Some(connection.0),
            principal: Some(principal.to_owned()),
            peer: peer.map(str::to_owned),
            outcome,
            ..Life::default()
        });
    }

    /// No descriptor is left for another connection: whoever has the most of them loses one, first
    /// those who have not said who they are. Whether there is one now.
    fn make_room(&mut self) -> bool {
        if self.endings.close_all() {
            return true;
        }
        let most = self.doors.listeners.iter_mut().max_by_key(|listener| listener.strangers());
        if most.is_some_and(|listener| listener.end_stranger()) {
            return true;
        }
        let Some(connection) = self.server.make_room() else { return false };
        // It is told why as far as its socket takes that now.
        self.flush(connection);
        if self.wires.contains(connection) {
            self.close(connection);
        }
        true
    }

    /// There are no descriptors or no memory for another connection. The next client is told so in
    /// the place of the spare descriptor; where there is none, clients wait, and the listeners
    /// rest: they would ask again at once.
    pub(super) fn turn_away(&mut self, index: usize, error: &std::io::Error) {
        if self.doors.spare.take().is_some()
            && let Ok(Some(stream)) = self.doors.listeners[index].accept()
        {
            return self.greet(stream, Some(out_of_descriptors(error)));
        }
        if self.doors.resting_until.is_none() {
            self.set_listening(epoll::EventFlags::empty());
        }
        self.doors.resting_until = Some(self.world.now() + ACCEPT_REST);
    }

    pub(super) fn set_listening(&self, flags: epoll::EventFlags) {
        for (index, listener) in self.doors.listeners.iter().enumerate() {
            let Some(descriptor) = listener.readiness() else { continue };
            // Cannot fail for a descriptor that was added.
            let _ = self.wires.change(descriptor, 1 + index as u64, flags);
        }
    }

    /// Ends the listeners' rest when its time is over, and finds a new spare descriptor if one was
    /// given up.
    pub(super) fn refresh(&mut self) {
        if self.doors.spare.is_none() {
            self.doors.spare = spare_descriptor();
        }
        if self.doors.resting_until.is_some_and(|until| until <= self.world.now()) {
            self.doors.resting_until = None;
            self.set_listening(epoll::EventFlags::IN);
        }
    }
}

fn spare_descriptor() -> Option<std::fs::File> {
    std::fs::File::open("/dev/null").ok()
}

fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| errno == Errno::MFILE || errno == Errno::NFILE)
}

fn out_of_descriptors(error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "accept a connection",
        format!("the server cannot accept more connections: {error}"),
    )
    .fix("close connections, or start the server with a higher limit on open files (ulimit -n)")
    .retryable()
}

fn foreign_user(uid: u32, own: u32) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        "accept a connection",
        format!("this server serves only user {own}, not user {uid}"),
    )
    .fix("start your own server with `farcall serve`")
}
