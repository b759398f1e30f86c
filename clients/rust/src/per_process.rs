//! Tables that each process has for itself, however often it forks.

use std::sync::OnceLock;

use farcall_transport_unix::Birthplace;

/// A process's own value. A child of a fork gets a fresh one: any lock of its parent's may be held
/// by a thread that is not there, and the child would wait for it for ever.
pub struct PerProcess<T> {
    first: OnceLock<Link<T>>,
}

struct Link<T> {
    process: Birthplace,
    value: T,
    child: OnceLock<Box<Link<T>>>,
}

impl<T> Link<T> {
    fn new(value: T) -> Link<T> {
        Link { process: Birthplace::here(), value, child: OnceLock::new() }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

impl<T> PerProcess<T> {
    /// For statics; the value is made when it is asked for.
    pub const fn new() -> PerProcess<T> {
        PerProcess { first: OnceLock::new() }
    }

    /// This process's value, which `make` makes when it is asked for the first time.
    pub fn get(&self, make: impl Fn() -> T) -> &T {
        let mut link = self.first.get_or_init(|| Link::new(make()));
        while !link.process.is_here() {
            link = link.child.get_or_init(|| Box::new(Link::new(make())));
        }
        &link.value
    }
}
