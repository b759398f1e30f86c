//! `farcall ca`: a private authority, and the certificates that let servers and users know each
//! other.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use farcall_authority::{Authority, BUSY_MAX, Issued, Kind, Order, authority_folder};
use farcall_base::{Error, ErrorKind, Result};
use farcall_rpc_server::access::check_name;
use farcall_transport_tls::{date, is_host, is_name, is_server_name};
use serde_json::{Value, json};

use crate::output::{at_most, notice, print, print_json};

/// The authority, and what it does.
#[derive(Args)]
pub struct CaArguments {
    /// Directory of the certificate authority [default: $FARCALL_CA, or ~/.config/farcall/ca]
    #[arg(long, value_name = "DIR", global = true)]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    command: CaCommand,
}

#[derive(Subcommand)]
enum CaCommand {
    /// Create an authority and a server certificate
    Init(InitArguments),
    /// Create a certificate for another server, or replace a server's certificate. It serves, and
    /// lets the server join others as server:HOST, with the first host
    Server(ServerArguments),
    /// Create a user's certificate: one file to give to that user
    User(UserArguments),
    /// Renew a certificate before it expires
    Renew(RenewArguments),
    /// Revoke all certificates of a user or server
    Revoke(NameArguments),
    /// List all certificates
    List(ListArguments),
}

#[derive(Args)]
struct Validity {
    /// Days until the certificate expires
    #[arg(
        long,
        default_value_t = 365,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=3650),
    )]
    days: u32,
}

#[derive(Args)]
struct InitArguments {
    /// Host names and addresses of the server, as clients use them
    #[arg(long, value_name = "HOST[,HOST]", value_delimiter = ',', required = true)]
    server: Vec<String>,
    #[command(flatten)]
    validity: Validity,
}

#[derive(Args)]
struct ServerArguments {
    /// Host names and addresses of the server, as clients use them
    #[arg(value_name = "HOST[,HOST]", value_delimiter = ',', required = true)]
    hosts: Vec<String>,
    /// File to write [default: server.pem in the authority's directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    validity: Validity,
}

#[derive(Args)]
struct UserArguments {
    /// Name of the user in tables of rights and logs; server:HOST is for servers
    name: String,
    /// File to write [default: users/NAME.pem in the authority's directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    validity: Validity,
}

#[derive(Args)]
struct RenewArguments {
    /// The user, or the first host name of a server (or server:HOST)
    name: String,
    #[command(flatten)]
    validity: Validity,
}

#[derive(Args)]
struct NameArguments {
    /// The user, or the first host name of a server (or server:HOST)
    name: String,
}

#[derive(Args)]
struct ListArguments {
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Runs a command of the authority.
pub fn ca(arguments: &CaArguments) -> Result<()> {
    let folder = arguments.folder.clone().unwrap_or_else(authority_folder);
    if let CaCommand::Init(init) = &arguments.command {
        // Before anything is made.
        check_hosts(&init.server)?;
        return make_server(
            &mut Authority::create(&folder, at_most(BUSY_MAX))?,
            &init.server,
            None,
            init.validity.days,
        );
    }
    let mut authority = Authority::open(&folder, at_most(BUSY_MAX))?;
    match &arguments.command {
        CaCommand::Init(_) => Ok(()),
        CaCommand::Server(server) => {
            check_hosts(&server.hosts)?;
            make_server(&mut authority, &server.hosts, server.out.clone(), server.validity.days)
        }
        CaCommand::User(user) => make_user(&mut authority, user),
        CaCommand::Renew(renew) => make_again(&mut authority, renew),
        CaCommand::Revoke(revoke) => take_back(&mut authority, &revoke.name),
        CaCommand::List(list) => show(&authority, list.json),
    }
}

fn check_hosts(hosts: &[String]) -> Result<()> {
    let Some(host) = hosts.iter().find(|host| !is_host(host)) else { return Ok(()) };
    let message = format!("\"{host}\" cannot be a host");
    Err(Error::new(ErrorKind::InvalidArgument, "make a certificate", message).fix(
        "write names or addresses as clients use them, separated by commas: \
            cluster.example,10.0.0.1",
    ))
}

/// The file's path goes to standard output, for programs; the rest is for people.
fn made(issued: &Issued) -> Result<()> {
    print(|out| writeln!(out, "{}", issued.file.display()))
}

fn make_server(
    authority: &mut Authority,
    hosts: &[String],
    out: Option<PathBuf>,
    days: u32,
) -> Result<()> {
    let file = out.clone().unwrap_or_else(|| authority.server_file());
    let elsewhere = out.is_some();
    // An IPv6 address cannot stand in tables and file names.
    let name = hosts.iter().find(|host| is_name(host)).map_or("server", String::as_str).to_owned();
    let order = Order { kind: Kind::Server, name, hosts: hosts.to_vec(), days, file };
    let list = authority.list_file();
    let issued = authority.issue(&order)?;
    made(issued)?;
    let until = date(issued.valid.1);
    let joins = match issued.principal() {
        Some(principal) => format!("to other servers it is \"{principal}\""),
        None => "it cannot join another server, because it names no single host".to_owned(),
    };
    let hosts = hosts.join(", ");
    if elsewhere {
        notice(&format!(
            "a server certificate for {hosts}, valid until {until}; {joins}; put {} next to it",
            list.display()
        ));
    } else {
        notice(&format!(
            "a server certificate for {hosts}, valid until {until}; {joins}; serve: farcall serve \
                --listen tls://0.0.0.0:7070"
        ));
    }
    Ok(())
}

fn make_user(authority: &mut Authority, user: &UserArguments) -> Result<()> {
    // Of a server's name the authority itself tells more.
    if check_name(&user.name).is_err() && !is_server_name(&user.name) {
        let message = format!("\"{}\" is the name of another kind of user", user.name);
        return Err(Error::new(ErrorKind::InvalidArgument, "make a certificate", message)
            .fix("use the name of a person or a machine"));
    }
    if let Some(valid) = authority.valid(&user.name) {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "make a certificate",
            format!("\"{}\" has a certificate until {}", user.name, date(valid.valid.1)),
        )
        .with("path", valid.file.display())
        .fix(format!(
            "renew it with farcall ca renew {0}, or revoke it with farcall ca revoke {0}",
            user.name
        )));
    }
    let file = user.out.clone().unwrap_or_else(|| authority.user_file(&user.name));
    let order = Order {
        kind: Kind::User,
        name: user.name.clone(),
        hosts: Vec::new(),
        days: user.validity.days,
        file,
    };
    give(authority.issue(&order)?)
}

fn give(issued: &Issued) -> Result<()> {
    made(issued)?;
    notice(&format!(
        "give this file only to {}; it is valid until {} and goes to \
            ~/.config/farcall/credentials.pem with mode 600",
        issued.name,
        date(issued.valid.1)
    ));
    Ok(())
}

fn make_again(authority: &mut Authority, renew: &RenewArguments) -> Result<()> {
    let last = authority.last(&renew.name)?.clone();
    if last.revoked.is_some() {
        let message = format!("the certificate of \"{}\" was revoked", last.name);
        let fix = "create a new one: farcall ca user NAME, or farcall ca server HOST";
        return Err(Error::new(ErrorKind::InvalidArgument, "renew a certificate", message).fix(fix));
    }
    let Issued { kind, name, hosts, file, .. } = last;
    let issued = authority.issue(&Order { kind, name, hosts, days: renew.validity.days, file })?;
    match kind {
        Kind::User => give(issued),
        Kind::Server => {
            made(issued)?;
            let joins =
                issued.principal().map(|name| format!("; to other servers it is \"{name}\""));
            notice(&format!(
                "valid until {}; a running server reads it by itself{}",
                date(issued.valid.1),
                joins.unwrap_or_default()
            ));
            Ok(())
        }
    }
}

fn take_back(authority: &mut Authority, name: &str) -> Result<()> {
    let count = authority.revoke(name)?;
    let list = authority.list_file();
    print(|out| writeln!(out, "{}", list.display()))?;
    notice(&match count {
        0 => format!("\"{name}\" had no valid certificate"),
        _ => format!(
            "{count} of \"{name}\" revoked; servers that read this list refuse it from now on, on \
             other machines after it is copied there"
        ),
    });
    Ok(())
}

fn show(authority: &Authority, as_json: bool) -> Result<()> {
    if as_json {
        let entry = |issued: &Issued| {
            let mut value = issued.json();
            value["state"] = json!(issued.state());
            value
        };
        let list: Vec<Value> = authority.issued().iter().map(entry).collect();
        return print_json(&Value::from(list));
    }
    let width = authority.issued().iter().map(|issued| issued.name.len()).max().unwrap_or(0);
    print(|out| {
        authority.issued().iter().try_for_each(|issued| {
            let kind = if issued.kind == Kind::User { "user  " } else { "server" };
            let line = format!(
                "{:width$}  {kind}  {:7}  until {}",
                issued.name,
                issued.state(),
                date(issued.valid.1)
            );
            match issued.hosts.as_slice() {
                [] => writeln!(out, "{line}"),
                hosts => writeln!(out, "{line}  for {}", hosts.join(", ")),
            }
        })
    })
}
