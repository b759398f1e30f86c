//! What the plugin knows: the routine, the calls of it, and whoever waits for what. Pure, as
//! step.rs is.

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_peer::{Application, Caller, Setup};
use farcall_wire::{Argument, CallResult, Hello, Open, Reply, Resume};

/// A connection's calls, and the numbers that wait for one.
pub struct State {
    pub caller: Caller<Program>,
    /// The question for the interface, until it is answered.
    pub interface: Option<u64>,
    /// Numbers that wait for the interface, by whoever asked.
    pub waiting: Vec<(u64, f64)>,
}

impl State {
    /// That of a connection which has not been greeted.
    pub fn new(connection: Connection, seed: u64, routine: &str) -> State {
        let program = Program { routine: routine.to_owned(), contract: [0; 32] };
        let caller = Caller::new(Setup { connection, seed, resumes: false }, program);
        State { caller, interface: None, waiting: Vec::new() }
    }
}

/// The routine, as far as it is known: of one number, which travels in the message itself.
pub struct Program {
    pub routine: String,
    /// The hash of its interface, once the other node has told it: a call names what its arguments
    /// were made for.
    pub contract: [u8; 32],
}

impl Application for Program {
    type Call = f64;
    type Transfer = ();
    type Residue = ();
    type Output = f64;
    type Sought = ();
    type Description = ();
    type Callback = ();
    type Answer = ();

    fn greeted(&mut self, _: &Hello) {}

    fn open(
        &mut self,
        number: &mut f64,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, ())> {
        let given = Argument::Inline(number.to_ne_bytes().as_slice().into());
        let open =
            Open::new(id, self.routine.clone(), self.contract, vec![given, Argument::Absent]);
        Ok((connection.open(&open)?, ()))
    }

    fn routine<'a>(&self, _: &'a f64) -> &'a str {
        "the routine of the example"
    }

    fn renewed(&mut self, _: &f64, reply: Reply) -> Result<()> {
        match reply {
            Reply::Interface(interface) => self.contract = interface.contract,
            Reply::Failed(failure) => return Err(failure.into()),
            _ => return Err(unexpected("it answered another question")),
        }
        Ok(())
    }

    fn answered(&mut self, _: &f64, (): &mut (), _: &CallResult) -> Result<()> {
        Ok(())
    }

    fn forget_answer(&mut self, (): &mut ()) {}

    fn moved_data(&self, (): &()) -> bool {
        false
    }

    fn release(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    fn forget_memory(&mut self, (): &()) {}

    fn outcome(&mut self, _: CallId, _: &f64, (): &mut (), result: &mut CallResult) -> Result<f64> {
        if let Some(failure) = result.failure.take() {
            return Err(failure.into());
        }
        let Some(Argument::Inline(bytes)) = result.results.get(1) else {
            return Err(unexpected("the routine gives no number back"));
        };
        let bytes = bytes
            .as_slice()
            .try_into()
            .map_err(|_| unexpected("the number that came is no double"))?;
        Ok(f64::from_ne_bytes(bytes))
    }

    fn abandon(&mut self, (): ()) {}

    fn ends(&mut self, (): &()) {}

    fn adopt(&mut self, _: CallId, (): (), _: Resume, _: u64) -> Result<(f64, (), ())> {
        Err(unexpected("this plugin asks for no call by its id"))
    }

    fn call_back(&mut self, _: &f64, _: usize, _: &Open) -> Result<((), u64)> {
        Err(Error::new(ErrorKind::NotFound, "run a callback", "this plugin passes no functions"))
    }
}

fn unexpected(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "ask another node", message)
}
