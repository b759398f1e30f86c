//! One of the other ends: what it knows, what it does in the words of scripts, and what is seen of
//! what it is sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use farcall_base::{CallId, ChannelId, DataId, Error, ErrorKind, ExecutableId};
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_link::turnstile::Turnstile;
use farcall_services::directory::PublishedRoutine;
use farcall_wire::{
    Argument, Attribute, ByteOrder, CallResult, CallTimes, Failure, Hello, HelloLimits, Loaded,
    Notice, Open, Order, Publication, Reply, Request, Resume, Role, Share, callback_slot,
    threads_of,
};

use super::memory::Memory;
use super::status::shown;
use super::words::{argument, callback, hold_request, object_id, open, shown_data, word};
use crate::state::MemorySource;

/// A client or an executable.
pub struct Other {
    pub name: String,
    pub machine: Connection,
    pub executable: Option<ExecutableId>,
    /// What was opened here, by name and channel.
    pub calls: BTreeMap<String, ChannelId>,
    /// What waits for an answer of ours: calls with their slots, and the request to load.
    pub running: VecDeque<(ChannelId, Open)>,
    pub load: Option<ChannelId>,
    /// What it maps, by segment.
    pub mapped: BTreeMap<u32, MemorySource>,
    /// Nothing leaves it; data frames alone do not.
    pub mute: bool,
    pub held: bool,
    /// Data frames that leave it all the same.
    pub frames: u32,
    /// It takes nothing.
    pub deaf: bool,
    /// Its stream is gone, its process lives.
    pub cut: bool,
    /// What its server sees of the calls that it has begun, where it takes calls ahead of time.
    pub turnstile: Option<Turnstile>,
    /// A call has begun that it has not answered.
    pub begun: bool,
    /// What it says of that may be wrong.
    pub forged: bool,
    /// Whether its code asks if its call was cancelled.
    pub asks: bool,
    /// It was told goodbye.
    pub left: bool,
}

impl Other {
    /// One that has not greeted yet.
    pub fn new(
        name: String,
        executable: Option<ExecutableId>,
        features: Vec<String>,
        attributes: Vec<Attribute>,
    ) -> Other {
        let role = if executable.is_some() { Role::Executable } else { Role::Client };
        let hello = Hello {
            role,
            byte_order: ByteOrder::NATIVE,
            product: "golden".to_owned(),
            features,
            limits: HelloLimits { segments_max: 4, ..HelloLimits::default() },
            host: "host".to_owned(),
            principal: None,
            token: None,
            attributes,
        };
        let machine =
            Connection::new(Setup { hello, initiator: executable.is_none(), token: None });
        let calls = BTreeMap::new();
        let running = VecDeque::new();
        let mapped = BTreeMap::new();
        Other {
            name,
            machine,
            executable,
            calls,
            running,
            load: None,
            mapped,
            mute: false,
            held: false,
            frames: 0,
            deaf: false,
            cut: false,
            turnstile: None,
            begun: false,
            forged: false,
            asks: false,
            left: false,
        }
    }

    /// Something a client does, in the words of the script: under this id, and with the call that
    /// the last word names.
    pub fn does_as_client(
        &mut self,
        what: &str,
        words: &[&str],
        (id, named): (CallId, CallId),
        routines: &[Arc<PublishedRoutine>],
    ) {
        if let Some(request) = super::transactions::request(what, words) {
            self.machine.request(&request).unwrap();
            return;
        }
        match what {
            "ask" => drop(self.machine.request(&Request::Interface(words[0].to_owned())).unwrap()),
            "list" => {
                self.machine.request(&Request::List).unwrap();
            }
            "status" => {
                self.machine.request(&Request::Status).unwrap();
            }
            "state" | "report" | "place" | "outcomes" | "servers" => {
                self.machine.request(&super::placing::request(what, words, routines)).unwrap();
            }
            "load" => {
                let publication =
                    Publication { module: Vec::new(), libraries: Vec::new(), object: None };
                self.machine.request(&Request::Load(publication)).unwrap();
            }
            "open" | "reopen" | "resume" => self.client_opens((what, id, named), words, routines),
            "forget" => drop(self.machine.request(&Request::Forget(named)).unwrap()),
            "kept" => drop(self.machine.request(&Request::Kept).unwrap()),
            "data" => drop(self.machine.request(&Request::Data(data_ids(words)))),
            "delete-data" => drop(self.machine.request(&Request::DeleteData(data_ids(words)))),
            "has" => self.machine.acknowledge(ChannelId(words[0].parse().unwrap())),
            "cancel" => {
                if let Some(channel) = self.calls.get(words[0]) {
                    self.machine.cancel(*channel);
                }
            }
            "share" => {
                let segment = words[0].parse().unwrap();
                let bytes = words[1].parse().unwrap();
                self.machine.share(Share { segment, bytes });
            }
            "unshare" => self.machine.unshare(words[0].parse().unwrap()),
            "object" => {
                self.machine.request(&Request::Hold(Box::new(hold_request(words)))).unwrap();
            }
            "release" => {
                let count = words.get(1).map_or(1, |count| count.parse().unwrap());
                self.machine.request(&Request::Release(object_id(words[0]), count)).unwrap();
            }
            "order" => {
                let order = match words[0] {
                    "withdraw" => Order::Withdraw(words[1].to_owned()),
                    "delete" => Order::Delete(words[1..].iter().map(|id| object_id(id)).collect()),
                    // Calls by the letters that they were opened with.
                    "end-calls" => Order::EndCalls(vec![named]),
                    _ => panic!("no such order: {words:?}"),
                };
                self.machine.request(&Request::Administer(order)).unwrap();
            }
            "goodbye" => self.machine.goodbye(None),
            "answer" => self.answer(None, words.iter().map(|word| argument(word)).collect()),
            "answer-fails" => {
                let error = Error::new(ErrorKind::RoutineFailed, "run a callback", words.join(" "));
                self.answer(Some((&error).into()), Vec::new());
            }
            _ => panic!("clients do not {what}"),
        }
    }

    fn client_opens(
        &mut self,
        (what, id, named): (&str, CallId, CallId),
        words: &[&str],
        routines: &[Arc<PublishedRoutine>],
    ) {
        let opened = match what {
            "open" => self.machine.open(&open(id, &words[1..], routines)),
            // Under the id of a call that somebody made, which is named last.
            "reopen" => self.machine.open(&open(named, &words[1..words.len() - 1], routines)),
            _ => {
                let describe = words.contains(&"described").then_some(true);
                self.machine.resume(&Resume { describe, ..Resume::new(named) })
            }
        };
        self.calls.insert(words[0].to_owned(), opened.unwrap());
    }

    /// What a client may answer to the first of its callbacks, in the words of scripts.
    pub fn answers(&self) -> Option<[String; 2]> {
        let (_, open) = self.running.front()?;
        let client = &self.name[7..];
        let large = matches!(open.arguments[1], Argument::Blocks(_));
        let right = match (callback_slot(open.attributes.as_deref())?, large) {
            (2, true) => "- - b8000",
            (2, false) => "- - z8",
            _ => "- i5",
        };
        Some([format!("answer {client} {right}"), format!("answer-fails {client} no")])
    }

    /// A client's answer to the first of its callbacks.
    fn answer(&mut self, failure: Option<Failure>, results: Vec<Argument>) {
        let (channel, _) = self.running.pop_front().expect("it is called back");
        let times = CallTimes::default();
        self.machine.respond(channel, &CallResult { failure, results, times, attributes: None });
    }

    /// Something an executable does, in the words of the script.
    pub fn does_as_executable(
        &mut self,
        what: &str,
        words: &[&str],
        (id, named): (CallId, CallId),
    ) {
        let error = || Error::new(ErrorKind::RoutineFailed, "run a routine", words.join(" "));
        match what {
            "load-asks" => {
                let channel = self.load.take().expect("it was told to load");
                self.asks = true;
                self.machine.reply(channel, &Reply::Loaded(Loaded { asks: true, threads: None }));
            }
            "load-threads" => {
                let channel = self.load.take().expect("it was told to load");
                let loaded = Loaded { asks: false, threads: Some(true) };
                self.machine.reply(channel, &Reply::Loaded(loaded));
            }
            "progress" => {
                let (channel, _) = self.running.front().expect("it has a call");
                self.machine.notice(
                    *channel,
                    &Notice::Progress(words[0].parse().unwrap(), words[1..].join(" ")),
                );
            }
            "load-ok" => {
                self.machine.reply(self.load.take().expect("it was told to load"), &Reply::Done)
            }
            "load-failed" => {
                let error = Error::new(ErrorKind::Unavailable, "load a module", words.join(" "));
                let channel = self.load.take().expect("it was told to load");
                self.machine.reply(channel, &Reply::Failed((&error).into()));
            }
            "calls-back" => {
                let around = self.running.front().map(|(_, open)| open);
                let channel = self.machine.open(&callback(id, words, around, named)).unwrap();
                self.calls.insert(words[0].to_owned(), channel);
            }
            "gives-up" => {
                if let Some(channel) = self.calls.get(words[0]) {
                    self.machine.cancel(*channel);
                }
            }
            "callback" => {
                self.machine.request(&Request::List).unwrap();
            }
            "nest" => {
                // Inside the call that it runs, or inside one that it never had.
                let running = self.running.front().filter(|_| !words.contains(&"forged"));
                let call = running.map_or(CallId([99; 16]), |(_, open)| open.call);
                self.machine.request(&Request::Nest(call)).unwrap();
            }
            _ => {
                let (channel, _) = self.running.pop_front().expect("it has a call");
                let passes = self.begun || self.turnstile.as_ref().is_none_or(Turnstile::pass);
                assert!(passes || self.forged, "its turnstile is shut");
                self.begun = false;
                let (failure, results) = match what {
                    "return" | "soon" => (None, words.iter().map(|word| argument(word)).collect()),
                    "fail" => (Some(Failure::from(&error())), Vec::new()),
                    _ => panic!("executables do not {what}"),
                };
                let finished_ns = if what == "soon" { 1000 } else { u64::MAX };
                let times =
                    CallTimes { queued_ns: 0, started_ns: 0, finished_ns, processor_ns: None };
                self.machine
                    .respond(channel, &CallResult { failure, results, times, attributes: None });
            }
        }
    }

    /// Takes a frame of the server's.
    pub fn take(&mut self, transmit: Transmit, memory: &mut Memory) {
        match transmit {
            Transmit::Control { header, body, .. } => {
                self.machine.handle_control(&header, &body).unwrap()
            }
            Transmit::Data { header, .. } => {
                let place =
                    self.machine.place(&header, 0).unwrap().expect("data are for an open call");
                memory
                    .said
                    .push(format!("{}: {} bytes of slot {}", self.name, header.length, place.slot));
                self.machine.data_arrived(&header, header.length).unwrap();
            }
        }
        while let Some(event) = self.machine.poll_event() {
            let said = self.show(event);
            memory.said.push(format!("{}: {said}", self.name));
        }
    }

    fn show(&mut self, event: Event) -> String {
        match event {
            Event::Ready(_) => "is greeted".to_owned(),
            Event::Requested(channel, Request::Load(publication)) => {
                self.load = Some(channel);
                let object = publication
                    .object
                    .map_or_else(String::new, |class| format!(", to be a {class}"));
                format!("load a module with {}{object}", publication.libraries.join(" "))
            }
            Event::Replied(_, reply) => match reply {
                Reply::Failed(failure) => format!("is told: {}", full(failure)),
                Reply::Interface(interface) => format!("gets the interface of {}", interface.name),
                Reply::List(list) => format!("gets {} interfaces", list.len()),
                Reply::Kept(calls) => super::keeping::shown(&calls),
                Reply::Data(all) => shown_data(&all),
                Reply::Status(status) => format!("is told {}", shown(&status)),
                Reply::State(report) => super::placing::shown(&report),
                other => format!("gets {other:?}"),
            },
            Event::Opened(channel, open) => self.opened(channel, open),
            Event::ArgumentsComplete(_) => "has its arguments".to_owned(),
            Event::CancelRequested(channel) if self.executable.is_none() => {
                self.callback_is_to_end(channel)
            }
            Event::CancelRequested(channel) => self.call_is_to_end(channel),
            Event::Resulted(channel, result) => {
                let name =
                    self.calls.iter().find(|(_, of)| **of == channel).map_or("?", |(name, _)| name);
                match result.failure {
                    Some(failure) => format!("{name} failed: {}", full(failure)),
                    None => {
                        format!(
                            "{name} returned {}",
                            result.results.iter().map(word).collect::<Vec<_>>().join(" ")
                        )
                    }
                }
            }
            Event::Finished(channel) => {
                let name =
                    self.calls.iter().find(|(_, of)| **of == channel).map(|(name, _)| name.clone());
                let name = name.expect("a call ends once");
                self.calls.remove(&name);
                format!("{name} is over")
            }
            Event::Noticed(_, Notice::Output(output, bytes)) => {
                format!("hears {output}: {}", String::from_utf8_lossy(&bytes).escape_debug())
            }
            Event::Agreed(_, resume) => super::keeping::agreed(&resume),
            Event::Noticed(_, notice) => format!("hears {notice:?}"),
            Event::Shared(share) => {
                format!("shares segment {}: {} bytes", share.segment, share.bytes)
            }
            Event::Unshared(segment) => format!("unshares segment {segment}"),
            Event::Left(failure) => {
                self.left = true;
                format!("goodbye{}", failure.map_or_else(String::new, |f| format!(": {}", full(f))))
            }
            other => panic!("{} does not expect {other:?}", self.name),
        }
    }

    fn opened(&mut self, channel: ChannelId, open: Box<Open>) -> String {
        let granted = open.arguments.iter().map(|argument| match argument {
            Argument::Blocks(Some(bytes)) => *bytes,
            _ => 0,
        });
        self.machine.grant(channel, granted.sum());
        let words =
            |arguments: &[Argument]| arguments.iter().map(word).collect::<Vec<_>>().join(" ");
        let wanted = open.wanted.as_deref().map(words).unwrap_or_default();
        let said = match callback_slot(open.attributes.as_deref()) {
            Some(slot) => {
                format!("is called back, {} slot {slot}: {}", open.routine, words(&open.arguments))
            }
            None => {
                let threads = threads_of(open.attributes.as_deref());
                let threads = threads.map_or(String::new(), |count| format!(" on {count} threads"));
                format!("call {} {} | {wanted}{threads}", open.routine, words(&open.arguments))
            }
        };
        self.running.push_back((channel, *open));
        said
    }

    fn callback_is_to_end(&mut self, channel: ChannelId) -> String {
        // Of one that was answered, the answer is on its way.
        if let Some(at) = self.running.iter().position(|(of, _)| *of == channel) {
            let one = self.running.remove(at).expect("it is there");
            self.running.push_front(one);
            let error = Error::new(ErrorKind::Cancelled, "run a callback", "its call is over");
            self.answer(Some((&error).into()), Vec::new());
        }
        "hears that a callback is to end".to_owned()
    }

    fn call_is_to_end(&mut self, channel: ChannelId) -> String {
        let at = self.running.iter().position(|(of, _)| *of == channel).expect("it has the call");
        if self.asks && at == 0 && (self.begun || self.turnstile.is_none()) {
            return "hears that its call is to end".to_owned();
        }
        assert!(at > 0 || !self.begun || self.forged, "a call is taken back that has begun");
        self.running.remove(at);
        let error = Error::new(ErrorKind::Cancelled, "run a routine", "it had not begun");
        let failure = Some(Failure::from(&error));
        let times = CallTimes::default();
        self.machine.respond(
            channel,
            &CallResult { failure, results: Vec::new(), times, attributes: None },
        );
        "gives a call back".to_owned()
    }
}

fn full(failure: Failure) -> String {
    let error = Error::from(failure);
    let again = if error.is_retryable() { ", may be retried" } else { "" };
    format!("{} {error}{again}", error.kind().name()).replace('\n', " / ")
}

pub(super) fn data_ids(words: &[&str]) -> Vec<DataId> {
    words.iter().map(|word| DataId([word.parse().unwrap(); 16])).collect()
}
