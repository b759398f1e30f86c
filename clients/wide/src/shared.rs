//! The engines of a member's things, and messages for things that it has not made yet.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_messaging_virtual::{Arrival, Declared};
use farcall_wide_engines::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

use crate::driver::Driver;

/// Bytes of messages for things that are not made yet.
const EARLY_BYTES_MAX: usize = 1 << 30;

struct Thing {
    name: String,
    engine: Box<dyn Engine>,
}

/// All that arrives goes to these.
#[derive(Default)]
pub struct Things {
    made: BTreeMap<ThingNumber, Thing>,
    early: BTreeMap<ThingNumber, Vec<(Rank, Vec<u8>)>>,
    early_bytes: usize,
    out: Outbox,
}

impl Things {
    fn take(&mut self, from: Rank, bytes: &[u8]) -> Result<()> {
        let message = Envelope::read(bytes).map_err(|error| error.with("from member", from.0))?;
        let Some(thing) = self.made.get_mut(&message.thing) else {
            self.early_bytes += bytes.len();
            if self.early_bytes > EARLY_BYTES_MAX {
                let text = "messages came for things that this member has not made";
                return Err(Error::new(ErrorKind::LimitExceeded, "run a program", text)
                    .with("bytes at most", EARLY_BYTES_MAX)
                    .with("from member", from.0)
                    .fix("make all things at each member before others use them"));
            }
            self.early.entry(message.thing).or_default().push((from, bytes.to_vec()));
            return Ok(());
        };
        let told = |error: Error| error.with("thing", &thing.name).with("from member", from.0);
        thing.engine.take(from, message, &mut self.out).map_err(told)
    }
}

impl Arrival for Things {
    fn arrive(&mut self, from: Rank, message: &[u8]) -> Result<Vec<(Destination, Vec<u8>)>> {
        self.take(from, message)?;
        Ok(self.out.take().collect())
    }
}

struct Inside {
    driver: Driver,
    things: Things,
}

/// What all handles of a member share.
#[derive(Clone)]
pub struct Shared {
    inside: Rc<RefCell<Inside>>,
    pub rank: Rank,
    pub sites: Rc<Sites>,
    pub has_tiers: bool,
}

impl Shared {
    pub fn new(driver: Driver, rank: Rank, sites: Sites, has_tiers: bool) -> Shared {
        let inside = Inside { driver, things: Things::default() };
        let inside = Rc::new(RefCell::new(inside));
        Shared { inside, rank, sites: Rc::new(sites), has_tiers }
    }

    /// A new thing.
    pub fn make(
        &self,
        name: &str,
        description: String,
        engine: Box<dyn Engine>,
    ) -> Result<ThingNumber> {
        let mut inside = self.inside.borrow_mut();
        let Inside { driver, things } = &mut *inside;
        let number = ThingNumber::of(name);
        match things.made.entry(number) {
            Entry::Occupied(other) => {
                return Err(wrong("there is a thing of this name", name)
                    .with("made as", &other.get().name)
                    .fix("give each thing of a program a name of its own"));
            }
            Entry::Vacant(free) => {
                free.insert(Thing { name: name.to_owned(), engine });
            }
        }
        driver.declare(Declared { number, name: name.to_owned(), description })?;
        for (from, message) in things.early.remove(&number).unwrap_or_default() {
            things.early_bytes -= message.len();
            things.take(from, &message)?;
        }
        send_all(driver, things)?;
        Ok(number)
    }

    /// Does something with an engine, and sends what it wants to be sent.
    pub fn act<E: Engine, T>(
        &self,
        number: ThingNumber,
        act: impl FnOnce(&mut E, &mut Outbox) -> Result<T>,
    ) -> Result<T> {
        let mut inside = self.inside.borrow_mut();
        let Inside { driver, things } = &mut *inside;
        driver.settle(things)?;
        let (engine, out) = engine(things, number)?;
        let done = act(engine, out)?;
        send_all(driver, things)?;
        Ok(done)
    }

    /// Waits until an engine gives something; `what` says for what, to people.
    pub fn wait<E: Engine, T>(
        &self,
        number: ThingNumber,
        what: impl Fn(&E) -> String,
        mut take: impl FnMut(&mut E, &mut Outbox) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut inside = self.inside.borrow_mut();
        let Inside { driver, things } = &mut *inside;
        driver.settle(things)?;
        loop {
            let (engine, out) = engine(things, number)?;
            let taken = take(engine, out)?;
            let shown = if taken.is_none() { what(engine) } else { String::new() };
            send_all(driver, things)?;
            match taken {
                Some(taken) => return Ok(taken),
                None => driver.wait(things, &shown)?,
            }
        }
    }

    /// Time passes.
    pub fn work(&self, nanoseconds: u64) {
        self.inside.borrow_mut().driver.work(nanoseconds);
    }

    pub fn answer(&self, text: &str) -> Result<()> {
        self.inside.borrow_mut().driver.answer(text)
    }

    pub fn end(&self, error: Option<String>) -> Result<()> {
        self.inside.borrow_mut().driver.end(error)
    }
}

fn engine<E: Engine>(things: &mut Things, number: ThingNumber) -> Result<(&mut E, &mut Outbox)> {
    let thing = things.made.get_mut(&number).map(|thing| thing.engine.as_mut() as &mut dyn Any);
    let engine = thing.and_then(|engine| engine.downcast_mut());
    let engine = engine.ok_or_else(|| Error::internal("use a thing", "it is another one"))?;
    Ok((engine, &mut things.out))
}

fn send_all(driver: &mut Driver, things: &mut Things) -> Result<()> {
    let all: Vec<_> = things.out.take().collect();
    for (to, message) in all {
        driver.settle(things)?;
        driver.send(to, message)?;
    }
    // What arrived meanwhile has its own to send: that went with it.
    Ok(())
}

pub fn wrong(message: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "make a thing", message).with("thing", name)
}
