//! Ids of the calls and data of a transaction: made of its own id, so that they are the same for
//! a server that takes it up again.

use farcall_base::{CallId, DataId, TransactionId};
use farcall_graph::{CallNumber, DataNumber};

/// What tells ids of different kinds apart.
const CALL: u8 = 0x55;
const DATA: u8 = 0xaa;
const PUT: u8 = 0x99;
const MOVED: u8 = 0x66;
const MOVE: u8 = 0x3c;
const GIVEN: u8 = 0xc3;
/// What makes the name of a transaction's connections of its id.
const NAME: u8 = 0x5a;

/// Makes ids.
#[derive(Clone, Copy, Debug)]
pub struct Ids(pub TransactionId);

impl Ids {
    /// The id of a call that was opened so often before.
    pub fn call(self, call: CallNumber, attempt: u32) -> CallId {
        CallId(self.id(CALL, call.0, attempt))
    }

    /// The id of a value that is made by a call which was opened so often before.
    pub fn data(self, data: DataNumber, attempt: u32) -> DataId {
        DataId(self.id(DATA, data.0, attempt))
    }

    /// The id of the call that puts a number at the server, for the so manyeth time.
    pub fn put(self, data: DataNumber, time: u32) -> CallId {
        CallId(self.id(PUT, data.0, time))
    }

    /// The id of a value that was brought from another server, by the so manyeth move of all.
    pub fn moved(self, data: DataNumber, time: u32) -> DataId {
        DataId(self.id(MOVED, data.0, time))
    }

    /// The id of the call that puts it there.
    pub fn move_call(self, data: DataNumber, time: u32) -> CallId {
        CallId(self.id(MOVE, data.0, time))
    }

    /// The id of the call that puts an input there again.
    pub fn given(self, data: DataNumber) -> CallId {
        CallId(self.id(GIVEN, data.0, 0))
    }

    /// The name under which its connections come back.
    pub fn name(self) -> [u8; 16] {
        self.0.0.map(|byte| byte ^ NAME)
    }

    /// Eight of the transaction's random bytes, changed by the kind, then the two numbers.
    fn id(self, kind: u8, number: u32, time: u32) -> [u8; 16] {
        let Ids(TransactionId(own)) = self;
        let mut id = [0; 16];
        for (at, byte) in id[..8].iter_mut().enumerate() {
            *byte = own[at] ^ own[at + 8] ^ kind;
        }
        id[8..12].copy_from_slice(&number.to_le_bytes());
        id[12..].copy_from_slice(&time.to_le_bytes());
        id
    }
}
