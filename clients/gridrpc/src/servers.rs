//! Servers: which there are, where they are, and the connections to them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_client::{Address, Client, ErrorKind};

use crate::code::{Code, Failure, Outcome};

/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection, with a number that no other one of this process has.
pub struct Connection {
    pub key: u64,
    pub client: Client,
}

/// A server that handles are bound to.
pub struct Server {
    /// As the program calls it; `None` for the default.
    name: Option<String>,
    connection: Mutex<Option<Arc<Connection>>>,
}

/// All servers so far.
#[derive(Default)]
pub struct Servers {
    known: Mutex<Vec<Arc<Server>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Servers {
    /// The servers of a configuration file, where there is one.
    pub fn read(file: Option<&Path>) -> Outcome<Servers> {
        let servers = Servers::default();
        file.map_or(Ok(()), |file| servers.read_also(file))?;
        Ok(servers)
    }

    /// Reads one more file.
    pub fn read_also(&self, file: &Path) -> Outcome<()> {
        let read = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(Code::ConfigfileNotFound, format!("{}: {error}; give the path of a file", file.display()))
        })?;
        // Comments say nothing.
        match read.lines().position(|line| !line.trim().is_empty() && !line.trim().starts_with('#')) {
            None => Ok(()),
            Some(line) => {
                let message = format!("{}:{}: this version of Farcall reads no sections", file.display(), line + 1);
                Err(Failure::new(Code::ConfigfileError, message))
            }
        }
    }

    /// Those to ask for a routine: the one of this name, or those to try by default, in order.
    /// A `port` that is not 0 belongs to a name that is no address.
    pub fn named(&self, name: Option<&str>, port: i32) -> Outcome<Vec<Arc<Server>>> {
        let with_port = |name: &str| match name.parse::<Address>() {
            Err(_) if port != 0 => format!("farcall://{name}:{port}"),
            _ => name.to_owned(),
        };
        let name = name.filter(|name| !name.is_empty()).map(with_port);
        let mut known = lock(&self.known);
        if let Some(server) = known.iter().find(|server| server.name == name) {
            return Ok(vec![server.clone()]);
        }
        let server = Arc::new(Server { name, connection: Mutex::default() });
        known.push(server.clone());
        Ok(vec![server])
    }
}

impl Server {
    /// The connection to it, made when there is none or the last one was lost.
    pub fn connect(&self) -> Outcome<Arc<Connection>> {
        static KEYS: AtomicU64 = AtomicU64::new(1);
        let mut connection = lock(&self.connection);
        if let Some(connection) = &*connection {
            return Ok(connection.clone());
        }
        let given = self.name.as_deref();
        let not_found = |error| Failure::of_binding(&error, Code::ServerNotFound);
        let address = Address::given_or_default(given).map_err(not_found)?;
        let client = Client::connect_to(&address, None, CONNECT_TIMEOUT);
        let client = client.map_err(|error| not_found(address.explain(error, given)))?;
        let made = Arc::new(Connection { key: KEYS.fetch_add(1, Ordering::Relaxed), client });
        *connection = Some(made.clone());
        Ok(made)
    }

    /// Has the next call connect anew where this error says that the connection is gone.
    pub fn note(&self, used: &Arc<Connection>, error: &farcall_client::Error) {
        let gone = [ErrorKind::ConnectionLost, ErrorKind::Protocol, ErrorKind::ShuttingDown, ErrorKind::Damaged];
        if !gone.contains(&error.kind()) {
            return;
        }
        let mut connection = lock(&self.connection);
        if connection.as_ref().is_some_and(|known| known.key == used.key) {
            *connection = None;
        }
    }
}
