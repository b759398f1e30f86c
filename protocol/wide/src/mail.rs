//! Messages that the program itself sends (spec/wide-area.md, section 4).

use std::collections::VecDeque;

use farcall_base::{Error, Result};

use crate::bytes::malformed;
use crate::{Destination, Engine, Envelope, Outbox, Rank, ThingNumber};

/// A message of the program.
const SENT: u8 = 0;

/// Which messages are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// From this member only.
    pub from: Option<Rank>,
    /// With this tag only.
    pub tag: Option<u64>,
}

impl Wanted {
    fn fits(&self, from: Rank, tag: u64) -> bool {
        self.from.is_none_or(|wanted| wanted == from) && self.tag.is_none_or(|wanted| wanted == tag)
    }
}

/// Messages that came, and were not received yet.
#[derive(Debug)]
pub struct Mail {
    thing: ThingNumber,
    came: VecDeque<(Rank, u64, Vec<u8>)>,
}

impl Mail {
    /// That of a thing.
    pub fn new(thing: ThingNumber) -> Mail {
        Mail { thing, came: VecDeque::new() }
    }

    /// Sends bytes with a tag.
    pub fn send(&mut self, to: Destination, tag: u64, bytes: &[u8], out: &mut Outbox) {
        out.send(to, Envelope::write(self.thing, SENT, &[tag], bytes));
    }

    /// What a member sends to itself.
    pub fn keep(&mut self, own: Rank, tag: u64, bytes: Vec<u8>) {
        self.came.push_back((own, tag, bytes));
    }

    /// Takes the oldest one that is wanted.
    pub fn receive(&mut self, wanted: Wanted) -> Option<(Rank, u64, Vec<u8>)> {
        let index = self.came.iter().position(|(from, tag, _)| wanted.fits(*from, *tag))?;
        self.came.remove(index)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.came.len()
    }
}

impl Engine for Mail {
    fn take(&mut self, from: Rank, message: Envelope<'_>, _: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        if kind != SENT {
            return Err(unknown(kind));
        }
        let tag = content.number()?;
        self.came.push_back((from, tag, content.rest().to_vec()));
        Ok(())
    }
}

pub(crate) fn unknown(kind: u8) -> Error {
    malformed("this thing has no messages of that kind").with("kind", kind)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_fits_is_received() {
        let number = ThingNumber::of("mail");
        let mut mail = Mail::new(number);
        let mut out = Outbox::new();
        for (from, tag) in [(1, 5), (2, 5), (1, 6)] {
            let bytes = Envelope::write(number, SENT, &[tag], &[from as u8]);
            mail.take(Rank(from), Envelope::read(&bytes).unwrap(), &mut out).unwrap();
        }
        let from_two = Wanted { from: Some(Rank(2)), tag: None };
        assert_eq!(mail.receive(from_two), Some((Rank(2), 5, vec![2])));
        assert_eq!(mail.receive(from_two), None);
        let of_six = Wanted { from: None, tag: Some(6) };
        assert_eq!(mail.receive(of_six), Some((Rank(1), 6, vec![1])));
        assert_eq!(mail.receive(Wanted::default()), Some((Rank(1), 5, vec![1])));
        assert_eq!((mail.waiting(), out.is_empty()), (0, true));
    }
}
