//! Messages of the program.

use farcall_base::{Error, ErrorKind, Result};
use farcall_wide_engines::{
    self as engines, Destination, MESSAGE_BYTES_MAX, Rank, ThingNumber, Wanted,
};

use crate::shared::Shared;

/// For messages of any member, or with any tag.
pub const ANY: Option<u32> = None;

/// Messages between members, with tags: a program moves here line by line.
pub struct Mail {
    shared: Shared,
    number: ThingNumber,
    name: String,
}

/// A message that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its sender's rank.
    pub from: u32,
    /// Its tag.
    pub tag: u32,
    /// What was sent.
    pub bytes: Vec<u8>,
}

impl Mail {
    pub(crate) fn make(shared: &Shared, name: &str) -> Result<Mail> {
        let engine = Box::new(engines::Mail::new(ThingNumber::of(name)));
        let number = shared.make(name, "messages".into(), engine)?;
        Ok(Mail { shared: shared.clone(), number, name: name.to_owned() })
    }

    /// Sends bytes to a member, maybe itself; goes on at once.
    ///
    /// # Errors
    /// `InvalidArgument` for a member that is not there, `LimitExceeded` for more than a GiB; what ends
    /// the run.
    pub fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<()> {
        if to >= self.shared.sites.members() {
            return Err(self
                .wrong(ErrorKind::InvalidArgument, "there is no such member")
                .with("to", to)
                .with("members", self.shared.sites.members()));
        }
        if bytes.len() > MESSAGE_BYTES_MAX - 64 {
            return Err(self
                .wrong(ErrorKind::LimitExceeded, "a message has at most 1 GiB")
                .with("bytes", bytes.len())
                .fix("send it in parts"));
        }
        let own = self.shared.rank;
        self.shared.act(self.number, |mail: &mut engines::Mail, out| {
            match Rank(to) == own {
                true => mail.keep(own, u64::from(tag), bytes.to_vec()),
                false => mail.send(Destination::Member(Rank(to)), u64::from(tag), bytes, out),
            }
            Ok(())
        })
    }

    /// Waits for the oldest message of a member, or of any, with a tag, or any.
    ///
    /// # Errors
    /// What ends the run, also that nobody can send it any more.
    pub fn receive(&self, from: Option<u32>, tag: Option<u32>) -> Result<Received> {
        let wanted = Wanted { from: from.map(Rank), tag: tag.map(u64::from) };
        let shown = |value: Option<u32>| value.map_or("any".into(), |value| value.to_string());
        let what =
            format!("{}: a message of member {}, tag {}", self.name, shown(from), shown(tag));
        self.shared.wait(
            self.number,
            |_: &engines::Mail| what.clone(),
            |mail, _| {
                let received = mail.receive(wanted);
                Ok(received.map(|(from, tag, bytes)| Received {
                    from: from.0,
                    tag: tag as u32,
                    bytes,
                }))
            },
        )
    }

    fn wrong(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, "send a message", message).with("thing", &self.name)
    }
}
