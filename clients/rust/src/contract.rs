//! What a client knows of a routine once it has asked for its interface.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::decode::decode_interface;
use farcall_idl::expression::Expression;
use farcall_idl::interface::{ElementType, Interface, Mode, Shape};
use farcall_idl::published::{is_nullable, ranks};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::sizer::Sizer;
use farcall_wire::{InterfaceReply, Reply};

use crate::argument::Argument;
use crate::marshal::PreparedCalls;
use crate::session::Pace;
use crate::view::{KnownTakers, Placing};

/// Longest room for a text that is filled up: a longer one is a mistake, which the call's limits
/// refuse.
const TEXT_ROOM_MAX: usize = 1 << 24;

/// What a call needs to know of its routine.
pub struct Contract {
    pub interface: Arc<Interface>,
    pub name: String,
    pub hash: [u8; 32],
    /// What its calls are opened with.
    pub call_hash: [u8; 32],
    pub sizer: Sizer,
    /// The functions that callers pass, by parameter.
    pub callbacks: Vec<(usize, Arc<CallbackType>)>,
    pub pace: Pace,
    pub prepared: PreparedCalls,
    /// What is known of where its calls run, if they may run on several servers.
    pub placing: Option<Placing>,
    /// The servers that take its calls, as far as that was asked.
    pub takers: KnownTakers,
    /// What a binding has worked out for all calls.
    pub binding: OnceLock<Box<dyn Any + Send + Sync>>,
    left_out: LeftOut,
}

/// What callers of published functions may leave out, and the language has no default for.
struct LeftOut {
    /// Parameters for which NULL stands then.
    nullable: Vec<usize>,
    /// Parameters that say the rank of an array, with that array.
    ranks: Vec<(usize, usize)>,
    /// Characters that a routine writes over, with the parameter that says how many there are and
    /// its type.
    rooms: Vec<(usize, usize, ElementType)>,
}

impl LeftOut {
    fn of(interface: &Interface) -> LeftOut {
        let parameters = interface.parameters.iter().enumerate();
        let nullable = parameters.filter(|(_, one)| is_nullable(one)).map(|(index, _)| index);
        let room = |index| room(interface, index);
        LeftOut {
            nullable: nullable.collect(),
            ranks: ranks(interface),
            rooms: (0..interface.parameters.len()).filter_map(room).collect(),
        }
    }
}

/// `INOUT char text[length]`.
fn room(interface: &Interface, index: usize) -> Option<(usize, usize, ElementType)> {
    let parameter = &interface.parameters[index];
    let Shape::Array { dimensions, .. } = &parameter.shape else { return None };
    let [dimension] = dimensions.as_slice() else { return None };
    let Expression::Parameter(length) = &dimension.size else { return None };
    let length = usize::from(*length);
    let is_text = parameter.mode == Mode::InOut && parameter.element == ElementType::Char;
    let is_whole = dimension.start.is_none() && dimension.end.is_none();
    (is_text && is_whole)
        .then(|| Some((index, length, interface.parameters.get(length)?.element)))?
}

impl Contract {
    /// The answer to a question for one interface.
    pub fn of_reply(reply: Reply) -> Result<Contract> {
        match reply {
            Reply::Interface(reply) => Contract::decode(&reply),
            Reply::Failed(failure) => Err(failure.into()),
            _ => Err(unexpected()),
        }
    }

    /// The answer to a question for all interfaces.
    pub fn all_of_reply(reply: Reply) -> Result<Vec<Contract>> {
        match reply {
            Reply::List(replies) => replies.iter().map(Contract::decode).collect(),
            Reply::Failed(failure) => Err(failure.into()),
            _ => Err(unexpected()),
        }
    }

    /// That of a routine whose interface nobody has to ask for.
    pub fn local(interface: Interface) -> Contract {
        let hash = farcall_idl::encode::contract_hash(&interface);
        let hashes = (hash, farcall_idl::encode::call_hash(&interface));
        Contract::new(interface.full_name(), hashes, interface, false)
    }

    fn new(
        name: String,
        (hash, call_hash): ([u8; 32], [u8; 32]),
        interface: Interface,
        is_placed: bool,
    ) -> Contract {
        let interface = Arc::new(interface);
        Contract {
            sizer: Sizer::new(&interface),
            callbacks: CallbackType::all(&interface),
            left_out: LeftOut::of(&interface),
            placing: is_placed.then(|| Placing::new(&interface)),
            name,
            hash,
            call_hash,
            pace: Pace::default(),
            prepared: PreparedCalls::default(),
            takers: KnownTakers::default(),
            binding: OnceLock::new(),
            interface,
        }
    }

    fn decode(reply: &InterfaceReply) -> Result<Contract> {
        let interface = decode_interface(&reply.interface)?;
        let hash = farcall_idl::encode::contract_hash(&interface);
        if hash == reply.contract {
            let call_hash = farcall_idl::encode::call_hash(&interface);
            // Names and documentation are shown in many places, in four languages.
            let is_placed = reply.is_placed.unwrap_or(false);
            let hashes = (hash, call_hash);
            return Ok(Contract::new(reply.name.clone(), hashes, interface.shown(), is_placed));
        }
        let message = "client and server compute the interface's hash differently";
        Err(Error::new(ErrorKind::Version, "fetch an interface", message)
            .with("routine", &reply.name)
            .fix("use the same version of Farcall at both ends"))
    }

    /// Completes arguments, one per parameter, with what callers of published functions leave out,
    /// and texts that are shorter than the room that is given for them with NULs.
    #[inline]
    pub fn fill_left_out(&self, arguments: &mut [Argument<'_>]) {
        let LeftOut { nullable, ranks, rooms } = &self.left_out;
        if !nullable.is_empty() || !ranks.is_empty() || !rooms.is_empty() {
            self.fill(arguments);
        }
    }

    #[cold]
    fn fill(&self, arguments: &mut [Argument<'_>]) {
        for index in &self.left_out.nullable {
            if let Some(argument @ Argument::Unset) = arguments.get_mut(*index) {
                *argument = Argument::Null;
            }
        }
        for (index, of) in &self.left_out.ranks {
            let rank = arguments.get(*of).and_then(Argument::rank);
            if let (Some(argument @ Argument::Unset), Some(rank)) =
                (arguments.get_mut(*index), rank)
            {
                *argument = Argument::Integer(rank);
            }
        }
        for (index, length, element) in &self.left_out.rooms {
            let length = arguments.get(*length).and_then(|given| whole(given, *element));
            if let (Some(Argument::Text(text)), Some(length)) = (arguments.get_mut(*index), length)
                && text.len() < length
                && length <= TEXT_ROOM_MAX
            {
                text.resize(length, 0);
            }
        }
    }

    /// Whether it is what is held under this full name, or a method of that.
    pub fn is_held_as(&self, name: &str) -> bool {
        self.name == name || self.interface.full_class().as_deref() == Some(name)
    }

    /// The error of a call whose routine has another interface by now. Nothing ran.
    pub fn changed(&self) -> Error {
        let message = "its interface changed after the client fetched it";
        Error::new(ErrorKind::InterfaceChanged, "call", message)
            .with("routine", &self.name)
            .fix("fetch the routine again, and pass arguments for the new interface")
    }
}

/// A whole number that was given.
fn whole(argument: &Argument<'_>, element: ElementType) -> Option<usize> {
    let value = match argument {
        Argument::Integer(value) => *value,
        Argument::Raw(bytes) => ScalarValue::read(element, bytes, 0)?.integer()?,
        _ => return None,
    };
    usize::try_from(value).ok()
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Protocol, "ask the server", "it sent the wrong kind of answer")
}
