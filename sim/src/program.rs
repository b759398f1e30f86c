//! The program above a simulated client: its calls have one array, in plain memory.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, Clock, Error, ErrorKind, Instant, Result};
use farcall_call::Connection;
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_peer::Application;
use farcall_transport_simulated::Network;
use farcall_wire::{Argument, CallResult, Hello, Keep, Open, Reply, Resume};

use crate::module;

/// Arrays up to this many bytes travel inside a message.
const INLINE_MAX: usize = 4096;

/// A call to make.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its number in the world.
    pub number: u64,
    /// Elements of its array.
    pub elements: u64,
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// Whether the server is to go on with it, and to keep its outcome for whoever asks for it by
    /// its id.
    pub keep: bool,
}

/// For how long the server keeps an outcome.
const KEPT: Duration = Duration::from_secs(60);

/// An array in memory of its own.
struct Array {
    region: Arc<dyn Region>,
    packing: Packing,
}

impl Array {
    fn new(bytes: u64) -> Result<Array> {
        let length = usize::try_from(bytes)
            .map_err(|_| Error::internal("make an array", "it is too large"))?;
        let region: Arc<dyn Region> = Arc::new(HeapRegion::new(length)?);
        Ok(Array { packing: Packing::new(region.clone(), 0, &Strided::contiguous(bytes))?, region })
    }

    fn of(content: &[u8]) -> Result<Array> {
        let array = Array::new(content.len() as u64)?;
        Space::of(&*array.region, 0, content.len())?.bytes().copy_from_slice(content);
        Ok(array)
    }
}

/// What a call's array moves through.
pub struct Transfer {
    sending: Option<Array>,
    receiving: Option<Array>,
}

impl Transfer {
    /// What is left to send.
    pub fn sending(&mut self) -> Option<&mut Packing> {
        self.sending.as_mut().map(|array| &mut array.packing)
    }

    /// What comes.
    pub fn receiving(&mut self) -> Option<&mut Packing> {
        self.receiving.as_mut().map(|array| &mut array.packing)
    }
}

/// The program of one client: all of its calls are of one routine.
pub struct Program {
    pub network: Network,
    pub routine: String,
    /// The hash of the routine's interface, once that came.
    pub contract: Option<[u8; 32]>,
}

impl Application for Program {
    type Call = Wish;
    type Transfer = Transfer;
    type Residue = ();
    type Output = ();
    type Sought = Wish;
    type Description = ();
    type Callback = ();
    type Answer = ();

    fn greeted(&mut self, _: &Hello) {}

    fn open(
        &mut self,
        call: &mut Wish,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, Transfer)> {
        let bytes = module::argument(call.number, call.elements);
        let n = i32::try_from(call.elements).expect("plans ask for small arrays");
        let is_long = bytes.len() > INLINE_MAX;
        let array = if is_long {
            Argument::Blocks(Some(bytes.len() as u64))
        } else {
            Argument::Inline(bytes[..].into())
        };
        let open = Open {
            call: id,
            routine: self.routine.clone(),
            contract: self.contract.expect("calls wait for the interface"),
            arguments: vec![Argument::Inline(n.to_ne_bytes().as_slice().into()), array],
            wanted: None,
            remaining_us: call
                .deadline
                .map(|deadline| deadline.since(self.network.now()).as_micros() as u64),
            result_credit: None,
            parent: None,
            principal: None,
            trace: None,
            attributes: call.keep.then(|| {
                let after_end_us = KEPT.as_micros() as u64;
                vec![Keep { after_end_us, durable: false }.attribute()]
            }),
        };
        let channel = connection.open(&open)?;
        let sending = is_long.then(|| Array::of(&bytes)).transpose()?;
        Ok((channel, Transfer { sending, receiving: None }))
    }

    fn routine<'a>(&self, _: &'a Wish) -> &'a str {
        "scale"
    }

    fn renewed(&mut self, _: &Wish, _: Reply) -> Result<()> {
        Err(Error::internal("make a call again", "nothing is published again in this world"))
    }

    fn answered(&mut self, _: &Wish, transfer: &mut Transfer, result: &CallResult) -> Result<()> {
        if let Some(Argument::Blocks(Some(bytes))) = result.results.get(1) {
            transfer.receiving = Some(Array::new(*bytes)?);
        }
        Ok(())
    }

    fn forget_answer(&mut self, transfer: &mut Transfer) {
        transfer.receiving = None;
    }

    fn moved_data(&self, transfer: &Transfer) -> bool {
        transfer.sending.is_some() || transfer.receiving.is_some()
    }

    fn release(&mut self, _: &mut Transfer) -> Result<()> {
        Ok(())
    }

    fn forget_memory(&mut self, _: &Transfer) {}

    /// The right result, or the failure that was reported.
    fn outcome(
        &mut self,
        _: CallId,
        call: &Wish,
        transfer: &mut Transfer,
        result: &mut CallResult,
    ) -> Result<()> {
        if let Some(failure) = result.failure.take() {
            return Err(failure.into());
        }
        let got = match (&result.results[1], transfer.receiving.take()) {
            (Argument::Inline(bytes), _) => bytes.to_vec(),
            (_, Some(Array { region, packing })) => {
                assert_eq!(packing.left(), 0, "an array is complete when its call says so");
                Block::of(&region, 0, region.bytes())?.bytes().to_vec()
            }
            (other, None) => panic!("call {} returned {other:?}", call.number),
        };
        let right = module::scale(&module::argument(call.number, call.elements));
        assert!(got == right, "call {} returned a wrong result", call.number);
        Ok(())
    }

    fn abandon(&mut self, _: Transfer) {}

    fn ends(&mut self, _: &Transfer) {}

    fn adopt(
        &mut self,
        _: CallId,
        sought: Wish,
        resume: Resume,
        _: u64,
    ) -> Result<(Wish, Transfer, ())> {
        assert_eq!(
            resume.interface.map(|interface| interface.name),
            Some(self.routine.clone()),
            "it is another call"
        );
        Ok((sought, Transfer { sending: None, receiving: None }, ()))
    }

    fn call_back(&mut self, _: &Wish, _: usize, _: &Open) -> Result<((), u64)> {
        Err(Error::new(
            ErrorKind::NotFound,
            "run a callback",
            "clients of this world pass no functions",
        ))
    }
}
