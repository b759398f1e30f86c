//! The battery over TLS, and every guard: times, authorities, revocation, names, files, strangers.

mod authority;
mod certificates;
mod choice;
mod files;
mod roles;
mod strangers;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use farcall_base::Error;
use farcall_link::stream::{ByteStream, Listener as _};
use farcall_transport_battery::Rig;

use super::*;
use authority::Authority;

const PATIENCE: Duration = Duration::from_secs(10);
const LIMITS: ListenerLimits =
    ListenerLimits { handshakes_max: 8, handshake_max: PATIENCE, silence_max: PATIENCE };

/// A stream, or why there is none.
type Met = Result<Box<dyn ByteStream>, Error>;

fn rest() {
    std::thread::sleep(Duration::from_micros(100));
}

/// What came of waiting at a listener.
fn accept(listener: &mut Listener) -> Met {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match listener.accept() {
            Ok(Some(stream)) => return Ok(stream),
            Ok(None) => rest(),
            Err(error) => return Err(error.downcast().expect("a refusal says why")),
        }
    }
    panic!("nobody came");
}

/// Both ends; each may be refused. The listener needs a thread, because connecting waits for its
/// answer.
fn meet(authority: &Authority, user: &std::path::Path, host: &str) -> (Met, Met) {
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let accepting = std::thread::spawn(move || accept(&mut listener));
    let near = connect(host, port, Some(user), PATIENCE);
    (near, accepting.join().unwrap())
}

fn rig() -> Rig {
    // C programs die of a SIGPIPE unless they say otherwise, and Farcall runs inside them; Rust's
    // own start-up ignores it, which would hide a send that raises one. SAFETY: the default action
    // is no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let authority = Authority::new();
    let user = authority.user("anna");
    let (sender, streams) = mpsc::channel();
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    std::thread::spawn(move || while sender.send(accept(&mut listener).unwrap()).is_ok() {});
    let pair = move || {
        let near = connect("localhost", port, Some(&user), PATIENCE).unwrap();
        let _ = &authority;
        (near, streams.recv().unwrap())
    };
    Rig { pair: Box::new(pair), pass_time: Box::new(rest) }
}

mod over_tls {
    farcall_transport_battery::stamp!(super::super::rig);
}
