//! The transports in this binary, as the server wants them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_interfaces::memory::MemorySource;
use farcall_interfaces::stream::{ByteStream, Listener, Proof};
use farcall_rpc_server::{Options, Transports};
use farcall_transport_unix::{MemoryLimits, SharedMemory};

/// Unix sockets with shared memory, and TCP.
pub const TRANSPORTS: Transports =
    Transports { listen, adopt, memory, own_uid: farcall_transport_unix::own_uid, host: String::new };

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
    let rest = address.strip_prefix("tcp:").or_else(|| address.strip_prefix("farcall://"));
    let Some((host, port)) = rest.and_then(|rest| rest.rsplit_once(':')) else { return Err(wrong(address)) };
    let port = port.parse().map_err(|_| wrong(address))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    farcall_transport_tcp::Listener::check(host, port)?;
    if options.token_file.is_empty() {
        // The folder of the default token is the default socket's, made and judged by the same rules.
        farcall_transport_unix::prepare_directory(&farcall_transport_unix::default_socket_path())?;
    }
    let token = token(&token_file(options))?;
    Ok(Box::new(farcall_transport_tcp::Listener::bind(host, port, token)?))
}

/// The token in the file, or a fresh one where there is no file.
fn token(file: &Path) -> Result<farcall_transport_tcp::Token> {
    if file.exists() { farcall_transport_tcp::Token::read(file) } else { farcall_transport_tcp::Token::create(file) }
}

fn unix(path: PathBuf) -> Result<Box<dyn Listener>> {
    Ok(Box::new(farcall_transport_unix::Listener::bind(&path)?))
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
    Error::new(ErrorKind::InvalidArgument, "listen", format!("\"{address}\" is no address to listen at"))
        .fix("write unix:PATH or tcp:127.0.0.1:PORT")
}

fn adopt(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    // The spawner made it: what it is says whether memory can be shared over it.
    match rustix::net::sockopt::socket_domain(&descriptor) {
        Ok(rustix::net::AddressFamily::UNIX) | Err(_) => farcall_transport_unix::ring::offer(descriptor, proof),
        Ok(_) => farcall_transport_tcp::from_descriptor(descriptor, proof),
    }
}

fn memory(options: &Options) -> Arc<dyn MemorySource> {
    Arc::new(SharedMemory::new(MemoryLimits {
        bytes_max: options.memory_bytes_max,
        idle_bytes_max: options.memory_idle_bytes_max,
        idle_regions_max: options.memory_idle_regions_max,
    }))
}
