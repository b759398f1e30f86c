//! A thin simulated client: asks for the interface, opens its calls, and knows what each must return.

use std::collections::BTreeMap;

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Random, Result, SeededRandom};
use farcall_call::Event;
use farcall_interfaces::stream::ByteStream;
use farcall_wire::{Argument, CallResult, Open, Reply, Request, Role};

use crate::end::End;
use crate::module;

/// A call to make.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its number in the world.
    pub number: u64,
    /// Elements of its array.
    pub elements: u64,
    /// Time it has.
    pub remaining_us: Option<u64>,
}

struct Flight {
    wish: Wish,
    result: Option<Box<CallResult>>,
}

/// How a call ended: its number, and the kind of its failure if it failed.
pub type Outcome = (u64, Option<ErrorKind>);

/// A client.
pub struct Client {
    end: Option<End>,
    routine: String,
    contract: Option<[u8; 32]>,
    random: SeededRandom,
    /// Calls that wait for the interface.
    wishes: Vec<Wish>,
    flights: BTreeMap<ChannelId, Flight>,
    /// It stands still: nothing is sent, nothing is taken.
    pub is_paused: bool,
    /// Calls that ended since somebody looked.
    pub outcomes: Vec<Outcome>,
}

impl Client {
    pub fn new(stream: Box<dyn ByteStream>, module: usize, queue_bytes: usize, seed: u64) -> Client {
        Client {
            end: Some(End::new(stream, Role::Client, queue_bytes)),
            routine: format!("{}/scale", module::name(module)),
            contract: None,
            random: SeededRandom::new(seed),
            wishes: Vec::new(),
            flights: BTreeMap::new(),
            is_paused: false,
            outcomes: Vec::new(),
        }
    }

    /// Makes a call, now or when the interface is there.
    pub fn wish(&mut self, wish: Wish) {
        match (&self.end, self.contract) {
            (None, _) => self.outcomes.push((wish.number, Some(ErrorKind::ConnectionLost))),
            (Some(_), None) => self.wishes.push(wish),
            (Some(_), Some(contract)) => {
                let number = wish.number;
                if let Err(error) = self.open(wish, contract) {
                    self.outcomes.push((number, Some(error.kind())));
                }
            }
        }
    }

    fn open(&mut self, wish: Wish, contract: [u8; 32]) -> Result<()> {
        let bytes = module::argument(wish.number, wish.elements);
        let n = i32::try_from(wish.elements).expect("plans ask for small arrays");
        let open = Open {
            call: CallId(self.random.bytes16()),
            routine: self.routine.clone(),
            contract,
            arguments: vec![Argument::Inline(n.to_ne_bytes().as_slice().into()), End::offer(&bytes)],
            wanted: None,
            remaining_us: wish.remaining_us,
            result_credit: None,
            parent: None,
            principal: None,
            trace: None,
            attributes: None,
        };
        let Some(end) = &mut self.end else { return Ok(()) };
        let channel = end.connection().open(&open)?;
        end.lend(channel, 1, &bytes)?;
        self.flights.insert(channel, Flight { wish, result: None });
        Ok(())
    }

    /// Cancels a call if it is under way.
    pub fn cancel(&mut self, number: u64) {
        let channel = self.flights.iter().find(|(_, flight)| flight.wish.number == number).map(|(channel, _)| *channel);
        if let (Some(channel), Some(end)) = (channel, &mut self.end) {
            end.connection().cancel(channel);
        }
    }

    /// The connection is gone, or the client ends: so do its calls.
    pub fn leave(&mut self) {
        self.end = None;
        let flights = std::mem::take(&mut self.flights).into_values().map(|flight| flight.wish.number);
        let wishes = std::mem::take(&mut self.wishes).into_iter().map(|wish| wish.number);
        self.outcomes.extend(flights.chain(wishes).map(|number| (number, Some(ErrorKind::ConnectionLost))));
    }

    /// Lets its connection do what it can; whether anything moved.
    pub fn work(&mut self) -> bool {
        let Some(end) = self.end.as_mut().filter(|_| !self.is_paused) else { return false };
        let worked = end.work();
        let mut events = Vec::new();
        while let Some(event) = end.next_event() {
            events.push(event);
        }
        events.into_iter().for_each(|event| self.on_event(event));
        match worked {
            Ok(moved) => moved,
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                self.leave();
                true
            }
            Err(error) => panic!("the server breaks no rule: {error}"),
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Ready(_) => {
                let question = Request::Interface(self.routine.clone());
                let asked = self.end.as_mut().map(|end| end.connection().request(&question));
                asked.expect("it is connected").expect("a fresh connection has room");
            }
            Event::Replied(_, Reply::Interface(interface)) => {
                self.contract = Some(interface.contract);
                std::mem::take(&mut self.wishes).into_iter().for_each(|wish| self.wish(wish));
            }
            Event::Resulted(channel, result) => {
                let flight = self.flights.get_mut(&channel).expect("results come for open calls");
                assert!(flight.result.replace(result).is_none(), "a call has one result");
            }
            Event::Finished(channel) => {
                let flight = self.flights.remove(&channel).expect("a call ends once");
                let outcome = self.judge(channel, &flight).err().map(|error| error.kind());
                self.outcomes.push((flight.wish.number, outcome));
            }
            Event::Left(_) => {}
            other => panic!("a client does not expect {other:?}"),
        }
    }

    /// The right result, or the failure that was reported.
    fn judge(&mut self, channel: ChannelId, flight: &Flight) -> Result<()> {
        let end = self.end.as_mut().expect("it is connected");
        let result = flight.result.as_ref().expect("a call ends after its result");
        let outcome = match &result.failure {
            Some(failure) => Err(Error::from(failure.clone())),
            None => {
                let got = end.taken(channel, 1, &result.results[1])?;
                let right = module::scale(&module::argument(flight.wish.number, flight.wish.elements));
                assert!(got == right, "call {} returned a wrong result", flight.wish.number);
                Ok(())
            }
        };
        end.forget(channel);
        outcome
    }
}
