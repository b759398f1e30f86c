//! Manual pages: what the command line says of itself, and what a reader of manuals looks for
//! behind it.

use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

/// What each page says of statuses (docs/reference/cli.md).
const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "success"),
    ("1", "everything else: timeout, lost connection, wrong token, a full disk"),
    ("2", "a mistake in the command, its arguments, or a file"),
    ("3", "no such routine, file or server; a library, symbol or compiler is missing"),
    ("4", "the routine crashed, exited, or reported failure"),
];

/// The variables that people set; all are in docs/reference/cli.md.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("FARCALL_SERVER", "the server that commands and programs use"),
    ("FARCALL_TOKEN_FILE", "the token file for a TCP server"),
    (
        "FARCALL_CREDENTIALS",
        "the file with your certificate and key, for a TLS server, or a directory with one for \
            each authority",
    ),
    ("FARCALL_TIMEOUT", "seconds for a whole command"),
    ("FARCALL_SSH", "the program to run for ssh:// addresses (ssh)"),
    ("NO_COLOR", "if not empty, no colors"),
];

/// What people do with a command: what for, and the command line.
fn examples(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "ls" => &[("The routines whose names begin with dge:", "farcall ls 'dge*'")],
        "show" => &[("What dgesv takes and gives:", "farcall show dgesv")],
        "call" => &[
            ("Solve a system of equations:", "farcall call dgesv A.npy b.npy --out x=x.npy"),
            ("Publish a file for one call:", "farcall call --publish sum.idl add 1 2"),
        ],
        "submit" => &[("A call that runs on without you:", "id=$(farcall submit simulate 1000)")],
        "fetch" => {
            &[("Its results, when they are there:", "farcall fetch $id --out field=field.npy")]
        }
        "kept" => &[("The calls that wait for you:", "farcall kept")],
        "data" => &[("Delete all your data:", "farcall data --delete all")],
        "transactions" => &[
            ("When and where the calls of one ran:", "farcall transactions 1f0e"),
            ("End all of yours:", "farcall transactions --end all"),
        ],
        "serve" => &[
            ("A server for your own programs:", "farcall serve solver.idl"),
            (
                "A server on a network:",
                "farcall serve --listen tls://0.0.0.0:7070 --credentials server.pem solver.idl",
            ),
        ],
        "connect" => {
            &[("Your server on the login node of a cluster:", "farcall connect anna@cluster")]
        }
        "publish" => &[("One more module on the running server:", "farcall publish solver.idl")],
        "withdraw" => &[("Remove it again:", "farcall withdraw solver")],
        "reload" => &[("After you compiled the library again:", "farcall reload solver")],
        "drain" => &[("Stop within a minute:", "farcall drain --timeout 60")],
        "top" => &[("One page for a log:", "farcall top --once")],
        "objects" => &[("The objects that are held:", "farcall objects")],
        "jobs" => &[("Cancel job number 3:", "farcall jobs --cancel 3")],
        "launch" => &[("The launcher of a server that uses Slurm:", "farcall launch slurm")],
        "doctor" => &[("What is wrong with this host:", "farcall doctor")],
        "service" => &[(
            "Run a server from the start of the machine:",
            "farcall service solver.idl > ~/.config/systemd/user/farcall.service",
        )],
        "ca" => &[
            (
                "An authority and a server's certificate:",
                "farcall ca init --server solver.example.org",
            ),
            ("A certificate for a user:", "farcall ca user anna"),
        ],
        "check" => &[("Compile the code, too:", "farcall check --link solver.idl")],
        "fmt" => &[("Format in place:", "farcall fmt solver.idl")],
        "scan" => &[
            ("Draft and compile:", "farcall scan heat.f90 --build"),
            ("A library of many sources:", "farcall scan src --output solver.idl --build"),
        ],
        "ng" => &[("What ng_gen does:", "farcall ng gen sample.idl")],
        "completions" => &[("For this shell:", "source <(farcall completions bash)")],
        "man" => &[("For this user:", "farcall man ~/.local/share/man/man1")],
        _ => &[("The routines of LAPACK:", "farcall ls --publish lapack")],
    }
}

/// Writes a page for the program, each command and each of its parts.
///
/// # Errors
/// What the system says.
pub fn write(whole: &Command, folder: &Path) -> io::Result<()> {
    let mut whole = whole.clone();
    whole.build();
    let commands: Vec<String> = whole
        .get_subcommands()
        .map(Command::get_name)
        .filter(|name| *name != "help")
        .map(|name| format!("farcall-{name}(1)"))
        .collect();
    page(&whole, "", &commands, folder)?;
    for command in whole.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_name();
        let parts: Vec<&Command> =
            command.get_subcommands().filter(|part| part.get_name() != "help").collect();
        let mut also = vec!["farcall(1)".to_owned()];
        also.extend(parts.iter().map(|part| format!("farcall-{name}-{}(1)", part.get_name())));
        page(command, name, &also, folder)?;
        for part in parts {
            page(part, name, &[format!("farcall-{name}(1)")], folder)?;
        }
    }
    Ok(())
}

fn page(command: &Command, name: &str, also: &[String], folder: &Path) -> io::Result<()> {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)?;
    text.extend(section("EXAMPLES", examples(name), |(what, line)| {
        format!(".PP\n{}\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", escaped(what), escaped(line))
    }));
    let tagged = |(name, what): &(&str, &str)| format!(".TP\n\\fB{name}\\fR\n{}\n", escaped(what));
    text.extend(section("ENVIRONMENT", &ENVIRONMENT, tagged));
    text.extend(section("EXIT STATUS", &EXIT_STATUS, tagged));
    text.extend(format!(".SH \"SEE ALSO\"\n{}\n", escaped(&also.join(", "))).into_bytes());
    std::fs::File::create(folder.join(man.get_filename()))?.write_all(&text)
}

fn section<T>(title: &str, entries: &[T], write: impl Fn(&T) -> String) -> Vec<u8> {
    let text: String = entries.iter().map(write).collect();
    format!(".SH \"{title}\"\n{text}").into_bytes()
}

/// Text that roff does not take for requests.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq")
}
