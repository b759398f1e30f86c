//! The thread that sees sessions through while the program does something else: one per connection,
//! from its first session on.

use std::sync::Arc;
use std::time::Duration;

use crate::code::{Failure, Outcome};
use crate::connecting::Connection;
use crate::sessions::{Number, Sessions};

/// After this time it looks whether it is needed still.
const SLICE: Duration = Duration::from_millis(100);
/// So many ends are told at once.
const BATCH: usize = 256;

/// Begins to look after a connection.
pub fn watch(sessions: Arc<Sessions>, connection: Arc<Connection>) -> Outcome<()> {
    let thread = std::thread::Builder::new().name("farcall-gridrpc".to_owned());
    let run = move || {
        look_after(&sessions, &connection);
        sessions.unwatch(connection.key);
    };
    thread.spawn(run).map(drop).map_err(|error| Failure::other(format!("start a thread: {error}")))
}

fn look_after(sessions: &Arc<Sessions>, connection: &Connection) {
    while let Some(wait) = sessions.next_work(connection.key, SLICE) {
        let Ok(ended) = ended_within(connection, wait) else { return };
        sessions.collect(&ended);
        sessions.expire();
        sessions.end_late();
    }
}

/// Calls that end within the time: as many as there are at once. An error when the connection is
/// gone and all of its calls were told of.
fn ended_within(connection: &Connection, wait: Duration) -> farcall_client::Result<Vec<Number>> {
    let mut ended = Vec::new();
    let mut wait = wait;
    while ended.len() < BATCH {
        match connection.client.next_finished(Some(wait)) {
            Ok(Some(number)) => ended.push((connection.key, number)),
            Ok(None) => break,
            Err(_) if !ended.is_empty() => break,
            Err(error) => return Err(error),
        }
        wait = Duration::ZERO;
    }
    Ok(ended)
}
