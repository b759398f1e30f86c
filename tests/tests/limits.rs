//! Routines that take more than they are given: each is held, its caller is told, and the server
//! serves on.

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use farcall_client::{Argument, Client, Error, ErrorKind, Outputs};
use farcall_tests::{Directory, Server, Transport, alive, eventually, manifest_of, wild};

/// EPERM, ENOSYS and ENOTSUP: refused by a filter; EACCES: by landlock.
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENOSYS: i32 = 38;
const ENOTSUP: i32 = 95;

/// Whether a cgroup that counts can be made here: in many containers none can.
fn has_cgroups() -> bool {
    ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].iter().any(|place| {
        let cgroup =
            std::path::Path::new(place).join(format!("farcall-limits-{}", std::process::id()));
        let made = std::fs::create_dir(&cgroup).is_ok();
        let counts = made && cgroup.join("pids.max").exists();
        made && std::fs::remove_dir(&cgroup).is_ok() && counts
    })
}

struct Wild {
    server: Server,
    client: Client,
    _folder: Directory,
}

impl Wild {
    /// A server of wild.idl, loaded or linked, with these options of its spawner.
    fn new(linked: bool, limits: &str) -> Wild {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest_of("executables_max = 2", limits));
        let arguments = ["--manifest", manifest.to_str().unwrap()];
        let server = Server::start(Transport::Unix, &[wild(linked)], &arguments);
        let client = server.client();
        Wild { server, client, _folder: folder }
    }

    fn call<const N: usize>(
        &self,
        name: &str,
        arguments: [(&str, Argument<'_>); N],
    ) -> Result<Outputs, Error> {
        self.client.routine(name).unwrap().call(arguments)
    }

    fn number<const N: usize>(
        &self,
        name: &str,
        arguments: [(&str, Argument<'_>); N],
        result: &str,
    ) -> i32 {
        self.call(name, arguments).unwrap().scalar(result).unwrap()
    }

    fn look(&self, file: &str) -> i32 {
        self.number("look", [("file", text(file))], "error")
    }

    fn fill(&self, file: &str, megabytes: i64) -> i32 {
        self.number("fill", [("file", text(file)), ("megabytes", megabytes.into())], "written")
    }

    fn fine(&self) {
        assert_eq!(self.look("/usr"), 0);
    }
}

fn text(text: &str) -> Argument<'static> {
    Argument::from(text)
}

fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn a_call_that_takes_too_long_ends() {
    for linked in [false, true] {
        let wild = Wild::new(linked, "limits.call_seconds_max = 1");
        let begun = Instant::now();
        let error = wild.call("burn", [("n", 0.into())]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        says(&error, &["limits.call_seconds_max: 1", "farcall.toml"]);
        assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
        wild.fine();
    }
}

#[test]
fn processor_time_is_counted_by_call() {
    let wild = Wild::new(false, "limits.processor_seconds_max = 1");
    for _ in 0..2 {
        let error = wild.call("burn", [("n", 0.into())]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        says(&error, &["SIGXCPU", "limits.processor_seconds_max"]);
        wild.fine();
    }
}

#[test]
fn a_leak_meets_its_end_and_the_machine_does_not() {
    for linked in [false, true] {
        let wild = Wild::new(linked, "modules.wild.memory_bytes_max = 200_000_000");
        let megabytes = wild.number("leak", [("careless", 0.into())], "megabytes");
        assert!((50..200).contains(&megabytes), "{megabytes}");
        let error = wild.call("leak", [("careless", 1.into())]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        says(&error, &["limits.memory_bytes_max: 200000000"]);
        wild.fine();
    }
}

#[test]
fn processes_and_threads_are_counted() {
    if !has_cgroups() && rustix::process::geteuid().is_root() {
        eprintln!("skipped: without cgroups nobody counts what root runs");
        return;
    }
    for threads in [0, 1] {
        let wild = Wild::new(false, "limits.tasks_max = 40");
        let children = wild.number("breed", [("threads", threads.into())], "children");
        assert!((20..40).contains(&children), "{children}");
        // They fill the module's room, and end with the executable.
        assert_eq!(
            wild.call("leave", [("status", 3.into())]).err().unwrap().kind(),
            ErrorKind::RoutineExited
        );
        assert!(eventually(|| wild.server.processes().len() <= wild.server.children().len()));
        wild.fine();
    }
}

#[test]
fn a_file_that_grows_is_stopped() {
    let wild = Wild::new(false, "limits.file_bytes_max = 8_388_608");
    assert_eq!(wild.fill("scratch", 8), 8, "the working folder can be written");
    let error =
        wild.call("fill", [("file", text("scratch")), ("megabytes", 9.into())]).err().unwrap();
    says(&error, &["SIGXFSZ", "limits.file_bytes_max"]);
    wild.fine();
}

#[test]
fn files_of_others_stay_closed() {
    let folder = Directory::new();
    let file = folder.write("private", "secret").display().to_string();
    for linked in [false, true] {
        let wild = Wild::new(linked, "");
        assert_eq!((wild.look(&file), wild.look("/etc/passwd")), (EACCES, 0));
        assert_eq!(wild.fill(&file, 1), -EACCES);
        assert_eq!(wild.fill(&format!("{file}-new"), 1), -EACCES);
    }
    let path = folder.0.display();
    let wild = Wild::new(false, &format!("limits.readable = [\"{path}\"]"));
    assert_eq!((wild.look(&file), wild.fill(&file, 1)), (0, -EACCES));
    let wild = Wild::new(false, &format!("modules.wild.writable = [\"{path}\"]"));
    assert_eq!((wild.look(&file), wild.fill(&file, 1)), (0, 1));
    let wild = Wild::new(false, "limits.files = \"all\"");
    assert_eq!(wild.fill(&file, 1), 1);
}

#[test]
fn modes_owners_and_times_of_files_stay() {
    let folder = Directory::new();
    let file = folder.write("private", "secret");
    let status = || {
        std::fs::metadata(&file)
            .map(|status| (status.mode(), status.mtime(), status.ctime_nsec()))
            .unwrap()
    };
    let tamper = |wild: &Wild| {
        let outputs = wild.call("tamper", [("file", text(file.to_str().unwrap()))]).unwrap();
        outputs.array::<i32>("error").unwrap().to_vec()
    };
    let before = status();
    let path = folder.0.display();
    for linked in [false, true] {
        for grant in [
            "",
            &format!("limits.readable = [\"{path}\"]"),
            &format!("limits.writable = [\"{path}\"]"),
        ] {
            let wild = Wild::new(linked, grant);
            // Libraries that copy files give up where these fail: they seem to succeed.
            assert_eq!(tamper(&wild), [0, 0, 0, 0, EPERM, 0, ENOTSUP, EPERM, ENOSYS, 0, EPERM]);
            assert_eq!(status(), before);
        }
    }
    let wild = Wild::new(false, "limits.files = \"all\"");
    assert_eq!(tamper(&wild)[..6], [0; 6]);
    assert_eq!(status().1, 1);
}

#[test]
fn nothing_is_regained_and_nothing_left_behind() {
    for options in ["", "limits.files = \"all\"\nlimits.network = true", "zygotes_max = 0"] {
        let wild = Wild::new(false, options);
        let error = wild.call("regain", []).unwrap().array::<i32>("error").unwrap().to_vec();
        // What threads do to themselves still works: libraries pin theirs.
        assert_eq!(
            error,
            [EPERM, EPERM, ENOSYS, EPERM, EPERM, EPERM, ENOSYS, 0, 0, EPERM],
            "{options}"
        );
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", wild.server.children()[0])).unwrap();
        let root = rustix::process::geteuid().is_root();
        let kept = status
            .lines()
            .filter(|line| line.starts_with("Cap") && (root || !line.starts_with("CapBnd")));
        assert!(
            kept.clone().count() >= 4
                && kept.clone().all(|line| line.ends_with("\t0000000000000000")),
            "{status}"
        );
    }
}

#[test]
fn a_working_folder_ends_with_its_module() {
    let left = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries.filter(|entry| entry.path().join("left").exists()).count()
    };
    let wild = Wild::new(false, "");
    assert_eq!(wild.fill("left", 1), 1);
    assert_eq!(left(), 1);
    drop(wild);
    assert_eq!(left(), 0);
}

#[test]
fn the_network_is_off_unless_granted() {
    let unix = 1;
    let inet = 2;
    let inet6 = 10;
    let netlink = 16;
    let family = |wild: &Wild, family: i32| {
        wild.number("connect_out", [("family", i64::from(family).into())], "error")
    };
    for linked in [false, true] {
        let wild = Wild::new(linked, "");
        assert_eq!([unix, inet, inet6, netlink].map(|number| family(&wild, number)), [EPERM; 4]);
        assert_eq!(family(&wild, 0), 0, "a pair leads nowhere else");
        assert_ne!(wild.number("connect_by_x32", [], "error"), 0);
    }
    // A network is not the sockets of this host's programs, which judge by the user who comes: the
    // server's own among them.
    let wild = Wild::new(false, "limits.network = true");
    assert_eq!([unix, inet, inet6].map(|number| family(&wild, number)), [EPERM, 0, 0]);
}

#[test]
fn nobody_outside_can_be_signalled_or_traced() {
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    // Without a zygote, the parent is the server itself.
    for options in ["", "zygotes_max = 0"] {
        let wild = Wild::new(false, options);
        let outputs = wild.call("strike", [("other", i64::from(stranger.id()).into())]).unwrap();
        assert_eq!(outputs.array::<i32>("error").unwrap().to_vec(), [EPERM; 4]);
        wild.fine();
    }
    assert!(alive(stranger.id()));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn nothing_escapes_its_group() {
    for options in ["", "zygotes_max = 0"] {
        let wild = Wild::new(false, options);
        let outputs = wild.call("escape", []).unwrap();
        assert_eq!(outputs.array::<i32>("error").unwrap().to_vec(), [EPERM; 2]);
        let pid = outputs.scalar::<i32>("pid").unwrap().unsigned_abs();
        assert!(alive(pid), "it lives as long as its executable");
        wild.call("leave", [("status", 0.into())]).err().unwrap();
        assert!(
            eventually(|| !alive(pid)),
            "what a routine leaves behind ends with its executable"
        );
        assert!(eventually(|| wild.server.processes().len() <= wild.server.children().len()));
        wild.fine();
    }
}

#[test]
fn what_a_process_is_left_with() {
    let wild = Wild::new(false, "limits.threads = 2\nmodules.other.threads = 1");
    let outputs = wild.call("self", [("variable", text("CARGO_MANIFEST_DIR"))]).unwrap();
    let number = |name| outputs.scalar::<i32>(name).unwrap();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "the server has it");
    assert_eq!(
        (number("set"), number("privileges"), number("core"), number("threads")),
        (0, 1, 1, 2)
    );
    assert_eq!(
        wild.call("self", [("variable", text("PATH"))]).unwrap().scalar::<i32>("set").unwrap(),
        1
    );
}

#[test]
fn a_pinned_executable_keeps_to_its_processors() {
    let processors = |options: &str| {
        let wild = Wild::new(false, options);
        wild.call("self", [("variable", text("PATH"))])
            .unwrap()
            .scalar::<i32>("processors")
            .unwrap() as usize
    };
    assert_eq!(processors("limits.pin = true\nlimits.threads = 1"), 1);
    // Not as many as the time pays for that a container may use: those it may run on.
    let allowed = rustix::thread::sched_getaffinity(None).unwrap().count() as usize;
    assert_eq!(processors("limits.threads = 1"), allowed);
}

#[test]
fn a_module_can_have_a_user_of_its_own() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start modules as others");
        return;
    }
    // What is linked lies in the server's build cache, which nobody else can enter.
    for linked in [false, true] {
        let wild = Wild::new(linked, "modules.wild.user = \"65534:65534\"");
        let outputs = wild.call("self", [("variable", text("PATH"))]).unwrap();
        assert_eq!(outputs.scalar::<i32>("user").unwrap(), 65534);
        assert_eq!(wild.fill("scratch", 1), 1, "the working folder is its own");
        assert_eq!(
            wild.call("leave", [("status", 3.into())]).err().unwrap().kind(),
            ErrorKind::RoutineExited
        );
        wild.fine();
    }
}

#[test]
fn a_server_that_was_killed_leaves_nothing_that_runs_or_counts() {
    if !has_cgroups() {
        eprintln!("skipped: without cgroups nobody finds what left its parent");
        return;
    }
    let wild = Wild::new(false, "");
    wild.call("escape", []).unwrap();
    let processes =
        [wild.server.children(), wild.server.zygotes(), wild.server.processes()].concat();
    wild.server.kill();
    // What left its parent has nobody to die with: the next server finds it in what this one left
    // behind.
    let next = Wild::new(false, "");
    next.fine();
    assert!(eventually(|| !processes.iter().any(|pid| alive(*pid))), "{processes:?}");
}

#[test]
fn what_a_routine_has_left_ends_with_a_server_that_was_killed() {
    // Without a limit of tasks there is no cgroup. With a zygote, and without.
    for options in ["limits.tasks_max = 0", "limits.tasks_max = 0\nzygotes_max = 0"] {
        let wild = Wild::new(false, options);
        let left = wild.number("escape", [], "pid").unsigned_abs();
        let processes = [wild.server.children(), wild.server.zygotes(), vec![left]].concat();
        assert!(alive(left));
        wild.server.kill();
        assert!(eventually(|| !processes.iter().any(|pid| alive(*pid))), "{processes:?}");
    }
}

#[test]
fn what_a_call_with_a_limited_time_has_started_ends_with_it() {
    for options in
        ["limits.call_seconds_max = 60", "limits.processor_seconds_max = 60\nzygotes_max = 0"]
    {
        let wild = Wild::new(false, options);
        let left = wild.number("burn_on", [], "pid").unsigned_abs();
        assert!(!alive(left), "{options}");
        wild.fine();
    }
    let wild = Wild::new(false, "");
    let helper = wild.number("burn_on", [], "pid").unsigned_abs();
    assert!(alive(helper), "libraries keep processes that help them");
}

#[test]
fn a_folder_without_a_bottom_is_removed_and_the_server_serves_on() {
    let wild = Wild::new(false, "limits.descriptors_max = 64");
    let folders = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let own = format!("farcall-module-{}-", wild.server.pid());
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count()
    };
    wild.fine();
    let before = folders();
    // The stack of a thread takes some 12,000 levels of a recursion. They are made by moves between
    // folders of the routine.
    assert_eq!(
        wild.call("dig", [("depth", 14_000.into())]).err().unwrap().kind(),
        ErrorKind::RoutineExited
    );
    wild.fine();
    // A busy machine with a slow file system takes minutes.
    assert!(
        (0..8).any(|_| eventually(|| folders() == before)),
        "what is removed is renamed first, and goes"
    );
}

#[test]
fn a_server_may_have_more_files_open_than_its_routines() {
    let server = Server::start_with_open_files((256, 2048), &[wild(false)]);
    let client = server.client();
    let error = client
        .routine("look")
        .unwrap()
        .call([("file", text("/usr"))])
        .unwrap()
        .scalar::<i32>("error")
        .unwrap();
    assert_eq!(error, 0);
    let limits = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = |pid| {
        limits(pid).lines().find(|line| line.starts_with("Max open files")).unwrap().to_owned()
    };
    assert_eq!(line(server.pid()).split_whitespace().nth(3), Some("2048"));
    assert_eq!(line(server.children()[0]).split_whitespace().nth(4), Some("1024"));
}

#[test]
fn with_the_least_of_each_limit_executables_start() {
    for linked in [false, true] {
        for least in [
            "memory_bytes_max = 16_777_216",
            "file_bytes_max = 4096",
            "descriptors_max = 32",
            "tasks_max = 2",
        ] {
            Wild::new(linked, &format!("limits.{least}")).fine();
        }
    }
}

#[test]
fn wrong_limits_are_refused_with_their_place() {
    let folder = Directory::new();
    let wrong = [
        ("limits.memory = 5", "memory"),
        ("limits.readable = [\"here\"]", "not an absolute path"),
        ("modules.wild.tasks_max = 1", "tasks_max is 1"),
        ("limits.memory_bytes_max = 1", "set at least 16777216"),
        ("modules.wild.file_bytes_max = 4095", "set at least 4096"),
        ("limits.threads = 1_000_000", "set at most 65536"),
        ("modules.wild.user = 5", "expected a string"),
    ];
    for (options, reason) in wrong {
        let manifest = folder.write("farcall.toml", &manifest_of("", options));
        let refused = Server::refused(&[
            "--manifest",
            manifest.to_str().unwrap(),
            wild(false).to_str().unwrap(),
        ]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && said.contains(reason) && said.contains("line: 10"),
            "{options}: {said}"
        );
    }
    // Known when the module is checked, as its executables are started: before anybody calls it.
    let manifest =
        folder.write("farcall.toml", &manifest_of("", "modules.wild.user = \"nobody-at-all\""));
    let refused =
        Server::refused(&["--manifest", manifest.to_str().unwrap(), wild(false).to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("there is no user \"nobody-at-all\""),
        "{said}"
    );
}
