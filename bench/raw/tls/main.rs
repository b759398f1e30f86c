//! A bare rustls stream that moves the bytes that Farcall moves: what `tls://` is compared with.
//!
//! ```text
//! farcall-bench-rawtls serve CREDENTIALS        prints `port N`; receives all of a message, then sends all of it back
//! farcall-bench-rawtls call CREDENTIALS PORT    reads commands: roundtrip BYTES MODE (answer: seconds)
//! ```
//!
//! Mutual TLS 1.3 with the cipher suite that Farcall prefers, reused buffers, blocking calls, both
//! ends with the congestion control that Farcall uses on loopback. Messages begin with their length
//! in 8 bytes.

use std::error::Error;
use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    StreamOwned,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Credentials {
    own: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    roots: Arc<RootCertStore>,
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", credentials] => serve(&read(credentials)?),
        ["call", credentials, port] => call(&read(credentials)?, port.parse()?),
        _ => Err("usage: farcall-bench-rawtls serve CREDENTIALS | call CREDENTIALS PORT".into()),
    }
}

fn read(path: &str) -> Outcome<Credentials> {
    let text = std::fs::read(path)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>()?;
    let [own, authority] =
        <[_; 2]>::try_from(certificates).map_err(|_| "not a file of farcall ca")?;
    let mut roots = RootCertStore::empty();
    roots.add(authority)?;
    Ok(Credentials { own, key: PrivateKeyDer::from_pem_slice(&text)?, roots: Arc::new(roots) })
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

fn tuned(socket: TcpStream) -> Outcome<TcpStream> {
    socket.set_nodelay(true)?;
    // As Farcall does on loopback; whoever may not choose keeps theirs.
    let _ = rustix::net::sockopt::set_tcp_congestion(&socket, "reno");
    Ok(socket)
}

fn serve(credentials: &Credentials) -> Outcome<()> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(credentials.roots.clone(), provider())
            .build()?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![credentials.own.clone()], credentials.key.clone_key())?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("port {}", listener.local_addr()?.port());
    let (socket, _) = listener.accept()?;
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config))?, tuned(socket)?);
    let mut bytes = Vec::new();
    // The client's end is the end.
    while let Ok(count) = read_length(&mut stream) {
        bytes.resize(count, 0);
        stream.read_exact(&mut bytes)?;
        stream.write_all(&bytes)?;
        stream.flush()?;
    }
    Ok(())
}

fn read_length(stream: &mut impl Read) -> Outcome<usize> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    Ok(usize::try_from(u64::from_le_bytes(length))?)
}

fn call(credentials: &Credentials, port: u16) -> Outcome<()> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(credentials.roots.clone())
        .with_client_auth_cert(vec![credentials.own.clone()], credentials.key.clone_key())?;
    let socket = tuned(TcpStream::connect(("127.0.0.1", port))?)?;
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost")?)?;
    let mut stream = StreamOwned::new(connection, socket);
    let mut bytes = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["roundtrip", count, _] => {
                println!("{:.9}", roundtrip(&mut stream, &mut bytes, count.parse()?)?)
            }
            _ => return Err(format!("\"{line}\" is no command").into()),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn roundtrip(stream: &mut (impl Read + Write), bytes: &mut Vec<u8>, count: usize) -> Outcome<f64> {
    bytes.resize(count, 1);
    let begin = Instant::now();
    stream.write_all(&(count as u64).to_le_bytes())?;
    stream.write_all(bytes)?;
    stream.flush()?;
    stream.read_exact(bytes)?;
    Ok(begin.elapsed().as_secs_f64())
}
