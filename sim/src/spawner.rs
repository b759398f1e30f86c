//! The simulated spawner's ears: what executables print lies in pipes until it is read, and is told
//! to the server through the shipped [`Listener`].

use std::collections::BTreeMap;

use farcall_base::ExecutableId;
use farcall_services::mailbox::{Receiver, Sender, mailbox};
use farcall_services::spawner::{Listener, Output, Said};

/// Pieces that may be on their way; more than listeners of a world have under way.
const PIECES_MAX: usize = 4096;

/// Pipes, and those of them that the server listens to.
pub struct Spawner {
    sender: Sender<Said>,
    receiver: Receiver<Said>,
    unread: BTreeMap<ExecutableId, Vec<(Output, Vec<u8>)>>,
    listeners: BTreeMap<ExecutableId, Listener>,
}

impl Spawner {
    /// One to whose executables nobody listens.
    pub fn new() -> Spawner {
        let (sender, receiver) = mailbox(PIECES_MAX).expect("there is a descriptor left");
        Spawner { sender, receiver, unread: BTreeMap::new(), listeners: BTreeMap::new() }
    }

    /// An executable prints.
    pub fn print(&mut self, executable: ExecutableId, output: Output, bytes: Vec<u8>) {
        self.unread.entry(executable).or_default().push((output, bytes));
    }

    /// The spawner reads what an executable has printed, and tells it if the server listens.
    pub fn read(&mut self, executable: ExecutableId) {
        let pieces = self.unread.remove(&executable).unwrap_or_default();
        if let Some(listener) = self.listeners.get_mut(&executable) {
            pieces.iter().for_each(|(output, bytes)| listener.tell(*output, bytes));
        }
    }

    /// The server listens from now on: what was printed before is nobody's.
    pub fn listen(&mut self, executable: ExecutableId) {
        self.listeners.remove(&executable);
        self.read(executable);
        let port = self.sender.port(|said: Said| said);
        self.listeners.insert(executable, Listener::new(executable, port));
    }

    /// Nothing more is told of an executable when this returns.
    pub fn hush(&mut self, executable: ExecutableId) {
        self.read(executable);
        if let Some(listener) = self.listeners.remove(&executable) {
            listener.finish();
        }
    }

    /// The next piece that was told.
    pub fn next_told(&mut self) -> Option<Said> {
        self.receiver.try_receive().ok()
    }
}
