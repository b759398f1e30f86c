//! A private authority: a folder with its key, the certificates that it gave, and the list of those
//! that it took back.
//!
//! ```text
//! authority.pem   its certificate and key          server.pem   certificate, key and authority of a server
//! issued.json     what it gave, and to whom        users/       the same for users: what they get
//! revoked.crl     what it took back                lock         held while something changes
//! ```
//!
//! `farcall ca` is its command line; the gates of jobs sign with one that nobody keeps.

mod folder;
mod sign;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind, Result, nearest};
use farcall_link::hosts::{CertifiedHosts, SERVER, server_principal};
use farcall_system::plain_file;
use farcall_transport_tls::{Certificate, is_name, is_server_name};
use serde_json::{Value, json};

use folder::Folder;
pub use folder::{REVOKED_FILE, SERVER_FILE, authority_folder, config_folder};
pub use sign::Signer;

/// The list of what was given: ten thousands of certificates.
const ISSUED_BYTES_MAX: u64 = 64 << 20;

/// Time for another process that changes the folder.
pub const BUSY_MAX: Duration = Duration::from_secs(30);

/// Who a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A user, who calls.
    User,
    /// A server, which is called.
    Server,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Server => "server",
        }
    }
}

/// What is to be made.
pub struct Order {
    /// For whom.
    pub kind: Kind,
    /// What it is called.
    pub name: String,
    /// A server's names, as clients write them.
    pub hosts: Vec<String>,
    /// For how many days.
    pub days: u32,
    /// Where it goes.
    pub file: PathBuf,
}

/// A certificate that was given.
#[derive(Clone, Debug)]
pub struct Issued {
    /// For whom.
    pub kind: Kind,
    /// What it is called.
    pub name: String,
    /// A server's names.
    pub hosts: Vec<String>,
    /// Its number, in hexadecimal digits.
    pub serial: String,
    /// First and last second of its validity, since 1970.
    pub valid: (i64, i64),
    /// When it was taken back.
    pub revoked: Option<i64>,
    /// Where it was put.
    pub file: PathBuf,
}

impl Issued {
    /// What a server is to other servers and in their tables of rights: `server:HOST`. `None` for
    /// users, and for servers that cannot join others.
    pub fn principal(&self) -> Option<String> {
        principal(self.kind, &self.hosts)
    }

    /// Whether people mean this one by `name`.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.principal().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    /// In one word.
    pub fn state(&self) -> &'static str {
        match self.revoked {
            Some(_) => "revoked",
            None if now() > self.valid.1 => "expired",
            None => "valid",
        }
    }

    /// For programs, and as it is kept.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "kind": self.kind.word(),
            "hosts": self.hosts,
            "serial": self.serial,
            "not_before": self.valid.0,
            "not_after": self.valid.1,
            "revoked": self.revoked,
            "file": self.file.to_string_lossy(),
        })
    }

    fn of_json(value: &Value) -> Option<Issued> {
        let kind = match value["kind"].as_str()? {
            "user" => Kind::User,
            "server" => Kind::Server,
            _ => return None,
        };
        let hosts = value["hosts"]
            .as_array()?
            .iter()
            .filter_map(|host| host.as_str().map(str::to_owned))
            .collect();
        Some(Issued {
            kind,
            name: value["name"].as_str()?.to_owned(),
            hosts,
            serial: value["serial"].as_str()?.to_owned(),
            valid: (value["not_before"].as_i64()?, value["not_after"].as_i64()?),
            revoked: value["revoked"].as_i64(),
            file: PathBuf::from(value["file"].as_str()?),
        })
    }
}

/// The principal in a certificate for these hosts, if it is a server's that names a single one.
fn principal(kind: Kind, hosts: &[String]) -> Option<String> {
    let is_server = kind == Kind::Server;
    is_server
        .then(|| CertifiedHosts::new(hosts).first())
        .flatten()
        .map(|host| server_principal(&host))
}

/// Seconds since 1970.
pub fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// The authority in a folder; nobody else changes it as long as this value lives.
pub struct Authority {
    folder: Folder,
    signer: Signer,
    issued: Vec<Issued>,
}

impl Authority {
    /// Makes a new one with an empty list of revoked certificates; others who change the folder
    /// have `busy_max`.
    ///
    /// # Errors
    /// `InvalidArgument` when it already exists, `PermissionDenied` when others can look into the
    /// folder.
    pub fn create(path: &Path, busy_max: Duration) -> Result<Authority> {
        let folder = Folder::make(path, busy_max)?;
        let key = folder.authority();
        if key.exists() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "make an authority",
                "it already exists",
            )
            .with("path", key.display())
            .fix("create certificates with it: farcall ca server HOST, farcall ca user NAME"));
        }
        let (signer, text) = Signer::create()?;
        let authority = Authority { folder, signer, issued: Vec::new() };
        authority.save()?;
        authority.folder.write_private(&key, &text)?;
        Ok(authority)
    }

    /// The one in the folder; others who change it have `busy_max`.
    ///
    /// # Errors
    /// `NotFound` with the command that makes one, `PermissionDenied` when others can read its key.
    pub fn open(path: &Path, busy_max: Duration) -> Result<Authority> {
        let missing = || {
            Error::new(ErrorKind::NotFound, "open the authority", "it does not exist")
                .with("path", path.display())
                .fix("create it: farcall ca init --server HOST")
        };
        if !path.is_dir() {
            return Err(missing());
        }
        let folder = Folder::make(path, busy_max)?;
        if !folder.authority().exists() {
            return Err(missing());
        }
        let signer = Signer::read(&folder.authority())?;
        let issued = read_issued(&folder.issued())?;
        Ok(Authority { folder, signer, issued })
    }

    /// What it gave, in order of age.
    pub fn issued(&self) -> &[Issued] {
        &self.issued
    }

    /// Where a server's certificate goes by default.
    pub fn server_file(&self) -> PathBuf {
        self.folder.path.join(SERVER_FILE)
    }

    /// Where a user's certificate goes by default.
    pub fn user_file(&self, name: &str) -> PathBuf {
        self.folder.path.join("users").join(format!("{name}.pem"))
    }

    /// Where the list of revoked certificates lies.
    pub fn list_file(&self) -> PathBuf {
        self.folder.path.join(REVOKED_FILE)
    }

    /// Makes a certificate with its key.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that cannot stand in tables and logs, that has the form of a
    /// server's principal, or that a user has where a server is to get it, or the other way round:
    /// one word would take both back; `System` when it cannot be written.
    pub fn issue(&mut self, order: &Order) -> Result<&Issued> {
        if is_server_name(&order.name) {
            let host = order.name.trim_start_matches(SERVER);
            let message = format!("\"{}\" can only be a server's name", order.name);
            return Err(Error::new(ErrorKind::InvalidArgument, "make a certificate", message).fix(
                format!(
                    "choose another name for the user, or create a certificate for the server: \
                        farcall ca server {host}"
                ),
            ));
        }
        if !is_name(&order.name) {
            let message = format!("\"{}\" cannot be a name", order.name);
            return Err(Error::new(ErrorKind::InvalidArgument, "make a certificate", message).fix(
                "use up to 64 letters, digits and . _ - @, beginning with a letter or digit (not \
                    token or inherited)",
            ));
        }
        let other = |issued: &&Issued| issued.name == order.name && issued.kind != order.kind;
        if let Some(other) =
            self.issued.iter().filter(|issued| issued.state() == "valid").find(other)
        {
            let message = format!("a {} has the name \"{}\"", other.kind.word(), order.name);
            let fix = format!(
                "choose another name, or revoke that certificate first: farcall ca revoke {}",
                order.name
            );
            return Err(
                Error::new(ErrorKind::InvalidArgument, "make a certificate", message).fix(fix)
            );
        }
        let (text, der) = self.signer.sign(order)?;
        let Certificate { serial, not_before, not_after, .. } = Certificate::parse(&der)?;
        let file = std::path::absolute(&order.file)
            .map_err(|error| Error::system("make a certificate", error))?;
        self.issued.push(Issued {
            kind: order.kind,
            name: order.name.clone(),
            hosts: order.hosts.clone(),
            serial: serial.iter().map(|byte| format!("{byte:02x}")).collect(),
            valid: (not_before, not_after),
            revoked: None,
            file: file.clone(),
        });
        // In this order: what was given must be known, or it could not be taken back.
        self.save()?;
        self.folder.write_private(&file, &text)?;
        Ok(self.issued.last().expect("it was pushed above"))
    }

    /// Whoever has a certificate of this name that is valid.
    pub fn valid(&self, name: &str) -> Option<&Issued> {
        self.issued.iter().rev().find(|issued| issued.name == name && issued.state() == "valid")
    }

    /// The last certificate of this name.
    ///
    /// # Errors
    /// `NotFound` with the nearest name.
    pub fn last(&self, name: &str) -> Result<&Issued> {
        self.issued.iter().rev().find(|issued| issued.is_called(name)).ok_or_else(|| {
            let names = self.issued.iter().map(|issued| issued.name.as_str());
            let near = nearest(name, names, 1);
            let near =
                near.first().map_or(String::new(), |near| format!("did you mean \"{near}\"? "));
            Error::new(
                ErrorKind::NotFound,
                "find a certificate",
                format!("there is no certificate for \"{name}\""),
            )
            .fix(format!("{near}farcall ca list shows all"))
        })
    }

    /// Takes back every certificate of this name that is valid; how many that were.
    ///
    /// # Errors
    /// `NotFound` for a name that has none.
    pub fn revoke(&mut self, name: &str) -> Result<usize> {
        self.last(name)?;
        let mut count = 0;
        for issued in self
            .issued
            .iter_mut()
            .filter(|issued| issued.is_called(name) && issued.state() == "valid")
        {
            issued.revoked = Some(now());
            count += 1;
        }
        self.save()?;
        Ok(count)
    }

    /// Writes the list of what was given and, from it, the list of what was taken back.
    fn save(&self) -> Result<()> {
        let list: Vec<Value> = self.issued.iter().map(Issued::json).collect();
        self.folder.write_private(&self.folder.issued(), &format!("{:#}\n", Value::from(list)))?;
        // Whatever has expired is refused for that, and need not stand in the list for ever.
        let current =
            self.issued.iter().filter(|issued| issued.revoked.is_some() && now() <= issued.valid.1);
        self.folder.write_public(&self.list_file(), &self.signer.revocations(current)?)
    }
}

fn read_issued(path: &Path) -> Result<Vec<Issued>> {
    let wrong = |what: &str| {
        Error::new(ErrorKind::InvalidSource, "read the list of certificates", what.to_owned())
            .with("path", path.display())
            .fix("restore the file from a backup: without it no certificate can be revoked")
    };
    let text =
        plain_file::read_text(path, ISSUED_BYTES_MAX).map_err(|error| wrong(&error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let list = value.as_array().ok_or_else(|| wrong("it is not a list"))?;
    list.iter()
        .map(|entry| Issued::of_json(entry).ok_or_else(|| wrong("an entry is damaged")))
        .collect()
}
