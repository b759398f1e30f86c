//! Peers that break the rules, by hand and on purpose: each gets a Goodbye with the reason or a
//! closed connection, and the server serves on as if nothing had happened.

mod compressed;
mod executables;
mod frames;
mod greetings;
mod misfits;
mod replays;
mod sharing;
mod sizes;
mod stalls;
mod traps;
mod vanished;

use farcall_base::{CallId, ChannelId, ErrorKind};
use farcall_tests::{Raw, Server, Transport, battery, trouble};
use farcall_wire::message::decode;
use farcall_wire::{Argument, FrameHeader, FrameKind, InterfaceReply, Open, Reply, Request, Share};

use frames::{
    data_that_nobody_asked_for, frames_that_break_the_rules, messages_that_lie,
    random_bytes_of_every_kind,
};
use greetings::{
    greetings_that_are_wrong, strangers_who_do_not_speak_farcall, whoever_talks_on_still_learns_why,
};
use misfits::calls_that_do_not_fit_are_answered_and_the_connection_lives;
use vanished::{
    clients_that_are_killed, clients_that_vanish, two_hundred_hostile_connections_leak_nothing,
};

farcall_tests::over_all! {
    strangers_who_do_not_speak_farcall
    whoever_talks_on_still_learns_why
    greetings_that_are_wrong
    frames_that_break_the_rules
    messages_that_lie
    calls_that_do_not_fit_are_answered_and_the_connection_lives
    data_that_nobody_asked_for
    clients_that_vanish
    clients_that_are_killed
    two_hundred_hostile_connections_leak_nothing
    random_bytes_of_every_kind
}

fn start(transport: Transport) -> Server {
    Server::start(transport, &[battery(false), trouble(false)], &[])
}

/// The server is alive and well.
fn serves(server: &Server) {
    let outputs = server.client().routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
}

/// The last thing the server says is a reason of this kind with these words.
fn says(raw: &mut Raw, kind: ErrorKind, words: &[&str]) {
    let error =
        raw.goodbye().unwrap_or_else(|| panic!("closed without a reason; {words:?} was expected"));
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "\"{word}\" is missing in: {text}");
    }
}

fn header(kind: FrameKind, channel: u32, length: u32) -> FrameHeader {
    FrameHeader::new(kind, ChannelId(channel), length)
}

fn share(segment: u32, bytes: u64) -> Vec<u8> {
    Raw::encoded(FrameKind::Share, 0, &Share { segment, bytes })
}

/// What one must know to call a routine by hand.
fn interface(raw: &mut Raw, name: &str) -> InterfaceReply {
    raw.message(FrameKind::Request, 101, &Request::Interface(name.into()));
    match decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() {
        Reply::Interface(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn open(reply: &InterfaceReply, arguments: Vec<Argument>) -> Open {
    Open::new(CallId([9; 16]), reply.name.clone(), reply.contract, arguments)
}

fn long(value: i64) -> Argument {
    Argument::Inline(value.to_ne_bytes().as_slice().into())
}

/// A connection with a call of `bytes` bytes open on channel 1, slot 1.
fn with_call(server: &Server, bytes: u64) -> Raw {
    let mut raw = Raw::greeted(server);
    let reply = interface(&mut raw, "touch");
    let call = open(&reply, vec![long((bytes / 8) as i64), Argument::Blocks(Some(bytes))]);
    raw.message(FrameKind::Open, 1, &call);
    raw
}
