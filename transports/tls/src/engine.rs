//! The two sides of rustls behind one name.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::UnbufferedStatus;

/// One end's TLS state machine. It does no input or output of its own.
pub trait Engine: Send {
    /// What rustls keeps for this side.
    type Data;

    /// Looks at the records that came, and says what is to be done next.
    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Whether the two ends do not know each other yet.
    fn is_handshaking(&self) -> bool;
}

impl Engine for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn is_handshaking(&self) -> bool {
        rustls::CommonState::is_handshaking(self)
    }
}

impl Engine for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn is_handshaking(&self) -> bool {
        rustls::CommonState::is_handshaking(self)
    }
}
