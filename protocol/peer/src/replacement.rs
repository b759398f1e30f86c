//! A connection that takes a lost one's place, until its peer has greeted us: calls go on there
//! then.

use farcall_base::Result;
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_wire::{FrameHeader, Hello};

use crate::caller::{check_byte_order, goodbye};

/// A connection that says Hello and waits for an answer.
pub struct Greeting {
    connection: Connection,
    is_ready: bool,
}

impl Greeting {
    /// One whose first frame is `hello`.
    pub fn new(hello: Hello) -> Greeting {
        let connection = Connection::new(Setup { hello, initiator: true, token: None });
        Greeting { connection, is_ready: false }
    }

    /// The next frame to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.connection.poll_transmit()
    }

    /// Takes a control frame.
    ///
    /// # Errors
    /// The peer does not want us, broke a rule, or stores numbers in the other byte order.
    pub fn handle_control(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        self.connection.handle_control(header, body)?;
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => {
                    check_byte_order(&hello)?;
                    self.is_ready = true;
                }
                Event::Left(failure) => return Err(goodbye(failure)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A data frame begins, which cannot be for us.
    ///
    /// # Errors
    /// The peer broke a rule.
    pub fn refuse_data(&mut self, header: &FrameHeader, done: u32) -> Result<()> {
        self.connection.place(header, done).map(drop)
    }

    /// Whether the peer has greeted us: [`Greeting::end`] has the connection then.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// The connection, for [`Caller::come_back`](crate::Caller::come_back).
    pub fn end(self) -> Connection {
        self.connection
    }
}
