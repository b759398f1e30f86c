//! How a server is reached: connected to, or started for this program alone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farcall_client::{
    Address, Client, ConnectOptions, Error, ErrorKind, PrivateServer, ServeOptions, SshCommand,
};
use farcall_configuration::LocalStubs;

use super::{
    DEFAULT_PORT, EXECUTABLES_MAX, Folder, Place, Server, is_nobody, lock, ninf_server,
    token_of_ninf_server, toml_text,
};
use crate::communication::CommunicationLog;
use crate::inside;
use crate::log::{self, Group, Level};

impl Server {
    /// Whether it is there without this process.
    pub fn is_shared(&self) -> bool {
        matches!(self.place, Place::Default | Place::At(_) | Place::There(_))
    }

    /// Whether it belongs to this program alone, and runs stub executables of this host.
    pub fn runs_stubs(&self) -> bool {
        matches!(self.place, Place::Stubs(_))
    }

    /// Whether it is a routine's own: the connection to it ends with each call, and the next call
    /// may begin at once.
    pub fn is_of_a_call(&self) -> bool {
        matches!(self.place, Place::Around)
    }

    /// Where is noted what goes to it and comes from it.
    pub fn communication(&self) -> Arc<CommunicationLog> {
        let make = || Arc::new(CommunicationLog::of(self.section.as_ref(), &self.host));
        self.communication.get_or_init(make).clone()
    }

    /// Connects once.
    pub fn reach(&self, timeout: Duration) -> farcall_client::Result<Client> {
        let to = |address: &Address, text: Option<&str>| {
            let secret = token_of_ninf_server(address);
            let reconnect = reconnect(address);
            let heartbeat = self.silence();
            let options = ConnectOptions {
                timeout,
                reconnect,
                secret,
                heartbeat,
                ssh: self.ssh(),
                ..ConnectOptions::default()
            };
            Client::connect_with(address, &options).map_err(|error| address.explain(error, text))
        };
        match &self.place {
            Place::Around => inside::connect(),
            Place::At(address) => to(address, Some("")),
            Place::Stubs(programs) => {
                let stubs = LocalStubs { programs: programs.clone(), ..LocalStubs::default() };
                // Other servers are asked then, and what they say would hide what is wrong here.
                let told = |error: &Error| {
                    log::write(Group::Internal, Level::Error, &format!("stub executables: {error}"))
                };
                self.start_stubs(|folder| stubs.write_lists(&folder.0)).inspect_err(told)
            }
            Place::Program(path) => self.start_stubs(|_| Ok(vec![path.clone()])),
            Place::There(host) => {
                to(&Address::Tls { host: host.clone(), port: DEFAULT_PORT }, Some(""))
            }
            Place::Default | Place::Here => {
                let found =
                    to(&Address::given_or_default(None)?, None).or_else(|error| match ninf_server(
                        &error,
                    ) {
                        Some(address) => to(&address, Some("")).map_err(|_| error),
                        None => Err(error),
                    });
                match (found, &self.place) {
                    (Err(error), Place::Here) if is_nobody(&error) => {
                        self.start_private(error, timeout)
                    }
                    (outcome, _) => outcome,
                }
            }
        }
    }

    /// The `ssh` that its section names.
    fn ssh(&self) -> SshCommand {
        let launch = self.section.as_ref().and_then(|section| section.launch.as_ref());
        launch.map_or_else(SshCommand::default, |launch| SshCommand {
            program: launch.command.clone(),
            options: launch.options.clone(),
            shell: launch.shell.clone(),
        })
    }

    /// A server for this process alone, with what Farcall comes with: for a host that has none.
    fn start_private(
        &self,
        unreachable: Error,
        timeout: Duration,
    ) -> farcall_client::Result<Client> {
        self.connect_private(|| {
            let options = ServeOptions { timeout: Some(timeout), ..ServeOptions::default() };
            PrivateServer::start(&options).map_err(|_| unreachable)
        })
    }

    /// Connects to the server for this process alone; starts it where there is none, and again
    /// where it has ended.
    fn connect_private(
        &self,
        start: impl FnOnce() -> farcall_client::Result<PrivateServer>,
    ) -> farcall_client::Result<Client> {
        let connect = |known: &PrivateServer| {
            let options = ConnectOptions { heartbeat: self.silence(), ..ConnectOptions::default() };
            Client::connect_with(&known.address().parse()?, &options)
        };
        let mut private = lock(&self.private);
        if let Some(known) = private.as_mut() {
            let outcome = connect(known);
            if outcome.is_ok() || !known.has_ended() {
                return outcome;
            }
            *private = None;
        }
        connect(private.insert(start()?))
    }

    /// A server for this process alone, with these stub executables.
    fn start_stubs(
        &self,
        files: impl FnOnce(&Folder) -> farcall_client::Result<Vec<PathBuf>>,
    ) -> farcall_client::Result<Client> {
        self.connect_private(|| {
            let folder = Folder::make(&self.tmp_dir)?;
            let arguments = vec!["--manifest".to_owned(), self.write_manifest(&folder)?];
            let options =
                ServeOptions { files: files(&folder)?, arguments, ..ServeOptions::default() };
            PrivateServer::start(&options)
        })
    }

    /// The stub executables are this user's own, and do here what he may do himself, as they did
    /// under Ninf-G; they have the variables that the configuration gives them, and work where it
    /// says. Variables without a value are this program's own.
    fn write_manifest(&self, folder: &Folder) -> farcall_client::Result<String> {
        let start_in = self.work_directory()?;
        let variables = self.section.iter().flat_map(|section| &section.environment);
        let value = |(name, value): &(String, Option<String>)| {
            let value = value.clone().or_else(|| std::env::var(name).ok())?;
            Some(format!("{} = {}", toml_text(name), toml_text(&value)))
        };
        let environment: Vec<String> = variables.filter_map(value).collect();
        let text = format!(
            "[[plugin]]\nname = \"spawner-local\"\nslot = \
             \"spawner\"\n[plugin.options]\nlimits.files = \"all\"\nlimits.network = \
             true\nlimits.start_in = {}\nenvironment = {{ {} }}\n[[plugin]]\nname = \
             \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\nexecutables_max = \
             {EXECUTABLES_MAX}\n",
            toml_text(&start_in),
            environment.join(", ")
        );
        let path = folder.0.join("farcall.toml");
        std::fs::write(&path, text)
            .map_err(|error| Error::system("list stub executables", error))?;
        Ok(path.display().to_string())
    }

    /// Where they work: as the configuration says, or each in the folder that it lies in.
    fn work_directory(&self) -> farcall_client::Result<String> {
        let Some(named) = self.section.as_ref().and_then(|section| section.work_directory.as_ref())
        else {
            return Ok(".".to_owned());
        };
        let folder = std::path::absolute(named)
            .map_err(|error| Error::system("find the workDirectory", error))?;
        if !folder.is_dir() {
            let error = Error::new(
                ErrorKind::InvalidSource,
                "start stub executables",
                "their workDirectory is not a directory",
            );
            return Err(error
                .with("workDirectory", folder.display())
                .fix("use a directory of this host"));
        }
        Ok(folder.display().to_string())
    }

    /// Says once what the section wants of executables that this program does not start.
    pub fn warn_of_others(&self) {
        self.warned.call_once(|| self.write_warnings());
    }

    fn write_warnings(&self) {
        let Some(section) = self.section.as_ref().filter(|_| lock(&self.private).is_none()) else {
            return;
        };
        let wanted = [
            ("environment", !section.environment.is_empty()),
            ("workDirectory", section.work_directory.is_some()),
        ];
        for (name, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            let place = &section.place;
            let host = &section.hostname;
            log::warn_once(&format!(
                "{place}: {name} has no effect: the configuration of {host} decides how its \
                    executables start"
            ));
        }
    }
}

/// How long calls wait for a connection that is lost: programs for GridRPC look for
/// `GRPC_COMMUNICATION_FAILED` and make the call again, at another server maybe. So they hear of a
/// loss at once, unless the environment says that they are to wait, or `ssh` leads there: what a
/// laptop loses often is the way, and the server keeps handles and sessions meanwhile.
fn reconnect(address: &Address) -> Option<Duration> {
    let is_told_at_once =
        std::env::var_os("FARCALL_RECONNECT").is_none() && !matches!(address, Address::Ssh(_));
    is_told_at_once.then_some(Duration::ZERO)
}
