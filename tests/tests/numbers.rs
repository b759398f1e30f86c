//! Numbers that strangers, files, callers and containers give: none costs more than it may, and
//! nobody else pays for it.

use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farcall_client::{Argument, Array, ArrayMut, Client, ErrorKind};
use farcall_tests::{Directory, Raw, Server, Transport, eventually, manifest, manifest_of, share};
use farcall_wire::{FrameKind, Request};

/// A memory cgroup of version 1 that a test may fill.
struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    /// `None` where none can be made: in many containers, and without root.
    fn new(name: &str, bytes: u64) -> Option<MemoryCgroup> {
        let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = text.lines().find_map(|line| line.split_once(":memory:"))?.1;
        let base = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let cgroup = base.join(format!("farcall-numbers-{}-{name}", std::process::id()));
        std::fs::create_dir(&cgroup).ok()?;
        let made = MemoryCgroup(cgroup);
        std::fs::write(made.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(made)
    }

    /// Starts a server in it.
    fn serve(&self, transport: Transport, options: &[&str]) -> Server {
        let door = self.0.join("cgroup.procs");
        let enter = format!("echo $$ > {} && exec \"$0\" \"$@\"", door.display());
        Server::start_within(&["sh", "-c", &enter], transport, &[share(false)], options).unwrap()
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        let _ = eventually(|| std::fs::remove_dir(&self.0).is_ok());
    }
}

fn skipped() {
    eprintln!("skipped: no memory cgroup of version 1 can be made here");
}

fn shared(client: &Client, way: i32, megabytes: i64) -> Result<i32, farcall_client::Error> {
    let outputs = client
        .routine("share")
        .unwrap()
        .call([("way", way.into()), ("megabytes", megabytes.into())])?;
    Ok(outputs.scalar("got").unwrap())
}

fn twice(client: &Client, count: usize) -> Result<f64, farcall_client::Error> {
    let x = vec![1.5; count];
    let mut y = vec![0.0; count];
    let arguments = [("x", Array::vector(&x).into()), ("y", ArrayMut::vector(&mut y).into())];
    client.routine("twice").unwrap().call(arguments)?;
    Ok(y.iter().sum())
}

#[test]
fn memory_that_a_routine_shares_counts_toward_its_limit() {
    if MemoryCgroup::new("probe", 1 << 30).is_none() {
        return skipped();
    }
    for linked in [false, true] {
        let folder = Directory::new();
        let limits = "limits.memory_bytes_max = 64_000_000\nlimits.required = true";
        let manifest = folder.write("farcall.toml", &manifest_of("executables_max = 2", limits));
        let server = Server::start(
            Transport::Unix,
            &[share(linked)],
            &["--manifest", manifest.to_str().unwrap()],
        );
        let client = server.client();
        for way in 0..5 {
            // Less than the limit; System V memory is refused altogether.
            assert_eq!(
                shared(&client, way, 16).unwrap(),
                if way == 3 { -1 } else { 16 },
                "way {way}"
            );
            match shared(&client, way, 200) {
                Ok(got) => assert_eq!(got, -1, "way {way}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "way {way}: {error}");
                    assert!(error.to_string().contains("limits.memory_bytes_max"), "{error}");
                }
            }
        }
        // Arguments are none of it, whoever touches them first.
        assert_eq!(twice(&client, 12_000_000).unwrap(), 36e6);
        assert_eq!(twice(&client, 12_000_000).unwrap(), 36e6);
    }
}

#[test]
fn arguments_over_tcp_do_not_count_toward_the_limit_of_a_routine() {
    let folder = Directory::new();
    let manifest =
        folder.write("farcall.toml", &manifest_of("", "limits.memory_bytes_max = 64_000_000"));
    let server =
        Server::start(Transport::Tcp, &[share(false)], &["--manifest", manifest.to_str().unwrap()]);
    assert_eq!(twice(&server.client(), 12_000_000).unwrap(), 36e6);
}

#[test]
fn executables_end_before_their_server_where_memory_is_wanting() {
    let server = Server::start(Transport::Unix, &[share(false)], &[]);
    assert_eq!(shared(&server.client(), 0, 1).unwrap(), 1);
    let points = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
        text.trim().parse::<i32>().unwrap()
    };
    let own = points(server.pid());
    let theirs = server.children();
    assert!(
        !theirs.is_empty() && theirs.iter().all(|pid| points(*pid) >= (own + 500).min(700)),
        "{own}: {theirs:?}"
    );
}

#[test]
fn in_a_small_container_a_large_call_fails_alone() {
    let Some(cgroup) = MemoryCgroup::new("small", 200 << 20) else { return skipped() };
    let server = cgroup.serve(Transport::Tcp, &[]);
    let client = server.client();
    let error = twice(&client, 20_000_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("call_bytes_max"), "{error}");
    // Calls that may be made are made, one after the other and together; one more than there is
    // room for is told.
    assert_eq!(twice(&client, 4_000_000).unwrap(), 12e6);
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..6).map(|_| scope.spawn(|| twice(&server.client(), 5_000_000))).collect();
        for call in calls {
            match call.join().unwrap() {
                Ok(sum) => assert_eq!(sum, 15e6),
                Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}"),
            }
        }
    });
    // A routine that takes more than there is ends, and its server does not.
    for way in [0, 1] {
        let error = shared(&client, way, 250).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    }
    assert_eq!(shared(&client, 0, 1).unwrap(), 1);
}

/// Connects again and again, and never says anything.
fn crowd(port: u16, is_over: &AtomicBool) -> usize {
    let mut held: Vec<TcpStream> = Vec::new();
    let mut ended: usize = 0;
    while !is_over.load(Ordering::Relaxed) {
        while held.len() < 60
            && let Ok(stream) = TcpStream::connect(("127.0.0.1", port))
        {
            stream.set_nonblocking(true).unwrap();
            held.push(stream);
        }
        // The greeting, and then a goodbye.
        held.retain_mut(|stream| {
            let mut bytes = [0; 4096];
            loop {
                match stream.read(&mut bytes) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == IoErrorKind::WouldBlock => return true,
                    _ => break ended += 1,
                }
            }
            false
        });
        std::thread::sleep(Duration::from_millis(5));
    }
    ended
}

#[test]
fn strangers_without_the_token_keep_nobody_out() {
    let folder = Directory::new();
    let manifest =
        folder.write("farcall.toml", &manifest("connections_max = 20\ngreetings_max = 8"));
    let server =
        Server::start(Transport::Tcp, &[share(false)], &["--manifest", manifest.to_str().unwrap()]);
    let port = server.address().rsplit_once(':').unwrap().1.parse().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let crowd = scope.spawn(|| crowd(port, &is_over));
        let outcomes: Vec<_> = (0..10)
            .map(|_| {
                server.connect().and_then(|client| shared(&client, 0, 1)).map_err(|e| e.to_string())
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(outcomes, vec![Ok(1); 10]);
        assert!(crowd.join().unwrap() > 0, "strangers were told to go");
    });
}

/// Questions and calls come faster than they are answered, and their client reads all answers.
fn flood(server: &Server) {
    let raw = Raw::greeted(server);
    let reader = TcpStream::from(raw.socket().try_clone_to_owned().unwrap());
    let mut writer = reader.try_clone().unwrap();
    std::thread::scope(|scope| {
        let reads = scope.spawn(move || {
            let mut reader = reader;
            let mut bytes = vec![0; 1 << 20];
            reader.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
            let since = Instant::now();
            while since.elapsed() < Duration::from_secs(5)
                && reader.read(&mut bytes).is_ok_and(|count| count > 0)
            {}
            let _ = reader.shutdown(std::net::Shutdown::Both);
        });
        let mut channel = 1;
        let mut bytes = Vec::new();
        while channel < 250_000 {
            bytes.clear();
            for _ in 0..200 {
                bytes.extend(Raw::encoded(FrameKind::Request, channel, &Request::List));
                channel += 2;
            }
            // It is told when it has had enough, and takes no more when the reader has gone.
            if writer.write_all(&bytes).is_err() {
                break;
            }
        }
        reads.join().unwrap();
    });
}

#[test]
fn questions_that_come_faster_than_their_answers_cost_little_memory() {
    let Some(cgroup) = MemoryCgroup::new("floods", 256 << 20) else { return skipped() };
    let server = cgroup.serve(Transport::Tcp, &[]);
    let client = server.client();
    assert_eq!(twice(&client, 3).unwrap(), 9.0);
    let before = peak_megabytes(server.pid());
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| flood(&server))));
        // Others are answered meanwhile.
        (0..3).for_each(|_| assert_eq!(twice(&server.client(), 3).unwrap(), 9.0));
    });
    let after = peak_megabytes(server.pid());
    assert!(after < before + 64, "{before} MB became {after}");
    assert_eq!(twice(&client, 3).unwrap(), 9.0);
}

fn peak_megabytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[test]
fn a_small_file_of_a_large_shape_costs_no_memory() {
    let folder = Directory::new();
    let place = folder.0.display().to_string();
    let fetcher = format!(
        "{}[[plugin]]\nname = \"fetcher\"\nslot = \"fetcher\"\noptions = {{ allow = [{{ from = \
            [\"file:{place}/\"] }}] }}\n",
        manifest("")
    );
    let manifest = folder.write("farcall.toml", &fetcher);
    let market = |rest: &str| format!("%%MatrixMarket matrix {rest}\n");
    let numpy = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes
    };
    let long = folder.write_bytes("long.npy", &numpy("40000000,"));
    // It has all the numbers that it announces, as holes.
    std::fs::OpenOptions::new().write(true).open(&long).unwrap().set_len(320_000_000).unwrap();
    folder.write("square.mtx", &market("coordinate real general\n8000 8000 1\n1 1 1.0"));
    folder.write("tall.mtx", &market("coordinate real general\n60000000 1 1\n1 1 1.0"));
    folder.write("dense.mtx", &market("array complex general\n20000 10000\n1 1"));
    folder.write_bytes("tall.npy", &numpy("1000000000,"));
    folder.write_bytes("deep.npy", &numpy("4, 1000, 1000, 100"));
    let server = Server::start(
        Transport::Unix,
        &[share(false)],
        &["--manifest", manifest.to_str().unwrap()],
    );
    let client = server.client();
    let before = peak_megabytes(server.pid());
    for name in ["long.npy", "square.mtx", "tall.mtx", "dense.mtx", "tall.npy", "deep.npy"] {
        let url = format!("file:{place}/{name}");
        let mut y = [0.0; 4];
        let arguments = [("x", Argument::Url(url)), ("y", ArrayMut::vector(&mut y).into())];
        let error = client.routine("four").unwrap().call(arguments).err().unwrap();
        assert!(error.to_string().contains("its shape differs"), "{name}: {error}");
    }
    let grown = peak_megabytes(server.pid()) - before;
    assert!(grown < 30, "{grown} MB");
    // The command reads such a file itself, in less memory than one of them has.
    for name in ["square.mtx", "tall.mtx", "dense.mtx", "tall.npy", "long.npy"] {
        let limited = format!(
            "ulimit -v 400000; exec \"$0\" call four x=@{place}/{name} --server {}",
            server.address()
        );
        let program = farcall_tests::program();
        let output =
            std::process::Command::new("sh").args(["-c", &limited]).arg(program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the routine needs 4 numbers"), "{name}: {said}");
    }
}

/// Every number of the manifest, as large as it may be written: the line of each, and what it says
/// now.
fn absurd_manifest() -> String {
    let output = std::process::Command::new(farcall_tests::program())
        .args(["serve", "--print-manifest"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let large = |line: &str| match line.split_once(" = ") {
        Some((key, value)) if !line.starts_with('#') && value.parse::<u64>().is_ok() => {
            format!("{key} = {}", i64::MAX)
        }
        _ => line.to_owned(),
    };
    text.lines().map(|line| large(line) + "\n").collect()
}

#[test]
fn absurd_numbers_in_the_manifest_are_refused_with_their_place_or_cost_nothing() {
    let folder = Directory::new();
    let mut lines: Vec<String> = absurd_manifest().lines().map(str::to_owned).collect();
    let mut refused = 0;
    let server = loop {
        let manifest = folder.write("farcall.toml", &lines.join("\n"));
        let options = ["--manifest", manifest.to_str().unwrap()];
        let said = match Server::start_within(&["env"], Transport::Unix, &[share(false)], &options)
        {
            Ok(server) => break server,
            Err(said) => said,
        };
        // Those of 32 bits have a largest number of their own; others are refused for what they
        // mean.
        let place = said.split_once("line: ").unwrap_or_else(|| panic!("{said}")).1;
        let number: usize =
            place.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        let line = &mut lines[number - 1];
        let key = line.split_once(" = ").unwrap().0.to_owned();
        *line = if line.ends_with(&i64::MAX.to_string()) {
            format!("{key} = {}", u32::MAX)
        } else {
            String::new()
        };
        refused += 1;
        assert!(refused < 100, "{said}");
    };
    assert!(refused > 0, "no limit has a largest number");
    assert_eq!(twice(&server.client(), 1000).unwrap(), 3000.0);
    assert!(peak_megabytes(server.pid()) < 100, "{} MB", peak_megabytes(server.pid()));
}

/// The page on numbers, row by row: what holds each is in the sources or the manifest, and its test
/// is there.
#[test]
fn each_row_of_the_page_on_numbers_is_held_by_something() {
    let root = farcall_tests::root();
    let page = std::fs::read_to_string(root.join("docs/explanation/numbers.md")).unwrap();
    let manifest = absurd_manifest();
    let sources = sources(&root);
    let is_there = |needle: &str| sources.iter().any(|source| source.contains(needle));
    let words =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [.., bound, test] = cells.as_slice() else { panic!("{row}") };
        for word in words(bound) {
            let is_option = manifest.lines().any(|line| line.starts_with(&format!("{word} = ")));
            let is_constant = is_there(&format!("const {word}:"));
            assert!(is_option || is_constant, "neither an option nor a constant: {word}");
        }
        assert!(!words(bound).is_empty() && !words(test).is_empty(), "{row}");
        for name in words(test) {
            assert!(
                is_there(&format!("fn {name}(")) || is_there(&format!("def {name}(")),
                "no such test: {name}"
            );
        }
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}

/// The text of all Rust and Python sources.
fn sources(root: &Path) -> Vec<String> {
    let mut folders = vec![root.to_path_buf()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "build", ".git"].contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") || name.ends_with(".py") {
                sources.extend(std::fs::read_to_string(path));
            }
        }
    }
    sources
}
