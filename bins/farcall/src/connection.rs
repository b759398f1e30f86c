//! Which server the commands talk to.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{DataId, Error, ErrorKind, Result, TransactionId};
use farcall_client::{
    Address, ByServer, Client, ConnectOptions, DataStatus, KeptCall, PrivateServer, ServeOptions,
    Status, TransactionStatus, Unanswered,
};
use farcall_executable::image::is_python;

use crate::output::{at_most, end, notice};
use farcall_publishing::module::compile;
use farcall_publishing::shipped;
use farcall_publishing::source::Source;

/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that a server has to begin to listen at a Unix socket that was named, and how often it is
/// looked for.
const START_MAX: Duration = Duration::from_secs(2);
const START_PAUSE: Duration = Duration::from_millis(20);
/// The variable that names the server to use by default.
const SERVER_VARIABLE: &str = "FARCALL_SERVER";

/// A server that runs already: one that would end with the command is of no use to it.
#[derive(Args)]
pub struct RunningServer {
    /// The server: unix:PATH, ssh://HOST, tls://HOST:PORT or farcall://HOST:PORT; several with
    /// blanks between are used as one, with here for this host [default: $FARCALL_SERVER, or this
    /// user's server]
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
    /// File with the token of a TCP server [default: $FARCALL_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificate to show over TLS, or directory with one for each authority
    /// [default: $FARCALL_CREDENTIALS, ~/.config/farcall/credentials.pem]
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
}

impl RunningServer {
    /// Whether somebody says which.
    pub fn is_named(&self) -> bool {
        self.server.is_some()
            || std::env::var_os(SERVER_VARIABLE).is_some_and(|address| !address.is_empty())
    }

    /// Connects to the server that is named, or to this user's.
    ///
    /// # Errors
    /// As [`Client::connect_to`].
    pub fn connect(&self) -> Result<Client> {
        self.connect_within(CONNECT_TIMEOUT)
    }

    /// The same in at most so much time.
    ///
    /// # Errors
    /// As [`Client::connect_to`].
    pub fn connect_within(&self, time: Duration) -> Result<Client> {
        let found = Address::given_or_default(self.server.as_deref())?;
        let connected = reach(&found, secret(&found, &self.token_file, &self.credentials), time);
        connected.map_err(|error| found.explain(error, self.server.as_deref()))
    }
}

/// A server that runs already, or one of those that it knows.
#[derive(Args)]
pub struct ChosenServer {
    #[command(flatten)]
    server: RunningServer,
    /// Of the servers that the server knows, this one alone: a name or an address that `farcall
    /// servers` lists
    #[arg(long, value_name = "ADDRESS")]
    at: Option<String>,
}

impl ChosenServer {
    /// Connects to it.
    ///
    /// # Errors
    /// As [`Client::connect_to`] and [`Client::member`].
    pub fn connect(&self) -> Result<Client> {
        self.connect_within(CONNECT_TIMEOUT)
    }

    /// The same in at most so much time.
    ///
    /// # Errors
    /// As [`ChosenServer::connect`].
    pub fn connect_within(&self, time: Duration) -> Result<Client> {
        let client = self.server.connect_within(time)?;
        match &self.at {
            Some(at) => client.member(at),
            None => Ok(client),
        }
    }

    /// The same for an order: of several servers it is for one, which is said.
    ///
    /// # Errors
    /// As [`ChosenServer::connect`].
    pub fn connect_to_order(&self, time: Duration) -> Result<Client> {
        let client = self.connect_within(time)?;
        if self.is_one_of_several(&client)? {
            notice(&format!(
                "this is for {} alone; --at ADDRESS names one of the servers that it knows",
                client.address()
            ));
        }
        Ok(client)
    }

    /// Whether nobody said which of several servers is meant.
    ///
    /// # Errors
    /// Why it is not known how many there are.
    pub fn is_one_of_several(&self, client: &Client) -> Result<bool> {
        if self.at.is_some() { Ok(false) } else { client.knows_others() }
    }

    /// What it and all servers that it knows say of themselves; with `--at` that one alone.
    ///
    /// # Errors
    /// As [`Client::statuses`].
    pub fn statuses(&self, client: &Client, timeout: Duration) -> Result<ByServer<Status>> {
        match self.at {
            None => client.statuses(timeout),
            Some(_) => Ok(alone(client, client.status(timeout)?)),
        }
    }

    /// The calls that they keep for this user.
    ///
    /// # Errors
    /// As [`Client::kept_by_server`].
    pub fn kept(&self, client: &Client) -> Result<ByServer<Vec<KeptCall>>> {
        client.kept_by_server().map(|kept| self.of_chosen(kept))
    }

    /// Of this user's data there that of these ids; without any, all.
    ///
    /// # Errors
    /// As [`Client::data_by_server`].
    pub fn data(&self, client: &Client, ids: &[DataId]) -> Result<ByServer<Vec<DataStatus>>> {
        client.data_by_server(ids).map(|data| self.of_chosen(data))
    }

    /// Of this user's transactions there those of these ids; without any, all.
    ///
    /// # Errors
    /// As [`Client::transactions_by_server`].
    pub fn transactions(
        &self,
        client: &Client,
        ids: &[TransactionId],
    ) -> Result<ByServer<Vec<TransactionStatus>>> {
        client.transactions_by_server(ids).map(|all| self.of_chosen(all))
    }

    /// With `--at` one server is asked alone.
    fn of_chosen<T>(&self, mut all: ByServer<T>) -> ByServer<T> {
        if self.at.is_some() {
            all.answers.truncate(1);
            all.unanswered.clear();
        }
        all
    }
}

fn alone<T>(client: &Client, answer: T) -> ByServer<T> {
    ByServer { answers: vec![(client.address().to_owned(), answer)], unanswered: Vec::new() }
}

/// What the others said was shown; now which did not answer, and why.
///
/// # Errors
/// `Unreachable` if there is one.
pub fn check_all_answered(unanswered: &[Unanswered]) -> Result<()> {
    if unanswered.is_empty() {
        return Ok(());
    }
    let each = unanswered.iter().map(|one| format!("{}: {}", one.server, one.error.message()));
    let message = match unanswered.len() {
        1 => "1 server did not answer".to_owned(),
        count => format!("{count} servers did not answer"),
    };
    Err(Error::new(ErrorKind::Unreachable, "ask all servers", message)
        .with("no answer from", each.collect::<Vec<_>>().join("; "))
        .fix("what the others said is shown; `farcall servers` shows the state of all"))
}

/// What went wrong at those that answered, and which did not: what was looked for may be there.
pub fn with_silent(error: Error, unanswered: &[Unanswered]) -> Error {
    if unanswered.is_empty() {
        return error;
    }
    let silent: Vec<&str> = unanswered.iter().map(|one| one.server.as_str()).collect();
    error.with("no answer from", silent.join(", "))
}

/// Connects in this time, or in what is left of the command's own.
fn reach(address: &Address, secret: Option<PathBuf>, time: Duration) -> Result<Client> {
    // Of a list, this program is the private server, too.
    let here = ServeOptions { program: std::env::current_exe().ok(), ..ServeOptions::default() };
    let options = ConnectOptions {
        secret,
        timeout: at_most(time),
        until: end(),
        here,
        shares_here: true,
        ..ConnectOptions::default()
    };
    Client::connect_with(address, &options)
}

/// The file that shows a server who we are.
fn secret(
    address: &Address,
    token_file: &Option<PathBuf>,
    credentials: &Option<PathBuf>,
) -> Option<PathBuf> {
    match address {
        Address::Tls { .. } => credentials.clone(),
        Address::Tcp { .. } | Address::Unix(_) | Address::Ssh(_) => token_file.clone(),
        Address::List(list) if list.has_certificates() => credentials.clone(),
        Address::List(_) => token_file.clone(),
    }
}

/// How a server is found.
#[derive(Args)]
pub struct ServerArguments {
    /// The server: unix:PATH, ssh://HOST, tls://HOST:PORT or farcall://HOST:PORT; several with
    /// blanks between are used as one, with here for this host [default: $FARCALL_SERVER, this
    /// user's server, or a private one]
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
    /// File with the token of a TCP server [default: $FARCALL_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificate to show over TLS, or directory with one for each authority
    /// [default: $FARCALL_CREDENTIALS, ~/.config/farcall/credentials.pem]
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Start a private server for this command, which publishes FILE; may be repeated
    #[arg(long, value_name = "FILE.idl", conflicts_with = "server")]
    publish: Vec<PathBuf>,
}

/// A connection, and the server behind it if it is our own.
pub struct Connection {
    /// The client; dropped before its server.
    pub client: Client,
    own: Option<PrivateServer>,
}

impl Connection {
    /// Whether the server was started for this command alone.
    pub fn is_private(&self) -> bool {
        self.own.is_some()
    }
}

impl ServerArguments {
    /// Connects to the server that is named, or to this user's; starts a private one where there is
    /// none.
    ///
    /// # Errors
    /// As [`Client::connect_to`] and [`PrivateServer::start`]; `InvalidSource` for the files to
    /// publish.
    pub fn connect(&self) -> Result<Connection> {
        self.connect_within(CONNECT_TIMEOUT)
    }

    /// The same in at most so much time, but for a private server's: that has as long as its files
    /// take.
    ///
    /// # Errors
    /// As [`ServerArguments::connect`], and `TimedOut`.
    pub fn connect_within(&self, time: Duration) -> Result<Connection> {
        if !self.publish.is_empty() {
            return self.private();
        }
        let variable = std::env::var(SERVER_VARIABLE).ok().filter(|address| !address.is_empty());
        if let Some(named) = self.server.clone().or(variable) {
            return self.connect_to_named(&named.parse()?, time);
        }
        match self.connect_to(&Address::Unix(farcall_transport_unix::default_socket_path()), time) {
            Err(error) if error.kind() == ErrorKind::Unreachable => {
                notice(
                    "no server is running: starting one for this command alone (`farcall serve` \
                        keeps one running)",
                );
                self.private()
            }
            outcome => outcome,
        }
    }

    /// A server that is named may be about to listen: `farcall serve … &` and this command stand in
    /// one script.
    fn connect_to_named(&self, address: &Address, time: Duration) -> Result<Connection> {
        let coming = match address {
            Address::Unix(path) => path.parent().is_some_and(Path::is_dir),
            Address::Tcp { .. } | Address::Tls { .. } | Address::Ssh(_) | Address::List(_) => false,
        };
        let begin = Instant::now();
        let mut left = time;
        loop {
            match self.connect_to(address, left) {
                Err(error)
                    if error.kind() == ErrorKind::Unreachable
                        && coming
                        && begin.elapsed() < START_MAX.min(time) =>
                {
                    std::thread::sleep(START_PAUSE);
                    left = time.saturating_sub(begin.elapsed());
                }
                outcome => return outcome,
            }
        }
    }

    fn connect_to(&self, address: &Address, time: Duration) -> Result<Connection> {
        let secret = secret(address, &self.token_file, &self.credentials);
        let client = reach(address, secret, time)?;
        Ok(Connection { client, own: None })
    }

    fn private(&self) -> Result<Connection> {
        // Compiled here first: mistakes are shown as `farcall check` shows them.
        let files: Vec<PathBuf> = self.publish.iter().map(|file| shipped::named(file)).collect();
        let interfaces = files.iter().filter(|file| !is_python(file));
        interfaces.into_iter().try_for_each(|file| {
            Source::open(file).and_then(|source| compile(&source)).map(drop)
        })?;
        let program = std::env::current_exe()
            .map_err(|error| Error::system("find the farcall program", error))?;
        let options = ServeOptions { program: Some(program), files, ..ServeOptions::default() };
        let own = PrivateServer::start(&options).map_err(|error| {
            if self.publish.is_empty() {
                error.fix("or publish a file: --publish FILE.idl")
            } else {
                error
            }
        })?;
        Ok(Connection { client: own.connect()?, own: Some(own) })
    }
}
