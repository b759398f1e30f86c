//! The store in memory does what every store does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use farcall_base::{Clock, SystemClock};
use farcall_services::mailbox::{NoMessage, mailbox};
use farcall_services::store::{MemoryStore, Request, Sharing, StoreHandle};
use farcall_store_battery::{Opened, run};

/// Serves a store by the system's clock, until nobody asks any more. The leases that it gave are
/// kept until then.
fn serve(memory: Arc<Mutex<MemoryStore>>) -> StoreHandle {
    let (sender, mut inbox) = mailbox::<Request>(100).expect("there are descriptors");
    let handle = StoreHandle::new(sender.port(|request| request), "memory", Sharing::ThisHost);
    drop(sender);
    std::thread::spawn(move || {
        let clock = SystemClock::new();
        let mut leases = Vec::new();
        loop {
            let request = match inbox.receive_timeout(Duration::from_millis(20)) {
                Err(NoMessage::Closed) => return,
                other => other.ok(),
            };
            let mut memory = memory.lock().expect("no thread panics with it");
            for lease in &leases {
                memory.keep(clock.now(), *lease).expect("it is kept in time");
            }
            match request {
                Some(Request::Lease { time, reply }) => {
                    let lease = memory.lease(clock.now(), time);
                    leases.extend(lease.as_ref().ok().copied());
                    reply.answer(lease);
                }
                Some(request) => memory.handle(clock.now(), request),
                None => memory.tick(clock.now()),
            }
        }
    });
    handle
}

#[test]
fn the_store_in_memory_does_what_every_store_does() {
    let memory = Arc::new(Mutex::new(MemoryStore::new(1 << 30)));
    run(&|| Opened { store: serve(memory.clone()), keeper: Box::new(()) });
}
