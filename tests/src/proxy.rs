//! A network between a client and its server that a test breaks: it cuts connections, slows them
//! down, or falls silent.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that pass at a time.
const PIECE: usize = 32 << 10;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up = 0,
    /// From the server to the client.
    Down = 1,
}

#[derive(Default)]
struct State {
    server: Mutex<Option<SocketAddr>>,
    open: Mutex<Vec<[TcpStream; 2]>>,
    /// Bytes that passed over all connections, each way.
    passed: [AtomicU64; 2],
    /// After how many more bytes one way everything is cut.
    due: Mutex<Option<(Way, u64)>>,
    cuts: AtomicUsize,
    /// Whether new connections are turned away.
    closed: AtomicBool,
    /// Whether nothing passes.
    silent: AtomicBool,
    /// Bytes a second, if that is limited.
    speed: AtomicU64,
    over: AtomicBool,
}

/// A proxy on a port of its own.
pub struct Proxy {
    state: Arc<State>,
    address: SocketAddr,
    scheme: &'static str,
}

impl Proxy {
    /// A way to the server at `address`, `tls://…` or `farcall://…`.
    ///
    /// # Panics
    /// When there are no ports.
    pub fn to(address: &str) -> Proxy {
        Proxy::of(TcpListener::bind("127.0.0.1:0").expect("there are ports"), address)
    }

    /// One that takes little before it passes it on: what is on its way waits at its sender, as
    /// before a slow line.
    ///
    /// # Panics
    /// When there are no ports.
    pub fn narrow(address: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        // Accepted sockets have what the listener has.
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4096)
            .expect("a socket has options");
        Proxy::of(listener, address)
    }

    fn of(listener: TcpListener, address: &str) -> Proxy {
        let own = listener.local_addr().expect("a listener has an address");
        let state = Arc::new(State::default());
        let scheme = if address.starts_with("tls://") { "tls://" } else { "farcall://" };
        let proxy = Proxy { state: state.clone(), address: own, scheme };
        proxy.lead_to(address);
        std::thread::spawn(move || accept(&listener, &state));
        proxy
    }

    /// New connections go to this server from now on.
    ///
    /// # Panics
    /// For no address.
    pub fn lead_to(&self, address: &str) {
        let target = address.rsplit("//").next().and_then(|target| target.parse().ok());
        *lock(&self.state.server) =
            Some(target.unwrap_or_else(|| panic!("{address} has no number")));
    }

    /// Where clients connect.
    pub fn address(&self) -> String {
        format!("{}{}", self.scheme, self.address)
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Cuts everything when so many more bytes have passed this way.
    pub fn cut_after(&self, way: Way, bytes: u64) {
        *lock(&self.state.due) = Some((way, bytes));
    }

    /// How often everything was cut.
    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::Relaxed)
    }

    /// Bytes that have passed this way.
    pub fn passed(&self, way: Way) -> u64 {
        self.state.passed[way as usize].load(Ordering::Relaxed)
    }

    /// Takes new connections and closes them, or serves them again.
    pub fn close(&self, closed: bool) {
        self.state.closed.store(closed, Ordering::Relaxed);
    }

    /// Passes nothing on, or everything again.
    pub fn fall_silent(&self, silent: bool) {
        self.state.silent.store(silent, Ordering::Relaxed);
    }

    /// Passes so many bytes a second.
    pub fn slow_down(&self, bytes_a_second: u64) {
        self.state.speed.store(bytes_a_second, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        self.state.cut();
        // The listener waits for one more.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn cut(&self) {
        for stream in lock(&self.open).drain(..).flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.cuts.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of these bytes pass before everything is cut, and whether it is.
    fn passes(&self, way: Way, bytes: usize) -> (usize, bool) {
        let mut due = lock(&self.due);
        match *due {
            Some((of, left)) if of == way && left <= bytes as u64 => {
                *due = None;
                (left as usize, true)
            }
            Some((of, left)) if of == way => {
                *due = Some((of, left - bytes as u64));
                (bytes, false)
            }
            _ => (bytes, false),
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    for near in listener.incoming() {
        if state.over.load(Ordering::Relaxed) {
            return;
        }
        let server = *lock(&state.server);
        let (Ok(near), Some(server)) = (near, server) else { continue };
        if state.closed.load(Ordering::Relaxed) {
            continue;
        }
        let Ok(far) = TcpStream::connect(server) else { continue };
        let copy = |stream: &TcpStream| stream.try_clone().expect("a socket can be shared");
        for stream in [&near, &far] {
            stream.set_nodelay(true).expect("a socket has options");
        }
        lock(&state.open).push([copy(&near), copy(&far)]);
        for (way, from, to) in [(Way::Up, copy(&near), copy(&far)), (Way::Down, far, near)] {
            let state = state.clone();
            std::thread::spawn(move || pass(&state, way, from, to));
        }
    }
}

fn pass(state: &State, way: Way, mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; PIECE];
    loop {
        let speed = state.speed.load(Ordering::Relaxed);
        let room = if speed == 0 { PIECE } else { (speed as usize / 20).clamp(1, PIECE) };
        let Ok(count @ 1..) = from.read(&mut buffer[..room]) else { break };
        while state.silent.load(Ordering::Relaxed) && !state.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (passes, is_cut) = state.passes(way, count);
        if to.write_all(&buffer[..passes]).is_err() {
            break;
        }
        state.passed[way as usize].fetch_add(passes as u64, Ordering::Relaxed);
        if is_cut {
            state.cut();
            break;
        }
        if speed > 0 {
            std::thread::sleep(Duration::from_secs_f64(count as f64 / speed as f64));
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
