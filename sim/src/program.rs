//! The program above a simulated client: its calls have one array, in plain memory, and its
//! functions do with an array what the routines do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, Clock, Error, ErrorKind, Instant, ObjectId, Result};
use farcall_call::Connection;
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_peer::{Application, Reached};
use farcall_transport_simulated::Network;
use farcall_wire::{
    Argument, Attribute, CallResult, CallTimes, Failure, Hello, Keep, NOTICES, ON, Open, Reply,
    Resume, grant_attribute, wants,
};

use crate::module::{self, FUNCTION, Routine};

/// Arrays up to this many bytes travel inside a message.
const INLINE_MAX: usize = 4096;

/// A call to make.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its number in the world.
    pub number: u64,
    /// What is called.
    pub target: Target,
    /// Its full name.
    pub routine: String,
    /// Elements of its array.
    pub elements: u64,
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// Whether the server is to go on with it, and to keep its outcome for whoever asks for it by
    /// its id.
    pub keep: bool,
    /// Whether the client wants to see what the routine prints.
    pub shows_output: bool,
    /// The grant by which a metaserver placed it; 0: none.
    pub grant: u64,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// [`Routine::Scale`].
    Scale,
    /// [`Routine::Apply`], which calls the function so often.
    Apply(u64),
    /// [`Routine::Add`] on this object.
    Add(ObjectId),
    /// [`Routine::Again`].
    Again,
}

impl Target {
    /// The routine.
    pub fn routine(self) -> Routine {
        match self {
            Target::Scale => Routine::Scale,
            Target::Apply(_) => Routine::Apply,
            Target::Add(_) => Routine::Add,
            Target::Again => Routine::Again,
        }
    }
}

impl Wish {
    /// The array that a right call returns.
    fn right(&self) -> Vec<u8> {
        let times = if let Target::Apply(times) = self.target { times } else { 1 };
        (0..times).fold(module::argument(self.number, self.elements), |x, _| module::scale(&x))
    }

    fn attributes(&self) -> Option<Vec<Attribute>> {
        let kept = || Keep { after_end_us: KEPT.as_micros() as u64, durable: false }.attribute();
        let noticed = || Attribute {
            name: NOTICES.to_owned(),
            critical: false,
            value: vec![wants::OUTPUT | wants::PROGRESS],
        };
        let on =
            |id: ObjectId| Attribute { name: ON.to_owned(), critical: true, value: id.0.to_vec() };
        let object = if let Target::Add(id) = self.target { Some(on(id)) } else { None };
        let grant = (self.grant != 0).then(|| grant_attribute(self.grant));
        let all = [self.keep.then(kept), self.shows_output.then(noticed), object, grant];
        let all: Vec<Attribute> = all.into_iter().flatten().collect();
        (!all.is_empty()).then_some(all)
    }
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

/// An array that travels: inside the message if it is short.
fn travelling(bytes: &[u8]) -> Result<(Argument, Option<Array>)> {
    if bytes.len() <= INLINE_MAX {
        return Ok((Argument::Inline(bytes.into()), None));
    }
    Ok((Argument::Blocks(Some(bytes.len() as u64)), Some(Array::of(bytes)?)))
}

/// An array that came.
fn content(argument: &Argument, array: Option<Array>) -> Result<Vec<u8>> {
    match (argument, array) {
        (Argument::Inline(bytes), _) => Ok(bytes.to_vec()),
        (_, Some(Array { region, packing })) => {
            assert_eq!(packing.left(), 0, "an array is complete when its call says so");
            Ok(Block::of(&region, 0, region.bytes())?.bytes().to_vec())
        }
        (other, None) => panic!("an array came as {other:?}"),
    }
}

fn integer(argument: &Argument) -> i32 {
    let Argument::Inline(bytes) = argument else { panic!("a number came as {argument:?}") };
    i32::from_ne_bytes(bytes.as_slice().try_into().expect("it has four bytes"))
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

/// A call of the client's function.
pub struct Function {
    /// The call whose routine calls it.
    pub number: u64,
    /// How often the routine has called it before.
    pub index: u64,
    argument: Argument,
    array: Option<Array>,
}

impl Function {
    /// What comes.
    pub fn receiving(&mut self) -> Option<&mut Packing> {
        self.array.as_mut().map(|array| &mut array.packing)
    }

    /// The function runs: its answer, with the array that does not fit inside that.
    ///
    /// # Errors
    /// None in a world without bugs.
    pub fn run(&mut self, failure: Option<Failure>) -> Result<(CallResult, Option<Answer>)> {
        let bytes = content(&self.argument, self.array.take())?;
        let times = CallTimes::default();
        if failure.is_some() {
            return Ok((
                CallResult { failure, results: Vec::new(), times, attributes: None },
                None,
            ));
        }
        let (result, array) = travelling(&module::scale(&bytes))?;
        let results = vec![Argument::Absent, Argument::Absent, result];
        Ok((CallResult { failure, results, times, attributes: None }, array.map(Answer)))
    }
}

/// The array of a function's answer.
pub struct Answer(Array);

impl Answer {
    /// What is left to send.
    pub fn sending(&mut self) -> &mut Packing {
        &mut self.0.packing
    }
}

/// The program of one client: all of its calls are of one module.
pub struct Program {
    pub network: Network,
    pub module: usize,
    /// The hashes of the routines' interfaces, once they came.
    pub contracts: BTreeMap<Routine, [u8; 32]>,
    /// Calls that were opened since somebody looked, and their numbers.
    pub opened: Vec<(CallId, u64)>,
    /// How far calls came that have failed, until their outcome is taken.
    pub reached: BTreeMap<u64, Reached>,
}

impl Application for Program {
    type Call = Wish;
    type Transfer = Transfer;
    type Residue = ();
    /// Of a call on an object: how many it had, with this one.
    type Output = Option<u64>;
    type Sought = Wish;
    type Description = ();
    type Callback = Function;
    type Answer = Answer;

    fn greeted(&mut self, _: &Hello) {}

    fn open(
        &mut self,
        call: &mut Wish,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, Transfer)> {
        let n = i32::try_from(call.elements).expect("plans ask for small arrays");
        let (array, sending) = travelling(&module::argument(call.number, call.elements))?;
        let routine = call.target.routine();
        let mut arguments = vec![Argument::Inline(n.to_ne_bytes().as_slice().into()), array];
        // The function stays here, and the number of calls comes back alone.
        let has_more = matches!(routine, Routine::Apply | Routine::Add);
        arguments.extend(has_more.then_some(Argument::Absent));
        let open = Open {
            remaining_us: call
                .deadline
                .map(|deadline| deadline.since(self.network.now()).as_micros() as u64),
            attributes: call.attributes(),
            ..Open::new(
                id,
                call.routine.clone(),
                *self.contracts.get(&routine).expect("calls wait for the interface"),
                arguments,
            )
        };
        let channel = connection.open(&open)?;
        self.opened.push((id, call.number));
        Ok((channel, Transfer { sending, receiving: None }))
    }

    fn routine<'a>(&self, call: &'a Wish) -> &'a str {
        &call.routine
    }

    /// A server that was started again wants its interfaces fetched first: they are the same.
    fn renewed(&mut self, call: &Wish, reply: Reply) -> Result<()> {
        let known = self.contracts.get(&call.target.routine()).copied();
        let Reply::Interface(interface) = reply else {
            panic!("a question for an interface was answered by {reply:?}")
        };
        assert_eq!(Some(interface.contract), known, "nothing else is published in this world");
        Ok(())
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
    ) -> Result<Option<u64>> {
        if let Some(failure) = result.failure.take() {
            return Err(failure.into());
        }
        let got = content(&result.results[1], transfer.receiving.take())?;
        assert!(got == call.right(), "call {} returned a wrong result", call.number);
        let is_on_object = matches!(call.target, Target::Add(_));
        Ok(is_on_object.then(|| integer(&result.results[2]) as u64))
    }

    fn failed(&mut self, number: u64, _: Wish, _: Option<&Transfer>, reached: Reached) {
        self.reached.insert(number, reached);
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
            Some(sought.routine.clone()),
            "it is another call"
        );
        Ok((sought, Transfer { sending: None, receiving: None }, ()))
    }

    fn call_back(&mut self, call: &Wish, slot: usize, open: &Open) -> Result<(Function, u64)> {
        if slot != usize::from(FUNCTION) || !matches!(call.target, Target::Apply(_)) {
            let message = "no function was passed for this parameter";
            return Err(Error::new(ErrorKind::NotFound, "run a callback", message));
        }
        let argument = open.arguments[usize::from(FUNCTION)].clone();
        let bytes = if let Argument::Blocks(Some(bytes)) = argument { bytes } else { 0 };
        let array = (bytes > 0).then(|| Array::new(bytes)).transpose()?;
        let index = integer(&open.arguments[0]) as u64;
        Ok((Function { number: call.number, index, argument, array }, bytes))
    }
}
