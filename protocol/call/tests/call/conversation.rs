//! Two ends, A that connected and B that accepted, and the commands of the scripts.
//!
//! ```text
//! greet [A.features=NAME] [A.token=T] [B.wants=T] [A.credit=N] [B.channels=N] …   two fresh ends that have exchanged their Hellos
//! connect …                                                     the same before any frame left
//! A open ROUTINE ARGUMENT… [result-credit=N] [parent=CALL]      arguments as in words.rs
//! A request list | interface NAME        B reply CH done        B respond CH ARGUMENT… | fail WORDS
//! A grant CH N    A cancel CH    B notice CH queued:N | started    A ping    A goodbye [WORDS]
//! A resume CALL    B agree CH CALL    A acknowledge CH
//! A share N BYTES    A unshare N         A state
//! A says               A's frames are shown and go nowhere
//! A sends [N]          all, or N, of A's frames reach B; an error makes B say goodbye
//! forge B KIND [ch=N] [seq=N] [slot=N] [flags=N] [len=N] [hex=BODY | open ROUTINE …]    a frame A never sent reaches B
//! ```

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_wire::message::{decode, encode};
use farcall_wire::*;

use crate::words;

/// One script's state.
#[derive(Default)]
pub struct Conversation {
    ends: Vec<Connection>,
    calls: u8,
    /// What the last command said.
    pub said: Vec<String>,
}

fn end(word: &str) -> usize {
    ["A", "B"].iter().position(|end| *end == word).expect("A or B")
}

const NAMES: [&str; 2] = ["A", "B"];

fn channel(words: &[&str]) -> ChannelId {
    ChannelId(words[0].parse().unwrap())
}

fn failed(words: &[&str]) -> Error {
    Error::new(ErrorKind::RoutineFailed, "", words.join(" "))
}

impl Conversation {
    pub fn obey(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[0] {
            "connect" => self.connect(&words[1..]),
            "greet" => {
                self.connect(&words[1..]);
                self.send(0, usize::MAX);
                self.send(1, usize::MAX);
                let quiet =
                    self.said.iter().all(|line| line.contains("Hello") || line.contains("Ready"));
                assert!(
                    quiet,
                    "use connect and sends where the greeting itself is the matter: {:?}",
                    self.said
                );
                self.said.clear();
            }
            "forge" => self.forge(end(words[1]), &words[2..]),
            _ if words[1] == "sends" => {
                self.send(
                    end(words[0]),
                    words.get(2).map_or(usize::MAX, |count| count.parse().unwrap()),
                );
            }
            _ if words[1] == "says" => self.say(end(words[0])),
            _ => {
                let index = end(words[0]);
                if let Err(error) = self.act(index, words[1], &words[2..]) {
                    self.said.push(format!("{} is refused: {error}", NAMES[index]));
                }
            }
        }
    }

    fn connect(&mut self, words: &[&str]) {
        let setup = |end, initiator| Setup {
            hello: words::hello(words, end),
            initiator,
            token: words::option(words, &format!("{end}.wants"))
                .map(|token| token.as_bytes().into()),
        };
        self.calls = 0;
        self.ends = vec![Connection::new(setup("A", true)), Connection::new(setup("B", false))];
    }

    fn act(&mut self, index: usize, verb: &str, words: &[&str]) -> Result<()> {
        let connection = &mut self.ends[index];
        let text = || words.join(" ");
        match verb {
            "open" => {
                self.calls += 1;
                let channel = connection.open(&words::open(words, self.calls))?;
                self.said
                    .push(format!("{} opens call {} on ch {channel}", NAMES[index], self.calls));
            }
            "request" if words[0] == "list" => drop(connection.request(&Request::List)?),
            "request" => drop(connection.request(&Request::Interface(words[1].into()))?),
            "reply" if words[1] == "done" => connection.reply(channel(words), &Reply::Done),
            "reply" => {
                connection.reply(channel(words), &Reply::Failed((&failed(&words[2..])).into()))
            }
            "respond" => self.respond(index, words),
            "grant" => connection.grant(channel(words), words[1].parse().unwrap()),
            "cancel" => connection.cancel(channel(words)),
            "notice" => {
                let notice = match words[1] {
                    "started" => Notice::Started,
                    "kept" => Notice::Kept,
                    queued => Notice::Queued(queued[7..].parse().unwrap()),
                };
                connection.notice(channel(words), &notice);
            }
            "ping" => connection.ping(),
            "goodbye" if words.is_empty() => connection.goodbye(None),
            "goodbye" => {
                connection.goodbye(Some(&Error::new(ErrorKind::ShuttingDown, "serve", text())))
            }
            "resume" => {
                let channel =
                    connection.resume(&Resume::new(CallId([words[0].parse().unwrap(); 16])))?;
                self.said
                    .push(format!("{} resumes call {} on ch {channel}", NAMES[index], words[0]));
            }
            "agree" => connection
                .agree(channel(words), &Resume::new(CallId([words[1].parse().unwrap(); 16]))),
            "acknowledge" => connection.acknowledge(channel(words)),
            "share" => connection.share(Share {
                segment: words[0].parse().unwrap(),
                bytes: words[1].parse().unwrap(),
            }),
            "unshare" => connection.unshare(words[0].parse().unwrap()),
            "state" => {
                let open = connection.channels_open();
                let bytes = connection.waiting_bytes();
                self.said
                    .push(format!("{}: {open} channels open, {bytes} bytes waiting", NAMES[index]));
            }
            _ => panic!("no command: {verb}"),
        }
        Ok(())
    }

    fn respond(&mut self, index: usize, words: &[&str]) {
        let failure = (words.get(1) == Some(&"fail")).then(|| Failure::from(&failed(&words[2..])));
        let results = if failure.is_some() { vec![] } else { words::arguments(&words[1..]) };
        let result = CallResult { failure, results, times: CallTimes::default(), attributes: None };
        self.ends[index].respond(channel(words), &result);
    }

    /// Up to `count` frames go over.
    fn send(&mut self, from: usize, count: usize) {
        for _ in 0..count {
            let Some(transmit) = self.ends[from].poll_transmit() else { return };
            let (header, body) = match transmit {
                Transmit::Control { header, body, .. } => (header, body),
                Transmit::Data { header, place } => {
                    self.said.push(format!("{} reads {}", NAMES[from], words::show_place(&place)));
                    (header, vec![])
                }
            };
            let arrow = if from == 0 { "A -> B" } else { "B -> A" };
            self.said.push(format!("{arrow} {}", words::show_header(&header)));
            self.deliver(1 - from, header, &body);
        }
    }

    /// What would go over, read but not delivered: for answers to forged frames, which the other
    /// end never asked for.
    fn say(&mut self, from: usize) {
        while let Some(transmit) = self.ends[from].poll_transmit() {
            let Transmit::Control { header, body, .. } = transmit else { continue };
            let shown = match FrameKind::from_code(header.kind) {
                Some(FrameKind::Result) => {
                    let result = Box::new(decode("Result", &body).unwrap());
                    words::show_event(&Event::Resulted(header.channel, result))
                }
                _ => String::new(),
            };
            self.said.push(
                format!("{} says {} {shown}", NAMES[from], words::show_header(&header))
                    .trim_end()
                    .to_owned(),
            );
        }
    }

    fn deliver(&mut self, to: usize, header: FrameHeader, body: &[u8]) {
        let length = body.len() as u32;
        let taken = match header.kind == FrameKind::Data as u8 && header.length > 0 {
            true => self.deliver_data(to, &header),
            false => self.ends[to].handle_control(&FrameHeader { length, ..header }, body),
        };
        while let Some(event) = self.ends[to].poll_event() {
            self.said.push(format!("{}: {}", NAMES[to], words::show_event(&event)));
        }
        if let Err(error) = taken {
            self.said.push(format!("{} ends it: {error}", NAMES[to]));
            self.ends[to].goodbye(Some(&error));
        }
    }

    fn deliver_data(&mut self, to: usize, header: &FrameHeader) -> Result<()> {
        let place = self.ends[to].place(header, 0)?;
        let what = place.map_or("throws it away".to_owned(), |place| {
            format!("puts {}", words::show_place(&place))
        });
        self.said.push(format!("{} {what}", NAMES[to]));
        self.ends[to].data_arrived(header, header.length)
    }

    fn forge(&mut self, to: usize, words: &[&str]) {
        let number = |key| words::number(words, key).unwrap_or(0);
        let body = match words.iter().skip(1).position(|word| *word == "open") {
            Some(at) => encode(&words::open(&words[at + 2..], 99)),
            _ => words::unhex(words::option(words, "hex").unwrap_or_default()),
        };
        let header = FrameHeader {
            kind: words[0].parse().unwrap_or_else(|_| words::kind(words[0]) as u8),
            flags: Flags(number("flags") as u8),
            slot: number("slot") as u16,
            channel: ChannelId(number("ch") as u32),
            sequence: number("seq") as u32,
            length: number("len") as u32,
        };
        self.deliver(to, header, &body);
    }
}
