//! How a member's messages go, and its time passes.

use std::os::unix::net::UnixStream;

use farcall_base::{Error, ErrorKind, Result, printable};
use farcall_messaging_virtual::{Declared, MessageCost, VirtualMember};
use farcall_wide_engines::Destination;

use crate::given::Way;
use crate::shared::Things;

/// The ways of a run.
pub enum Driver {
    Alone,
    Virtual(VirtualMember<UnixStream>),
}

impl Driver {
    pub fn new(way: Way, message: MessageCost) -> Result<Driver> {
        match way {
            Way::Alone => Ok(Driver::Alone),
            Way::Virtual(fd) => {
                let stream = UnixStream::from(fd);
                let from =
                    stream.try_clone().map_err(|error| Error::system("join a run", error))?;
                Ok(Driver::Virtual(VirtualMember::join(from, stream, message)?))
            }
        }
    }

    /// Has what came by now arrive.
    pub fn settle(&mut self, things: &mut Things) -> Result<()> {
        match self {
            Driver::Alone => Ok(()),
            Driver::Virtual(member) => member.settle(things),
        }
    }

    pub fn send(&mut self, to: Destination, message: Vec<u8>) -> Result<()> {
        match self {
            // It would be to nobody.
            Driver::Alone => Ok(()),
            Driver::Virtual(member) => member.send(to, message),
        }
    }

    /// Waits until something arrives.
    pub fn wait(&mut self, things: &mut Things, what: &str) -> Result<()> {
        match self {
            Driver::Alone => {
                let message = "this member is alone, and waits for a message: nobody sends it";
                Err(Error::new(ErrorKind::Cancelled, "wait for members", message)
                    .with("member", format!("0 waits for {what}"))
                    .fix("start the program with more members: farcall run -n 4 PROGRAM"))
            }
            Driver::Virtual(member) => member.wait(things, what),
        }
    }

    pub fn work(&mut self, nanoseconds: u64) {
        match self {
            Driver::Alone => {}
            Driver::Virtual(member) => member.work(nanoseconds),
        }
    }

    pub fn declare(&mut self, declared: Declared) -> Result<()> {
        match self {
            Driver::Alone => Ok(()),
            Driver::Virtual(member) => member.declare(declared),
        }
    }

    pub fn answer(&mut self, text: &str) -> Result<()> {
        match self {
            Driver::Alone => {
                println!("answer: {}", printable(text));
                Ok(())
            }
            Driver::Virtual(member) => member.answer(text),
        }
    }

    pub fn end(&mut self, error: Option<String>) -> Result<()> {
        match self {
            Driver::Alone => Ok(()),
            Driver::Virtual(member) => member.end(error),
        }
    }
}
