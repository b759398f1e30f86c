//! The transports in this binary, as the server wants them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farcall_authority::{REVOKED_FILE, SERVER_FILE, authority_folder};
use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::Given;
use farcall_link::hosts::host_of;
use farcall_link::memory::MemorySource;
use farcall_link::stream::{ByteStream, Listener, Proof};
use farcall_rpc_server::{Options, Transports};
use farcall_services::transports::{self, TransportsHandle};
use farcall_system::host_name::host_name;
use farcall_transport_tls::{ListenerLimits, ServerFiles};
use farcall_transport_unix::{MemoryLimits, SharedMemory};
use farcall_wire::RelayToken;

/// Where the clients come that metaservers lead here.
pub const JOINED: &str = "tls:joined";

/// Unix sockets with shared memory, TCP on the loopback, and TLS.
pub const TRANSPORTS: Transports = Transports {
    listen,
    adopt,
    socket: farcall_transport_unix::from_descriptor,
    memory,
    own_uid: farcall_transport_unix::own_uid,
    was_started_here: farcall_transport_unix::was_started_here,
    host: host_name,
    opens_when_published: true,
};

fn listen(options: &Options) -> Result<Vec<Box<dyn Listener>>> {
    if options.listen.is_empty() {
        return Ok(vec![unix(farcall_transport_unix::default_socket_path())?]);
    }
    options.listen.iter().map(|address| listen_at(address, options)).collect()
}

fn listen_at(address: &str, options: &Options) -> Result<Box<dyn Listener>> {
    if let Some(path) = address.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return unix(PathBuf::from(path));
    }
    if let Some(path) = address.strip_prefix("relay:").filter(|path| !path.is_empty()) {
        return Ok(Box::new(farcall_transport_unix::Listener::bind_for_relays(Path::new(path))?));
    }
    if address == JOINED {
        let listener =
            farcall_transport_tls::Listener::of_joined(server_files(options), tls_limits(options))?;
        return Ok(Box::new(listener));
    }
    if let Some(rest) = address.strip_prefix("tls://") {
        let (host, port) = host_and_port(address, rest)?;
        return tls(host, port, options);
    }
    let rest = address.strip_prefix("tcp:").or_else(|| address.strip_prefix("farcall://"));
    let (host, port) = host_and_port(address, rest.ok_or_else(|| wrong(address))?)?;
    farcall_transport_tcp::Listener::check(host, port)?;
    if options.token_file.is_empty() {
        // The folder of the default token is the default socket's, made and judged by the same
        // rules.
        farcall_transport_unix::prepare_directory(&farcall_transport_unix::default_socket_path())?;
    }
    let token = token(&token_file(options))?;
    Ok(Box::new(farcall_transport_tcp::Listener::bind(host, port, token)?))
}

fn host_and_port<'a>(address: &str, rest: &'a str) -> Result<(&'a str, u16)> {
    let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(|| wrong(address))?;
    let port = port.parse().map_err(|_| wrong(address))?;
    Ok((host.trim_start_matches('[').trim_end_matches(']'), port))
}

fn tls_limits(options: &Options) -> ListenerLimits {
    ListenerLimits {
        handshakes_max: options.handshakes_max,
        handshake_max: Duration::from_millis(options.handshake_ms),
        silence_max: Duration::from_millis(options.silence_ms),
    }
}

fn tls(host: &str, port: u16, options: &Options) -> Result<Box<dyn Listener>> {
    let limits = tls_limits(options);
    Ok(Box::new(farcall_transport_tls::Listener::bind(host, port, server_files(options), limits)?))
}

/// Where the certificate of a server and the list of revoked ones lie.
pub fn server_files(options: &Options) -> ServerFiles {
    let named = |name: &str| (!name.is_empty()).then(|| PathBuf::from(name));
    let credentials =
        named(&options.credentials).unwrap_or_else(|| authority_folder().join(SERVER_FILE));
    let revocations =
        named(&options.revocations).unwrap_or_else(|| credentials.with_file_name(REVOKED_FILE));
    ServerFiles { credentials, revocations }
}

/// The token in the file, or a fresh one where there is no file.
fn token(file: &Path) -> Result<farcall_transport_tcp::Token> {
    if file.exists() {
        farcall_transport_tcp::Token::read(file)
    } else {
        farcall_transport_tcp::Token::create(file)
    }
}

fn unix(path: PathBuf) -> Result<Box<dyn Listener>> {
    Ok(Box::new(farcall_transport_unix::Listener::bind(&path)?))
}

/// The same for plugins that listen or dial by themselves.
struct OfNode(Options);

impl transports::Transports for OfNode {
    fn listen(&self, address: &str) -> Result<Box<dyn Listener>> {
        listen_at(address, &self.0)
    }

    fn dial(&self, address: &str, patience: Duration) -> Result<Box<dyn ByteStream>> {
        if let Some(path) = address.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return farcall_transport_unix::connect_within(Path::new(path), patience);
        }
        if let Some(rest) = address.strip_prefix("tls://") {
            let (host, port) = host_and_port(address, rest)?;
            // It dials as what it serves as; where it has no certificate for that, as its user.
            let own = server_files(&self.0).credentials;
            let secret = own.exists().then_some(own);
            return farcall_transport_tls::connect(host, port, secret.as_deref(), patience);
        }
        Err(undialed(address))
    }

    fn dials_as_user(&self) -> bool {
        !server_files(&self.0).credentials.exists()
    }

    fn dial_led(
        &self,
        server: &str,
        ports: &[String],
        token: &RelayToken,
        patience: Duration,
    ) -> Result<Box<dyn ByteStream>> {
        let own = server_files(&self.0).credentials;
        farcall_transport_tls::connect_through(host_of(server), Some(&own), patience, || {
            let mut reached = Err(undialed(server));
            for port in ports {
                reached = self.reach(port, Some(token), patience);
                if reached.is_ok() {
                    break;
                }
            }
            reached.map(|socket| (socket, server.to_owned()))
        })
    }

    fn pair(&self) -> Result<[Box<dyn ByteStream>; 2]> {
        let ends = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        );
        let failed = |error: rustix::io::Errno| {
            Error::system("make a stream within the process", error.into())
        };
        let (one, other) = ends.map_err(failed)?;
        let stream = |end| farcall_transport_unix::from_descriptor(end, Proof::Inherited);
        Ok([stream(one)?, stream(other)?])
    }

    fn reach(
        &self,
        address: &str,
        token: Option<&RelayToken>,
        patience: Duration,
    ) -> Result<OwnedFd> {
        let rest = address.strip_prefix("tls://").ok_or_else(|| undialed(address))?;
        let (host, port) = host_and_port(address, rest)?;
        match token {
            Some(token) => farcall_transport_tls::reach_stream(host, port, token, patience),
            None => farcall_transport_tls::reach_port(host, port, patience),
        }
    }
}

fn undialed(address: &str) -> Error {
    let message = format!("\"{address}\" is no address that a node dials");
    Error::new(ErrorKind::InvalidArgument, "reach another node", message)
        .fix("write unix:PATH or tls://HOST:PORT")
}

/// What a node of this binary gives to its plugins.
pub fn given(options: Options) -> Given {
    Given::default().with(transports::SLOT, TransportsHandle::new(OfNode(options)))
}

/// Where the token of TCP clients lies.
pub fn token_file(options: &Options) -> PathBuf {
    if options.token_file.is_empty() {
        farcall_transport_unix::default_socket_path().with_file_name("token")
    } else {
        PathBuf::from(&options.token_file)
    }
}

fn wrong(address: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "listen",
        format!("\"{address}\" is not an address to listen on"),
    )
    .fix("write unix:PATH, tls://HOST:PORT or tcp:127.0.0.1:PORT")
}

fn adopt(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    // The spawner made it: what it is says whether memory can be shared over it.
    match rustix::net::sockopt::socket_domain(&descriptor) {
        Ok(rustix::net::AddressFamily::UNIX) | Err(_) => {
            farcall_transport_unix::ring::offer(descriptor, proof)
        }
        Ok(_) => farcall_transport_tcp::from_descriptor(descriptor, proof),
    }
}

fn memory(options: &Options) -> Arc<dyn MemorySource> {
    Arc::new(SharedMemory::new(MemoryLimits {
        bytes_max: options.memory_bytes_max(),
        idle_bytes_max: options.memory_idle_bytes_max,
        idle_regions_max: options.memory_idle_regions_max,
    }))
}
