//! What a caller needs of the program above it.

use farcall_base::{CallId, ChannelId, Error, Result};
use farcall_call::Connection;
use farcall_wire::{CallResult, Hello, Open, Reply, Resume};

/// How far a call came that has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Whether all of it may have come to the peer.
    pub has_left: bool,
    /// Whether its answer had begun to come.
    pub is_answered: bool,
    /// Whether the failure is the peer's own word: not that the connection ended.
    pub is_told: bool,
    /// Whether it was cancelled before.
    pub is_cancelled: bool,
}

/// The program above a [`Caller`](crate::Caller). It is asked in the middle of a step and answers
/// at once.
pub trait Application: Sized {
    /// A call as it was asked for: enough to open it, and to open it again.
    type Call;
    /// What the data of an open call move through: arrays, files, memory that the peer was told of.
    type Transfer;
    /// What must stay of a transfer while the peer may still use it.
    type Residue: Default;
    /// What came of a call that went well.
    type Output;
    /// What the program keeps of a call that it asked for by its id.
    type Sought;
    /// What the program learns of such a call: what it calls.
    type Description: Clone;
    /// A function of the program's with the arguments that a call to it brings.
    type Callback;
    /// What the data of an answer to a callback move through.
    type Answer;

    /// Opens a call on `connection`, for the first time or again. Gives its channel, and what its
    /// data move through.
    ///
    /// # Errors
    /// Why it cannot be opened: its arguments do not fit, or the connection takes no more.
    fn open(
        &mut self,
        call: &mut Self::Call,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, Self::Transfer)>;

    /// The name of the routine that a call is of.
    fn routine<'a>(&self, call: &'a Self::Call) -> &'a str;

    /// The interface of a call's routine came again, as the peer wished.
    ///
    /// # Errors
    /// When it is not the one any more that the arguments of the call were made for.
    fn renewed(&mut self, call: &Self::Call, reply: Reply) -> Result<()>;

    /// The head of an answer came: from now on its data do. Their places must be ready when this
    /// returns.
    ///
    /// # Errors
    /// When the answer does not fit the call: its data are thrown away, and the call fails.
    fn answered(
        &mut self,
        call: &Self::Call,
        transfer: &mut Self::Transfer,
        result: &CallResult,
    ) -> Result<()>;

    /// What came of an answer comes again: the connection was lost.
    fn forget_answer(&mut self, transfer: &mut Self::Transfer);

    /// Whether data of the call passed through the connection, in either direction.
    fn moved_data(&self, transfer: &Self::Transfer) -> bool;

    /// The peer is done with memory of the program's own.
    ///
    /// # Errors
    /// When the program used it meanwhile: the call fails with this.
    fn release(&mut self, transfer: &mut Self::Transfer) -> Result<()>;

    /// The peer had no room for the call: what it was told of memory may not have come to it.
    fn forget_memory(&mut self, transfer: &Self::Transfer);

    /// What a call came to. What is in the result is the program's to take.
    ///
    /// # Errors
    /// The failure that the peer reported, or what is wrong with the results.
    fn outcome(
        &mut self,
        id: CallId,
        call: &Self::Call,
        transfer: &mut Self::Transfer,
        result: &mut CallResult,
    ) -> Result<Self::Output>;

    /// A call has failed, and its outcome says so: it is the program's again, which may make it
    /// elsewhere. Without a transfer it was not open.
    fn failed(
        &mut self,
        _number: u64,
        _call: Self::Call,
        _transfer: Option<&Self::Transfer>,
        _reached: Reached,
    ) {
    }

    /// A call is given up while the peer may still use its memory.
    fn abandon(&mut self, transfer: Self::Transfer) -> Self::Residue;

    /// A call ends, or is given up: frames that are queued may name its caller's memory still.
    /// Called before the transfer goes.
    fn ends(&mut self, transfer: &Self::Transfer);

    /// The peer has greeted us.
    fn greeted(&mut self, hello: &Hello);

    /// Takes a call up that the peer keeps, as it describes it.
    ///
    /// # Errors
    /// When the description makes no sense, or there is no memory for its results.
    fn adopt(
        &mut self,
        id: CallId,
        sought: Self::Sought,
        resume: Resume,
        bytes_max: u64,
    ) -> Result<(Self::Call, Self::Transfer, Self::Description)>;

    /// The peer calls a function that was passed in this slot of a call. Gives what runs, and the
    /// bytes that may come for its arguments.
    ///
    /// # Errors
    /// Why it cannot be run; the peer is told.
    fn call_back(
        &mut self,
        call: &Self::Call,
        slot: usize,
        open: &Open,
    ) -> Result<(Self::Callback, u64)>;

    /// The routine of a call whose outcome is an error of this end's, told to whoever made it.
    fn explain(&self, call: &Self::Call, id: CallId, error: Error) -> Error {
        error.with("routine", self.routine(call)).with("call", id)
    }
}
