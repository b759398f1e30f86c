//! The sockets of relayed streams, and the tokens by which they are told apart.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farcall_base::{Clock, Error, Result};
use farcall_link::stream::RelayedSocket;
use farcall_wire::{RelayTicket, RelayToken, Reply};

use super::splice::Splicer;
use super::{Driver, Message};
use crate::state::{QuestionNumber, StreamEnd, StreamNumber};

/// Streams that are dialled at a time, each by a thread.
const DIALS_MAX: usize = 256;

/// The streams.
#[derive(Default)]
pub struct Relaying {
    tokens: BTreeMap<RelayToken, (StreamNumber, StreamEnd)>,
    ends: BTreeMap<(StreamNumber, StreamEnd), OwnedFd>,
    /// Nothing before the first stream.
    splicer: Option<Splicer>,
    dials: Arc<AtomicUsize>,
}

impl Relaying {
    /// A stream ended before it flowed.
    pub fn forget(&mut self, stream: StreamNumber) {
        self.tokens.retain(|_, (of, _)| *of != stream);
        self.ends.remove(&(stream, StreamEnd::Server));
        self.ends.remove(&(stream, StreamEnd::Client));
    }

    fn token(&mut self, stream: StreamNumber, end: StreamEnd) -> Result<RelayToken> {
        let token = fresh_token()?;
        self.tokens.insert(token, (stream, end));
        Ok(token)
    }
}

impl Driver {
    /// Somebody says to be one end of a stream.
    pub(super) fn take_relayed(&mut self, relayed: RelayedSocket) {
        // One that is unknown, or that was shown before, is closed.
        let token = RelayToken(relayed.token);
        let Some((stream, end)) = self.relaying.tokens.remove(&token) else { return };
        self.end_is_there(stream, end, relayed.socket);
    }

    fn end_is_there(&mut self, stream: StreamNumber, end: StreamEnd, socket: OwnedFd) {
        self.relaying.ends.insert((stream, end), socket);
        self.state.handle_end(self.clock.now(), stream, end);
    }

    /// The server of a stream was reached, or not.
    pub(super) fn reached(&mut self, stream: StreamNumber, socket: Result<OwnedFd>) {
        match socket {
            Ok(socket) => self.end_is_there(stream, StreamEnd::Server, socket),
            Err(error) => self.state.handle_not_reached(stream, error),
        }
    }

    pub(super) fn tell_streams(&mut self, number: QuestionNumber, streams: &[StreamNumber]) {
        let tokens: Result<Vec<RelayToken>> =
            streams.iter().map(|stream| self.relaying.token(*stream, StreamEnd::Server)).collect();
        if let Some(reply) = self.replies.remove(&number) {
            reply.answer(tokens.map(Reply::DialBack));
        }
    }

    pub(super) fn tell_ticket(
        &mut self,
        number: QuestionNumber,
        stream: StreamNumber,
        addresses: Vec<String>,
    ) {
        let token = self.relaying.token(stream, StreamEnd::Client);
        if let Some(reply) = self.replies.remove(&number) {
            reply.answer(token.map(|token| Reply::Relay(RelayTicket { token, addresses })));
        }
    }

    /// Dials the server of a stream.
    pub(super) fn reach(&mut self, stream: StreamNumber, address: String) {
        let transports = self.services.transports.clone();
        let patience = self.patience;
        let reply = self.sender.reply(move |socket| Message::Reached(stream, socket));
        let started = reply.and_then(|reply| {
            self.dial_stream(move || reply.answer(transports.reach(&address, None, patience)))
        });
        if let Err(error) = started {
            self.state.handle_not_reached(stream, error);
        }
    }

    /// Dials back to a metaserver, and hands the sockets to the own node.
    pub(super) fn dial_back(&mut self, address: &str, tokens: Vec<RelayToken>) {
        for token in tokens {
            let transports = self.services.transports.clone();
            let server = self.services.server.clone();
            let address = address.to_owned();
            let patience = self.patience;
            // The metaserver waits for a time, and tells its client that nobody came.
            let _ = self.dial_stream(move || {
                if let Ok(socket) = transports.reach(&address, Some(&token), patience) {
                    server.adopt(socket, farcall_link::hosts::host_of(&address).to_owned());
                }
            });
        }
    }

    /// Runs what reaches somebody in a thread of its own.
    fn dial_stream(&self, dial: impl FnOnce() + Send + 'static) -> Result<()> {
        let dials = self.relaying.dials.clone();
        if dials.fetch_add(1, Ordering::Relaxed) >= DIALS_MAX {
            dials.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::internal("reach a server", "too many are being reached"));
        }
        let counted = dials.clone();
        let thread = std::thread::Builder::new().name("dial-stream".to_owned());
        let started = thread.spawn(move || {
            dial();
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if let Err(error) = started {
            dials.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::system("start a thread", error));
        }
        Ok(())
    }

    /// Both ends are there.
    pub(super) fn splice(&mut self, stream: StreamNumber) {
        let mut end = |end| self.relaying.ends.remove(&(stream, end));
        let (Some(server), Some(client)) = (end(StreamEnd::Server), end(StreamEnd::Client)) else {
            return;
        };
        let splicer = match self.relaying.splicer.take() {
            Some(splicer) => Ok(splicer),
            None => Splicer::start(self.sender.clone()),
        };
        match splicer.map(|splicer| self.relaying.splicer.insert(splicer)) {
            Ok(splicer) => splicer.add(stream, [server, client]),
            // Both ends see that it has ended.
            Err(_) => self.state.handle_flowed(stream),
        }
    }

    /// Forgets streams that ended.
    pub(super) fn look_at_streams(&mut self) {
        let Some(splicer) = &self.relaying.splicer else { return };
        for stream in splicer.take_ended() {
            self.state.handle_flowed(stream);
        }
    }
}

fn fresh_token() -> Result<RelayToken> {
    let mut bytes = [0; RelayToken::BYTES];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(RelayToken::BYTES) => Ok(RelayToken(bytes)),
        Ok(_) => Err(Error::internal("draw a token", "the system gave too few random bytes")),
        Err(error) => Err(Error::system("draw a token", error.into())),
    }
}
