//! Random transactions whose right results are known: each value is a word that follows from the
//! words it was made of.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use farcall_base::{DataId, Random, SeededRandom, TransactionId};
use farcall_graph::{Argument, CallMessage, Input, Message, RoutineName, WantedResult};
use farcall_idl::data::DataKind;
use farcall_idl::encode::{contract_hash, encode_interface};
use farcall_idl::interface::Interface;
use farcall_link::line::FetchedData;
use farcall_wire::InterfaceReply;

pub const ID: TransactionId = TransactionId([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6]);
pub const ARRAY: &str = "data:double:1:row";
/// Elements of each array.
const ELEMENTS: u64 = 2;
const IDL: &str = "Module sim;
Define mix(IN int n, IN double a[n], IN double b[n], OUT double c[n]) Idempotent { }
Define mix_once(IN int n, IN double a[n], IN double b[n], OUT double c[n]) { }
Define sum(IN int n, IN double a[n], OUT double s) Idempotent { }
Define grow(IN int n, IN double s, OUT double c[n]) Idempotent { }
";
const ROUTINES: [&str; 4] = ["sim/mix", "sim/mix_once", "sim/sum", "sim/grow"];
const MIX: u32 = 0;
const MIX_ONCE: u32 = 1;
const SUM: u32 = 2;
const GROW: u32 = 3;

/// A value that lies at a server or travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub kind: String,
    pub extents: Vec<u64>,
    pub elements: Vec<u8>,
}

impl Value {
    /// An array that begins with a word.
    pub fn array(word: u64, extent: u64) -> Value {
        let elements = (0..extent).flat_map(|at| word.wrapping_add(at).to_ne_bytes());
        Value { kind: ARRAY.to_owned(), extents: vec![extent], elements: elements.collect() }
    }

    /// The word that it stands for.
    pub fn word(&self) -> u64 {
        word_of(&self.elements)
    }

    /// As a connection delivers it.
    pub fn fetched(&self) -> FetchedData {
        let kind = DataKind::of_routine(&self.kind).unwrap();
        FetchedData::of(kind, &self.extents, &self.elements).unwrap()
    }
}

/// The word that some bytes begin with.
pub fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let size = bytes.len().min(8);
    word[..size].copy_from_slice(&bytes[..size]);
    u64::from_ne_bytes(word)
}

/// What a routine makes of these words: an array, or a number of eight bytes.
pub fn made(routine: &str, words: &[u64]) -> Value {
    let name = routine.trim_end_matches("_once");
    let seed = words
        .iter()
        .chain(&[name.len() as u64])
        .fold(7, |all: u64, word| SeededRandom::new(all.rotate_left(9) ^ word).next());
    Value::array(seed, ELEMENTS)
}

fn interfaces() -> &'static [Arc<Interface>] {
    static ALL: OnceLock<Vec<Arc<Interface>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let module = farcall_idl::compile("sim.idl", IDL).unwrap();
        module.routines.iter().map(|one| Arc::new(one.interface.clone())).collect()
    })
}

/// What a server answers that is asked for a routine.
pub fn interface_reply(name: &str, is_placed: Option<bool>) -> Option<InterfaceReply> {
    let at = ROUTINES.iter().position(|routine| *routine == name)?;
    let interface = &interfaces()[at];
    Some(InterfaceReply {
        name: name.to_owned(),
        interface: encode_interface(interface),
        contract: contract_hash(interface),
        is_placed,
    })
}

/// A transaction, and what is right.
pub struct Work {
    pub message: Message,
    /// What the client put at its node before.
    pub inputs: Vec<(DataId, Value)>,
    /// The word of each result, by call.
    pub words: Vec<u64>,
}

/// What a graph looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Chain,
    Fan,
    Random,
}

struct Draft {
    random: SeededRandom,
    message: Message,
    input_words: Vec<u64>,
    words: Vec<u64>,
}

/// A random transaction; `with_once`: some calls must not run twice.
pub fn work(seed: u64, with_once: bool) -> Work {
    let mut random = SeededRandom::new(seed ^ 0x9a9a);
    let inputs = 1 + random.next() % 3;
    let mut draft = Draft {
        message: Message {
            routines: (0..ROUTINES.len()).map(routine).collect(),
            ..Message::default()
        },
        input_words: Vec::new(),
        words: Vec::new(),
        random,
    };
    let mut given = Vec::new();
    for _ in 0..inputs {
        let value = Value::array(draft.random.next(), ELEMENTS);
        let name = DataId(draft.random.bytes16());
        draft.message.inputs.push(Input {
            name,
            kind: value.kind.clone(),
            extents: value.extents.clone(),
        });
        draft.input_words.push(value.word());
        given.push((name, value));
    }
    let shape = [Shape::Chain, Shape::Fan, Shape::Random][draft.random.next() as usize % 3];
    let calls = 1 + draft.random.next() % 9;
    for call in 0..calls as u32 {
        draft.call(call, shape, with_once, calls as u32);
    }
    for call in 0..calls as u32 {
        let is_last = call + 1 == calls as u32;
        if is_last || draft.random.next().is_multiple_of(2) {
            let slot = draft.slot_of(call);
            let name = DataId(draft.random.bytes16());
            draft.message.results.push(WantedResult { call, slot, name });
        }
    }
    let Draft { message, words, .. } = draft;
    Work { message, inputs: given, words }
}

/// What a call of a case is called with.
#[derive(Clone, Copy)]
pub enum From {
    Input(u32),
    Call(u32),
}

/// A transaction of these calls, of which the client wants all results.
pub fn work_of(calls: &[(&str, &[From])]) -> Work {
    let mut work = work(1, false);
    let value = Value::array(77, ELEMENTS);
    let name = DataId([77; 16]);
    let input = Input { name, kind: value.kind.clone(), extents: value.extents.clone() };
    work.message = Message { routines: work.message.routines, ..Message::default() };
    work.message.inputs = vec![input];
    work.inputs = vec![(name, value.clone())];
    work.words.clear();
    let slots = |routine: u32| if [SUM, GROW].contains(&routine) { 2 } else { 3 };
    for ((name, from), call) in calls.iter().zip(0u32..) {
        let routine = ROUTINES.iter().position(|one| one == name).unwrap() as u32;
        let mut arguments = vec![Argument::Inline((ELEMENTS as i32).to_ne_bytes().to_vec())];
        let mut words = Vec::new();
        for one in *from {
            let (argument, word) = match *one {
                From::Input(input) => (Argument::Input(input), value.word()),
                From::Call(of) => {
                    let slot = slots(work.message.calls[of as usize].routine);
                    (Argument::Result(of, slot), work.words[of as usize])
                }
            };
            arguments.push(argument);
            words.push(word);
        }
        arguments.push(Argument::Absent);
        work.words.push(made(name, &words).word());
        work.message.calls.push(CallMessage { routine, arguments, after: Vec::new() });
        let name = DataId([100 + call as u8; 16]);
        work.message.results.push(WantedResult { call, slot: slots(routine), name });
    }
    work
}

fn routine(at: usize) -> RoutineName {
    RoutineName { name: ROUTINES[at].to_owned(), contract: contract_hash(&interfaces()[at]) }
}

impl Draft {
    /// The parameter that a call makes.
    fn slot_of(&self, call: u32) -> u16 {
        match self.message.calls[call as usize].routine {
            SUM | GROW => 2,
            _ => 3,
        }
    }

    fn is_number(&self, call: u32) -> bool {
        self.message.calls[call as usize].routine == SUM
    }

    /// An array that a call can use.
    fn array(&mut self, call: u32, shape: Shape) -> (Argument, u64) {
        let arrays: Vec<u32> = (0..call).filter(|one| !self.is_number(*one)).collect();
        let last = match shape {
            Shape::Chain => arrays.last().copied(),
            Shape::Fan => arrays.first().copied(),
            Shape::Random => {
                let drawn = self.random.next() as usize;
                arrays.get(drawn % (arrays.len() + 1)).copied()
            }
        };
        match last {
            Some(of) => (Argument::Result(of, self.slot_of(of)), self.words[of as usize]),
            None => {
                let input = self.random.next() as usize % self.input_words.len();
                (Argument::Input(input as u32), self.input_words[input])
            }
        }
    }

    fn call(&mut self, call: u32, shape: Shape, with_once: bool, calls: u32) {
        let n = Argument::Inline((ELEMENTS as i32).to_ne_bytes().to_vec());
        let numbers: Vec<u32> = (0..call).filter(|one| self.is_number(*one)).collect();
        let drawn = self.random.next() % 8;
        let is_join = shape == Shape::Fan && call + 1 == calls && call > 1;
        let (routine, arguments, words) = if drawn == 0 && !is_join {
            let (a, word) = self.array(call, shape);
            (SUM, vec![n, a, Argument::Absent], vec![word])
        } else if let Some(of) = numbers.last().copied().filter(|_| drawn < 4) {
            let word = self.words[of as usize];
            (GROW, vec![n, Argument::Result(of, 2), Argument::Absent], vec![word])
        } else {
            let (a, first) = self.array(call, shape);
            let shape = if is_join { Shape::Chain } else { Shape::Random };
            let (b, second) = self.array(call, shape);
            let is_once = with_once && self.random.next().is_multiple_of(3);
            let routine = if is_once { MIX_ONCE } else { MIX };
            (routine, vec![n, a, b, Argument::Absent], vec![first, second])
        };
        let after = (call > 0 && self.random.next().is_multiple_of(10)).then(|| call - 1);
        let after = after.into_iter().collect();
        self.words.push(made(ROUTINES[routine as usize], &words).word());
        self.message.calls.push(CallMessage { routine, arguments, after });
    }
}

/// The wanted results by their ids: the call of each, and its word.
pub fn wanted(work: &Work) -> BTreeMap<DataId, (u32, u64)> {
    let results = work.message.results.iter();
    results.map(|one| (one.name, (one.call, work.words[one.call as usize]))).collect()
}
