//! A caller and a server, and the events of the scripts.
//!
//! ```text
//! connect [keeps-nothing] [another-run] [other-byte-order]   a fresh caller and a server greet each other
//! call N NAME [bytes=B] [keep] [functions]    seek N ID       ask NAME
//! cancel N    abandon N    detach N    run N                  run: the next function that waits for call N
//! server WORDS…                                               what the server says: server.rs
//! hold                                                        nothing is exchanged until the next `cut` or `release`
//! cut sent|unsent                                             the connection is lost: all frames have left, or none
//! back [another-run]                                          there is another connection, greeted
//! gone                                                        there is none any more
//! silence SECONDS [moved=B] [in-transit=B]                    what the heartbeat does, so long after it began
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind, Instant, Result};
use farcall_call::{Connection, Setup, Transmit};
use farcall_peer::heartbeat::{Heartbeat, Pulse};
use farcall_peer::{Audience, Caller, Greeting, Terms};
use farcall_wire::{CALLBACKS, CallResult, CallTimes, RESUME, Request, Role};

use crate::program::{Call, Program};
use crate::server::{Server, hello};

const PATIENCE: Duration = Duration::from_secs(3600);

/// One script's state.
pub struct Conversation {
    caller: Caller<Program>,
    server: Server,
    heart: Heartbeat,
    holds: bool,
    question: Option<u64>,
    /// Calls that were asked for by their ids, until what they call was told.
    sought: BTreeSet<u64>,
    said: Vec<String>,
}

fn number(word: &str) -> u64 {
    word.parse().unwrap()
}

fn option(words: &[&str], name: &str) -> Option<u64> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).map(number)
}

fn caller() -> Caller<Program> {
    let hello = hello(Role::Client, "a client", &[CALLBACKS, RESUME]);
    let connection = Connection::new(Setup { hello, initiator: true, token: None });
    Caller::new(farcall_peer::Setup { connection, seed: 1, resumes: true }, Program::default())
}

const NOW: Instant = Instant(0);

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        NOW
    }
}

impl Conversation {
    fn act(&mut self, words: &[&str]) -> Result<()> {
        match words {
            ["connect", words @ ..] => {
                (self.caller, self.server, self.holds) = (caller(), Server::new(words), false);
            }
            ["call", index, name, words @ ..] => {
                let keep = words.contains(&"keep");
                let call = Call {
                    name: (*name).to_owned(),
                    bytes: option(words, "bytes").unwrap_or(0),
                    keep,
                };
                let passes_functions = words.contains(&"functions");
                let is_idempotent = words.contains(&"idempotent");
                let terms = Terms {
                    announced: Audience::EVERYBODY,
                    has_news: true,
                    passes_functions,
                    is_idempotent,
                };
                let id = keep.then_some(CallId([7; 16]));
                self.caller.open(number(index), call, id, terms)?;
            }
            ["seek", index, id] => {
                let terms = Terms::announced();
                self.sought.insert(number(index));
                self.caller.seek(number(index), CallId([number(id) as u8; 16]), terms, ())?;
            }
            ["ask", name] => {
                let asked =
                    self.caller.ask(&Request::Interface((*name).to_owned()), PATIENCE, NOW)?;
                self.question = Some(asked.0);
            }
            ["cancel", index] => self.caller.cancel(number(index)),
            ["abandon", index] => self.caller.abandon(number(index)),
            ["detach", index] => self.caller.detach(number(index)),
            ["run", index] => self.run(number(index)),
            ["server", words @ ..] => self.server.say(words),
            ["hold"] => self.holds = true,
            ["release"] => self.holds = false,
            ["cut", how] => self.cut(*how == "sent"),
            ["back", words @ ..] => self.come_back(words)?,
            ["gone"] => self
                .caller
                .end_all(|| Error::new(ErrorKind::ConnectionLost, "connect", "the server is gone")),
            ["silence", seconds, words @ ..] => self.look(number(seconds), words),
            _ => panic!("no event: {words:?}"),
        }
        Ok(())
    }

    fn run(&mut self, index: u64) {
        let Some(run) = self.caller.next_callback(index) else {
            return self.said.push("no function waits".to_owned());
        };
        self.said.push(format!("{} runs", run.callback));
        let result = CallResult {
            failure: None,
            results: Vec::new(),
            times: CallTimes::default(),
            attributes: None,
        };
        self.caller.answer_callback(&run, &result, None, (Duration::ZERO, NOW));
    }

    fn cut(&mut self, all_left: bool) {
        let made_before = self.caller.bytes_made();
        if all_left {
            while let Some(transmit) = self.caller.poll_transmit(u32::MAX) {
                self.made(&transmit);
            }
        }
        let sent = if all_left { self.caller.bytes_made() } else { made_before };
        if !self.caller.may_return() {
            self.said.push("the server keeps no calls".to_owned());
        }
        self.caller.part(sent, NOW);
        self.holds = true;
    }

    fn come_back(&mut self, words: &[&str]) -> Result<()> {
        self.server = Server::new(words).remembering(&self.server);
        let mut greeting =
            Greeting::new(hello(Role::Client, "a client again", &[CALLBACKS, RESUME]));
        while let Some(transmit) = greeting.poll_transmit() {
            self.said.extend(
                self.server.take(&transmit).into_iter().map(|line| format!("server: {line}")),
            );
        }
        while let Some(Transmit::Control { mut header, body, .. }) =
            self.server.connection.poll_transmit()
        {
            header.length = body.len() as u32;
            greeting.handle_control(&header, &body)?;
        }
        assert!(greeting.is_ready());
        self.caller.come_back(greeting.end(), NOW);
        self.holds = false;
        Ok(())
    }

    fn look(&mut self, seconds: u64, words: &[&str]) {
        let moved = option(words, "moved").unwrap_or(0);
        let now = Instant(seconds * 1_000_000_000);
        if let Some(in_transit) = option(words, "in-transit") {
            self.heart.delivering(in_transit, now);
        }
        let pulse = self.heart.look(moved, now);
        self.said.push(match pulse {
            Pulse::Wait(time) => format!("wait {time:?}"),
            Pulse::Ask => {
                self.heart.asked(moved, option(words, "in-transit").unwrap_or(0), now);
                "ask for a sign of life".to_owned()
            }
            Pulse::Gone => format!("give it up: {}", self.heart.silence()),
        });
    }

    fn made(&mut self, transmit: &Transmit) {
        let (bytes, sends) = match transmit {
            Transmit::Control { body, .. } => (24 + body.len(), None),
            Transmit::Data { header, place } => (24 + header.length as usize, Some(place.channel)),
        };
        self.caller.frame_made(bytes as u64, sends);
    }

    /// Frames go over in both directions until there are none.
    fn exchange(&mut self) -> Result<()> {
        loop {
            let mut moved = false;
            while let Some(transmit) = self.caller.poll_transmit(u32::MAX) {
                moved = true;
                self.made(&transmit);
                self.said.extend(
                    self.server.take(&transmit).into_iter().map(|line| format!("server: {line}")),
                );
            }
            while let Some(transmit) = self.server.connection.poll_transmit() {
                moved = true;
                let Transmit::Control { mut header, body, .. } = transmit else {
                    panic!("servers of scripts send no data")
                };
                header.length = body.len() as u32;
                self.caller.handle_control(&header, &body, &Still)?;
            }
            if !moved {
                return Ok(());
            }
        }
    }

    fn collect(&mut self) {
        self.said.append(&mut self.caller.application_mut().said);
        if let Some(answer) = self.question.and_then(|question| self.caller.take_answer(question)) {
            self.question = None;
            self.said.push(format!("answer: {answer:?}"));
        }
        while let Some(index) = self.caller.next_announced(Audience::EVERYBODY) {
            if self.sought.remove(&index)
                && let Some(found) = self.caller.found(index)
            {
                self.said.push(match found {
                    Ok(name) => format!("call {index} is {name}"),
                    Err(error) => format!("call {index} is not found: {error}"),
                });
            }
            while let Some(news) = self.caller.take_news(index) {
                self.said.push(format!("call {index}: {news:?}"));
            }
            match self.caller.take_finished(index) {
                Some(Ok(())) => self.said.push(format!("call {index} returned")),
                Some(Err(error)) => self.said.push(format!("call {index} failed: {error}")),
                None => {}
            }
        }
    }
}

impl farcall_golden::Conversation for Conversation {
    const MARK: &'static str = "  ";

    fn begin(_: &str) -> Conversation {
        let heart = Heartbeat::new(None).unwrap();
        Conversation {
            caller: caller(),
            server: Server::new(&[]),
            heart,
            holds: true,
            question: None,
            sought: BTreeSet::new(),
            said: Vec::new(),
        }
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let words: Vec<&str> = event.split_whitespace().collect();
        let done =
            self.act(&words).and_then(|()| if self.holds { Ok(()) } else { self.exchange() });
        if let Err(error) = done {
            self.said.push(format!("error: {error}"));
        }
        self.collect();
        std::mem::take(&mut self.said)
    }
}
