//! The program above the caller: calls have a name, and bytes of data that lie nowhere.

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_peer::Application;
use farcall_wire::{Argument, CallResult, Hello, Keep, Open, Reply, Resume};

/// A call of the script.
pub struct Call {
    pub name: String,
    /// Bytes of its argument that travel as data frames.
    pub bytes: u64,
    /// Whether the server is to keep its outcome.
    pub keep: bool,
}

/// What became of the memory of calls, in the order in which it happened.
#[derive(Default)]
pub struct Program {
    pub said: Vec<String>,
}

impl Application for Program {
    type Call = Call;
    type Transfer = u64;
    type Residue = ();
    type Output = ();
    type Sought = ();
    type Description = String;
    type Callback = String;
    type Answer = ();

    fn greeted(&mut self, hello: &Hello) {
        self.said.push(format!("the server is {}", hello.product));
    }

    fn open(
        &mut self,
        call: &mut Call,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, u64)> {
        let keep =
            call.keep.then(|| vec![Keep { after_end_us: 1_000_000, durable: false }.attribute()]);
        let array = (call.bytes > 0).then_some(Argument::Blocks(Some(call.bytes)));
        let open = Open {
            attributes: keep,
            ..Open::new(id, call.name.clone(), [0; 32], array.into_iter().collect())
        };
        Ok((connection.open(&open)?, call.bytes))
    }

    fn routine<'a>(&self, call: &'a Call) -> &'a str {
        &call.name
    }

    fn renewed(&mut self, call: &Call, reply: Reply) -> Result<()> {
        match reply {
            Reply::Done => Ok(()),
            _ => Err(Error::new(
                ErrorKind::InterfaceChanged,
                "call",
                format!("{} has changed", call.name),
            )),
        }
    }

    fn answered(&mut self, _: &Call, _: &mut u64, result: &CallResult) -> Result<()> {
        match result.results.as_slice() {
            [Argument::Null, ..] => {
                Err(Error::new(ErrorKind::Protocol, "receive the results", "they do not fit"))
            }
            _ => Ok(()),
        }
    }

    fn forget_answer(&mut self, _: &mut u64) {}

    fn moved_data(&self, bytes: &u64) -> bool {
        *bytes > 0
    }

    fn release(&mut self, _: &mut u64) -> Result<()> {
        Ok(())
    }

    fn forget_memory(&mut self, _: &u64) {
        self.said.push("what the server was told of memory is forgotten".to_owned());
    }

    fn outcome(&mut self, _: CallId, _: &Call, _: &mut u64, result: &mut CallResult) -> Result<()> {
        result.failure.take().map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn abandon(&mut self, _: u64) {}

    fn ends(&mut self, _: &u64) {}

    fn adopt(&mut self, _: CallId, (): (), resume: Resume, _: u64) -> Result<(Call, u64, String)> {
        let untold = || {
            Error::new(ErrorKind::Protocol, "fetch a call", "the server did not name the routine")
        };
        let name = resume.interface.ok_or_else(untold)?.name;
        Ok((Call { name: name.clone(), bytes: 0, keep: true }, 0, name))
    }

    fn call_back(&mut self, call: &Call, slot: usize, _: &Open) -> Result<(String, u64)> {
        match slot {
            0 => Ok((format!("the function of {}", call.name), 0)),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "run a callback",
                "no function was passed for this \
                parameter",
            )),
        }
    }
}
