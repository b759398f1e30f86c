//! Who watches which keys, and what each is still to be told.

use crate::mailbox::{Port, Refusal};

use super::Changed;

/// The watches of a store that makes all changes itself.
#[derive(Default)]
pub struct Watches(Vec<Watching>);

struct Watching {
    prefix: String,
    port: Port<Changed>,
    /// It has missed something: it hears of nothing else until it knows.
    is_lost: bool,
}

impl Watching {
    /// Whether anybody still listens.
    fn tell(&mut self, changed: Changed) -> bool {
        let changed = if self.is_lost { Changed::Lost } else { changed };
        let sent = self.port.try_send(changed).map_err(|refused| refused.refusal);
        self.is_lost = sent == Err(Refusal::Full);
        sent != Err(Refusal::Closed)
    }
}

impl Watches {
    /// One more, which hears [`Changed::Lost`] first.
    pub fn add(&mut self, prefix: String, port: Port<Changed>) {
        let mut watching = Watching { prefix, port, is_lost: true };
        if watching.tell(Changed::Lost) {
            self.0.push(watching);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Tells those that watch the key.
    pub fn tell(&mut self, changed: &Changed) {
        let (Changed::Put(key) | Changed::Gone(key)) = changed else {
            self.0.retain_mut(|watching| watching.tell(Changed::Lost));
            return;
        };
        self.0.retain_mut(|watching| {
            !key.starts_with(&watching.prefix) || watching.tell(changed.clone())
        });
    }

    /// Whether somebody whose mailbox was full has something to hear: call [`Watches::settle`] soon.
    pub fn is_owing(&self) -> bool {
        self.0.iter().any(|watching| watching.is_lost)
    }

    /// Tells those whose mailboxes were full.
    pub fn settle(&mut self) {
        self.0.retain_mut(|watching| !watching.is_lost || watching.tell(Changed::Lost));
    }
}
