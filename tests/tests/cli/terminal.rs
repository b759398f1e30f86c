//! What a person sees on a terminal: how far large arrays are, and nothing in colour that was not
//! asked for.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_tests::{PATIENCE, Server, Transport, battery};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::cli::Shell;

/// Bytes of an array that takes its time, and the time that it takes each way: far more than
/// sockets buffer.
const BYTES: usize = 16 << 20;
const SECONDS: u32 = 2;

/// A terminal, of which a test reads what a program writes to it.
struct Terminal {
    master: File,
    slave: File,
}

impl Terminal {
    fn new(columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
            .unwrap();
        Terminal { master: File::from(master), slave }
    }

    fn end(&self) -> Stdio {
        self.slave.try_clone().unwrap().into()
    }

    /// Reads until `page` was written twice, and gives all that was read.
    fn wait_for_two(&self, page: &str) -> String {
        let mut text = Vec::new();
        let mut piece = [0; 4096];
        let end = Instant::now() + PATIENCE;
        while String::from_utf8_lossy(&text).matches(page).count() < 2 {
            let left = end.saturating_duration_since(Instant::now()).try_into().unwrap();
            let ready = poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&left)).unwrap();
            assert!(ready > 0, "{:?}", String::from_utf8_lossy(&text));
            let count = (&self.master).read(&mut piece).unwrap();
            text.extend_from_slice(&piece[..count]);
        }
        String::from_utf8(text).unwrap()
    }

    /// What was written to it by the time that nobody has it open any more, and the program's exit
    /// status.
    fn shown(self, mut child: Child) -> (String, i32) {
        let Terminal { mut master, slave } = self;
        drop(slave);
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            // The end of a terminal is an error.
            let _ = master.read_to_end(&mut text);
            String::from_utf8(text).unwrap()
        });
        let status = child.wait().unwrap();
        (reader.join().unwrap(), status.code().unwrap_or(-1))
    }
}

/// Passes a connection on, slowly.
fn slow_link(to: &str) -> String {
    let to = to.strip_prefix("farcall://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 64 << 10).unwrap();
    let address = format!("farcall://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = TcpStream::connect(to).unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&far, 64 << 10).unwrap();
        let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
        ways.into_iter().for_each(|(from, to)| drop(std::thread::spawn(move || pass_on(from, to))));
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = vec![0; BYTES / 100];
    let pause = Duration::from_secs(SECONDS.into()) / 100;
    while let Ok(count @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
        // As long as the link would have been busy with it.
        std::thread::sleep(pause.mul_f64(count as f64 / piece.len() as f64));
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A call that sends and receives a large array over a slow link, with standard error on a
/// terminal.
fn watched(
    shell: &Shell,
    server: &Server,
    columns: u16,
    options: &[&str],
    environment: &[(&str, &str)],
) -> String {
    let terminal = Terminal::new(columns);
    let address = slow_link(server.address());
    let out = format!("y={}.npy", address.rsplit(':').next().unwrap());
    let mut call = shell.command(&["call", "echo", "@x.npy", "--out", &out, "--server", &address]);
    call.args(options)
        .env("FARCALL_TOKEN_FILE", server.token().unwrap())
        .env("FARCALL_COMPRESSION", "off");
    call.env("TERM", "xterm").envs(environment.iter().copied());
    let child = call.stdout(Stdio::null()).stderr(terminal.end()).spawn().unwrap();
    // The command keeps its end open.
    drop(call);
    let (text, status) = terminal.shown(child);
    assert_eq!(status, 0, "{text}");
    text
}

/// A NumPy file of bytes.
fn array(shell: &Shell) {
    let mut head =
        format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({BYTES},), }}").into_bytes();
    head.resize(117, b' ');
    head.push(b'\n');
    let head = [b"\x93NUMPY\x01\x00", &118_u16.to_le_bytes()[..], &head].concat();
    std::fs::write(shell.path("x.npy"), [head, vec![7; BYTES]].concat()).unwrap();
}

#[test]
fn large_arrays_show_how_far_they_are() {
    let shell = Shell::new();
    array(&shell);
    let server = Server::start(Transport::Tcp, &[battery(false)], &[]);
    let see =
        |columns, options, environment| watched(&shell, &server, columns, options, environment);
    std::thread::scope(|scope| {
        let wide = scope.spawn(|| see(80, &[], &[("NO_COLOR", "1")]));
        let narrow = scope.spawn(|| see(20, &[], &[]));
        let nothing = [
            scope.spawn(|| see(80, &["--quiet"], &[])),
            scope.spawn(|| see(80, &["--json"], &[])),
            scope.spawn(|| see(81, &[], &[("TERM", "dumb")])),
            scope.spawn(|| see(82, &[], &[("TERM", "")])),
        ];
        let wide = wide.join().unwrap();
        let narrow = narrow.join().unwrap();
        check_lines(&wide, 80);
        for (word, seen) in [("sending", &wide), ("receiving", &wide)] {
            let line = seen.split('\r').filter(|line| line.starts_with(word)).nth(3);
            let line = line.unwrap_or_else(|| panic!("{word}: {seen:?}"));
            assert!(
                line.contains(" of 16.0 MiB, ") && line.contains("/s, ") && line.contains(" % ["),
                "{line:?}"
            );
        }
        check_lines(&narrow, 20);
        assert!(narrow.split('\r').any(|line| line.trim_end().ends_with(" %")), "{narrow:?}");
        for one in nothing {
            let seen = one.join().unwrap();
            // On a busy machine a call may wait in the queue, and says so.
            let more: Vec<&str> =
                seen.lines().filter(|line| !line.contains("waits in the queue")).collect();
            assert!(more.is_empty(), "{more:?}");
        }
    });
}

/// One line that is written over, never wraps and is taken away in the end; nothing that a terminal
/// would obey.
fn check_lines(seen: &str, columns: usize) {
    assert!(seen.split('\r').all(|line| line.len() < columns), "{seen:?}");
    assert!(seen.chars().all(|c| c == '\r' || c == ' ' || c.is_ascii_graphic()), "{seen:?}");
    let last = seen.trim_end_matches('\r').rsplit('\r').next().unwrap();
    assert!(seen.ends_with('\r') && last.trim().is_empty() && !last.is_empty(), "{seen:?}");
}

/// What a command writes to a terminal, and its exit status.
pub fn on_terminal(
    shell: &Shell,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (String, i32) {
    shown_by(shell.command(arguments), environment)
}

/// The same of any program.
pub fn shown_by(mut command: Command, environment: &[(&str, &str)]) -> (String, i32) {
    let terminal = Terminal::new(100);
    let child = {
        // CI too decides on colours: build services show them without a terminal that could.
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm");
        command
            .envs(environment.iter().copied())
            .stdout(terminal.end())
            .stderr(terminal.end())
            .spawn()
            .unwrap()
    };
    // The command keeps its ends open.
    drop(command);
    terminal.shown(child)
}

/// The commands that the help lists.
pub fn verbs(shell: &Shell) -> Vec<String> {
    let help = shell.good(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs =
        listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    verbs.filter(|verb| !verb.is_empty()).map(str::to_owned).collect()
}

#[test]
fn colour_is_for_terminals_whose_owner_wants_it() {
    const ESCAPE: char = '\x1b';
    let shell = Shell::new();
    let verbs = verbs(&shell);
    assert!(verbs.len() > 14 && verbs.contains(&"doctor".to_owned()), "{verbs:?}");
    for verb in &verbs {
        for (arguments, wrong) in
            [([verb.as_str(), "--help"], 0), ([verb.as_str(), "--colourful"], 2)]
        {
            if verb == "help" {
                continue;
            }
            let piped = shell.run(&arguments);
            assert_eq!(piped.code, wrong, "{arguments:?}");
            assert!(!piped.out.contains(ESCAPE) && !piped.err.contains(ESCAPE), "{arguments:?}");
            for environment in [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb")] {
                let (text, _) = on_terminal(&shell, &arguments, &[environment]);
                assert!(!text.contains(ESCAPE), "{arguments:?} {environment:?}: {text:?}");
            }
            // An empty variable counts as none: no-color.org.
            let (text, status) = on_terminal(&shell, &arguments, &[("NO_COLOR", "")]);
            assert!(status == wrong && text.contains(ESCAPE), "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn what_others_wrote_commands_no_terminal() {
    let shell = Shell::new();
    let body = "extern int dprintf(int, const char *, ...); extern void abort(void); dprintf(2, \
        \"\\033[31mred\\n\"); abort();";
    let file = shell.folder.write("red.idl", &format!("Define red(IN int n) {{ {body} }}\n"));
    let file = file.to_str().unwrap();
    // Its last words come from the server, the name of a file from whoever made it.
    let cases = [
        (&["call", "red", "1", "--publish", file][..], 4),
        (&["check", "\x1b[31mred.idl"], 3),
        (&["call", "\x1b[31mred"], 3),
    ];
    for (arguments, status) in cases {
        let (shown, found) = on_terminal(&shell, arguments, &[]);
        assert!(
            found == status && !shown.contains('\x1b') && shown.contains("[31mred"),
            "{found} {shown:?}"
        );
    }
}

#[test]
fn answers_are_plain_on_terminals_too() {
    let shell = Shell::new();
    shell.folder.write("wrong.idl", "Module wrong;\nDefine f(IN int n");
    shell.folder.write(
        "good.idl",
        "Module good;   Library \"libm.so.6\";\nDefine f(IN double x, OUT double r) Calls \"C\" r \
            = cos(x);\n",
    );
    let server = Server::start(Transport::Unix, &[shell.path("good.idl")], &[]);
    let address = ["--server", server.address()];
    let plain = |arguments: &[&str], status: i32, word: &str| {
        let (text, found) = on_terminal(&shell, arguments, &[]);
        assert!(
            found == status && text.contains(word) && !text.contains('\x1b'),
            "{arguments:?}: {found} {text:?}"
        );
    };
    for (arguments, status, word) in [
        (&["ls"][..], 0, "good/f"),
        (&["ls", "--json"], 0, "good/f"),
        (&["show", "f"], 0, "Arguments"),
        (&["call", "f", "0"], 0, "r = 1"),
        (&["call", "g", "0"], 3, "no routine"),
        (&["call", "f", "zero"], 2, "zero"),
        (&["top", "--once"], 0, "MODULE"),
        (&["reload"], 0, "good"),
        (&["publish", "wrong.idl"], 2, "wrong.idl:2"),
        (&["withdraw", "good"], 0, ""),
        (&["drain"], 0, ""),
    ] {
        plain(&[arguments, &address].concat(), status, word);
    }
    plain(&["check", "wrong.idl"], 2, "wrong.idl:2");
    plain(&["fmt", "--check", "good.idl"], 1, "needs formatting");
    plain(&["ca", "init", "--server", "localhost", "--folder", "ca"], 0, "ca");
    plain(&["ca", "list", "--folder", "ca"], 0, "server");
    plain(&["service"], 0, "[Unit]");
}

#[test]
fn a_terminal_that_cannot_go_back_gets_pages_one_after_the_other() {
    let shell = Shell::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let watch = |name: &str, page: &str| {
        let terminal = Terminal::new(100);
        let child = {
            let mut top =
                shell.command(&["top", "--interval", "0.05", "--server", server.address()]);
            top.env("TERM", name).stdout(terminal.end()).stderr(Stdio::null()).spawn().unwrap()
        };
        let seen = terminal.wait_for_two(page);
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        seen + &terminal.shown(child).0
    };
    watch("xterm", "\x1b[H\x1b[J");
    let dumb = watch("dumb", "0 waiting, 0.0 a second");
    assert!(!dumb.contains('\x1b'), "{dumb:?}");
}
