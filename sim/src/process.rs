//! A simulated executable: the shipped wire, a routine in Rust, and whatever the plan lets happen
//! to it.

use farcall_base::{CallId, ChannelId, Result};
use farcall_call::Event;
use farcall_link::stream::ByteStream;
use farcall_wire::{Argument, CallResult, CallTimes, Open, Reply, Request, Role};

use crate::end::End;
use crate::module;

/// What a process tells the world.
pub enum News {
    /// It was told to load its module: it may crash over that.
    Loads,
    /// A call has all its arguments: its routine begins.
    Begins(CallId),
}

/// An executable's process.
pub struct Process {
    end: End,
    load: Option<ChannelId>,
    call: Option<(ChannelId, Open)>,
    begun: bool,
}

impl Process {
    pub fn new(stream: Box<dyn ByteStream>, queue_bytes: usize) -> Process {
        Process {
            end: End::new(stream, Role::Executable, queue_bytes),
            load: None,
            call: None,
            begun: false,
        }
    }

    /// The call that it may still write results of.
    pub fn running(&self) -> Option<CallId> {
        self.call.as_ref().map(|(_, open)| open.call)
    }

    /// Lets its connection do what it can.
    ///
    /// # Errors
    /// The server is gone.
    pub fn work(&mut self, news: &mut Vec<News>) -> Result<bool> {
        let moved = self.end.work()?;
        while let Some(event) = self.end.next_event() {
            match event {
                Event::Ready(_) => {}
                Event::Requested(channel, Request::Load(_)) => {
                    self.load = Some(channel);
                    news.push(News::Loads);
                }
                Event::Opened(channel, open) => {
                    assert!(self.call.is_none(), "one call at a time");
                    let bytes = |argument: &Argument| {
                        if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 }
                    };
                    self.end.connection().grant(channel, open.arguments.iter().map(bytes).sum());
                    (self.call, self.begun) = (Some((channel, *open)), false);
                }
                Event::ArgumentsComplete(_) => {
                    self.begun = true;
                    news.extend(self.running().map(News::Begins));
                }
                Event::Left(_) => {}
                other => panic!("an executable does not expect {other:?}"),
            }
        }
        Ok(moved)
    }

    /// The module is loaded.
    pub fn loaded(&mut self) {
        if let Some(channel) = self.load.take() {
            self.end.connection().reply(channel, &Reply::Done);
        }
    }

    /// The routine of this call returns.
    ///
    /// # Errors
    /// None in a world without bugs.
    pub fn returns(&mut self, call: CallId) -> Result<()> {
        if self.running() != Some(call) || !self.begun {
            return Ok(());
        }
        let Some((channel, open)) = self.call.take() else { return Ok(()) };
        let argument = self.end.taken(channel, 1, &open.arguments[1])?;
        self.end.forget(channel);
        let results = module::scale(&argument);
        let result = End::offer(&results);
        self.end.lend(channel, 1, &results)?;
        let answer = CallResult {
            failure: None,
            results: vec![Argument::Absent, result],
            times: CallTimes::default(),
            attributes: None,
        };
        self.end.connection().respond(channel, &answer);
        Ok(())
    }
}
