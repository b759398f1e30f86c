//! Routines that MPI starts several processes for: real ones, of the machine's own MPI.
//!
//! tests/routines/ranks.idl has what they call. Processes are looked for by a mark in the server's
//! environment, which all that come from it inherit: what is left behind is seen whoever its parent
//! is.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

use farcall_client::{
    Argument, Array, CallOptions, Client, Error, ErrorKind, HoldOptions, News, Outputs,
    PendingCall, Stage,
};
use farcall_services::spawner::DIAL;
use farcall_tests::{Directory, Server, Slurm, Transport, alive, eventually, manifest_of, root};

/// Whether the machine has an MPI; tests say so and pass where it has none.
fn has_mpi() -> bool {
    let found = ["mpirun", "mpicc"]
        .iter()
        .all(|program| Command::new(program).arg("--version").output().is_ok());
    if !found {
        eprintln!("skipped: no MPI on this machine");
    }
    found
}

/// A server of ranks.idl and a client of it.
struct Ranks {
    server: Server,
    client: Client,
    _folder: Directory,
}

impl Ranks {
    /// With these options of its spawner. Executables of several numbers of ranks live side by
    /// side.
    fn new(transport: Transport, limits: &str) -> Ranks {
        Ranks::of("tests/routines/ranks.idl", transport, limits)
    }

    fn of(file: &str, transport: Transport, limits: &str) -> Ranks {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest_of("executables_max = 4", limits));
        let arguments = ["--manifest", manifest.to_str().unwrap()];
        let server = Server::start(transport, &[root().join(file)], &arguments);
        let client = server.client();
        Ranks { server, client, _folder: folder }
    }

    /// Calls a routine in so many ranks; 0 asks for none.
    fn call<const N: usize>(
        &self,
        name: &str,
        ranks: u32,
        given: [(&str, Argument<'_>); N],
    ) -> Result<Outputs, Error> {
        self.client
            .routine(name)?
            .call_with(given, &CallOptions { ranks, ..CallOptions::default() })
    }

    /// What every rank sees of arrays of n elements.
    fn look(&self, ranks: u32, n: usize) -> Result<Outputs, Error> {
        let spread = vec![0.5; n];
        let own = vec![1.0; n];
        let given = [
            ("spread", Array::vector(&spread).into()),
            ("own", Array::vector(&own).into()),
            ("most", 8.into()),
            ("words", Argument::from("seven")),
        ];
        self.call("look", ranks, given)
    }

    /// The processes that run a call, by rank.
    fn pids(&self, ranks: u32) -> Vec<i32> {
        self.look(ranks, 4).unwrap().array::<i32>("pids").unwrap().to_vec()
    }

    /// How a call of three ranks fails in which one of them does something.
    fn fall(&self, who: i32, how: &str) -> Error {
        self.call("fall", 3, [("who", who.into()), ("how", Argument::from(how))]).err().unwrap()
    }

    /// Nothing runs but what the server starts when it is asked.
    fn nothing_runs(&self) {
        eventually(|| self.server.processes().is_empty());
    }
}

/// The error has all these words somewhere.
fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn all_ranks_see_what_they_are_to_see() {
    if !has_mpi() {
        return;
    }
    for transport in [Transport::Unix, Transport::Tcp] {
        let ranks = Ranks::new(transport, "");
        // Small arrays come with the call's message, large ones by shared memory or as blocks.
        for (size, n) in [(3, 4), (3, 200_000), (2, 0), (1, 1000)] {
            let outputs = ranks.look(size, n).unwrap();
            let number = |name: &str| outputs.scalar::<i32>(name).unwrap();
            assert_eq!(number("size"), size as i32);
            assert_eq!(
                outputs.scalar::<f64>("sum").unwrap(),
                0.5 * (n as f64) * f64::from(size),
                "{n}"
            );
            assert_eq!(outputs.scalar::<i64>("letters").unwrap(), 5 * i64::from(size));
            // An array without elements is NULL to code of Ninf-G, wherever it is.
            let empty = if n == 0 { size as i32 } else { size as i32 - 1 };
            let made = if n == 0 { size as i32 } else { 0 };
            let without = (number("without_own"), number("without_made"), number("without_pids"));
            assert_eq!(without, (empty, made, size as i32 - 1), "{n}");
            assert!(
                outputs.array::<f64>("made").unwrap().iter().all(|one| *one == 0.0),
                "rank 0's are the results"
            );
        }
    }
}

#[test]
fn processes_serve_again_and_end_with_their_server() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    // The second call finds the processes of the first, and what they have kept in their static
    // variables.
    let first = ranks.pids(3);
    assert_eq!(first.len(), 3);
    assert_eq!(ranks.pids(3), first);
    assert_eq!(ranks.look(3, 4).unwrap().scalar::<i32>("calls_of_each").unwrap(), 3);
    // Another number of ranks has processes of its own, and a routine of one process is no business
    // of MPI's.
    let others = ranks.pids(2);
    assert!(others.len() == 2 && others.iter().all(|pid| !first.contains(pid)));
    let alone = ranks.call("alone", 4, []).unwrap().scalar::<i32>("pid").unwrap();
    assert_eq!(ranks.pids(3), first);
    // A server that ends in order leaves none of them.
    ranks.server.signal("-TERM");
    let all = first.iter().chain(&others).chain([&alone]);
    for pid in all {
        eventually(|| !alive(*pid as u32));
    }
}

#[test]
fn somebody_says_how_many_ranks_there_are() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "limits.ranks_max = 3");
    // Nobody says it: an error, as it was with Ninf-G.
    let error = ranks.look(0, 4).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    says(
        &error,
        &["the number of MPI processes is not set", "ranks=4", "mpi_runNoOfCPUs", "limits.ranks"],
    );
    let error = ranks.look(4, 4).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    says(&error, &["4 MPI processes", "limits.ranks_max: 3"]);
    // The interface may say it, and the caller knows better.
    let size = |asked, n: i32| {
        ranks.call("chosen", asked, [("n", n.into())]).map(|it| it.scalar::<i32>("size").unwrap())
    };
    assert_eq!((size(0, 2).unwrap(), size(1, 2).unwrap()), (2, 1));
    says(&size(0, -1).err().unwrap(), &["Processors: -1"]);
    drop(ranks);
    let ranks = Ranks::new(Transport::Unix, "modules.ranks.ranks = 2");
    assert_eq!(ranks.look(0, 4).unwrap().scalar::<i32>("size").unwrap(), 2);
}

#[test]
fn a_rank_that_falls_fails_its_call_alone() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    // Rank 0 is the server's own executable: its end is seen at once, and what the launcher says of
    // it comes later.
    let crashed = ErrorKind::RoutineCrashed;
    let cases = [
        ("segv", 1, crashed, "rank 1 was killed by signal 11 (SIGSEGV)"),
        ("segv", 0, crashed, "rank 0 was killed by signal 11 (SIGSEGV)"),
        ("kill", 2, crashed, "rank 2 was killed by signal 9 (SIGKILL)"),
        ("abort", 1, ErrorKind::RoutineExited, "rank 1 exited with status 3"),
        ("abort", 0, ErrorKind::RoutineExited, "rank 0 exited with status 3"),
        ("exit", 2, ErrorKind::RoutineExited, "rank 2 exited with status 5"),
        ("exit", 0, ErrorKind::RoutineExited, "rank 0 exited with status 5"),
        ("finalize", 1, ErrorKind::RoutineExited, "the routine called MPI_Finalize on rank 1"),
        ("finalize", 0, ErrorKind::RoutineExited, "the routine called MPI_Finalize on rank 0"),
    ];
    for (how, who, kind, words) in cases {
        let error = ranks.fall(who, how);
        assert_eq!(error.kind(), kind, "{how} {who}: {error}");
        says(&error, &[words]);
        ranks.nothing_runs();
    }
    // The next call finds new processes.
    assert_eq!(ranks.pids(3).len(), 3);
}

#[test]
fn a_call_that_cannot_end_is_ended_with_all_its_ranks() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    // One rank never comes to the barrier at which the others wait; whoever else is called must not
    // notice.
    let neighbour = ranks.pids(2);
    let fall = ranks.client.routine("fall").unwrap();
    for who in [1, 0] {
        let timeout = Some(Duration::from_secs(3));
        let options = CallOptions { ranks: 3, timeout, ..CallOptions::default() };
        let error = fall
            .call_with([("who", who.into()), ("how", Argument::from("sleep"))], &options)
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        // Two processes of its neighbour's, and their launcher with its keeper.
        eventually(|| ranks.server.processes().len() == 4);
    }
    assert_eq!(ranks.pids(2), neighbour);
    drop(ranks);
    let ranks = Ranks::new(Transport::Unix, "modules.ranks.call_seconds_max = 2");
    let error = ranks.fall(1, "sleep");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    ranks.nothing_runs();
}

/// What a shell that the launcher was made to start leaves in the file `said` of this folder.
fn spawned(ranks: &Ranks, folder: &Directory, command: &str) -> String {
    said_by_shell(ranks, folder, command, |_| {})
}

/// The same; with `then` done before the call is given up.
fn said_by_shell(
    ranks: &Ranks,
    folder: &Directory,
    command: &str,
    then: impl Fn(&Ranks),
) -> String {
    let file = folder.0.join("said");
    let command = format!("cd {}; {command}", folder.0.display());
    let options =
        CallOptions { ranks: 1, timeout: Some(Duration::from_secs(60)), ..CallOptions::default() };
    let given = [("command", Argument::from(command.as_str()))];
    let call = ranks.client.routine("spawn").unwrap().start(given, &options).unwrap();
    assert!(eventually(|| file.exists()), "{:?}", call.wait().err());
    then(ranks);
    // It may have failed already.
    let _ = call.cancel();
    let _ = call.wait();
    std::fs::read_to_string(&file).unwrap()
}

#[test]
fn what_the_launcher_was_made_to_start_uses_no_unix_socket_of_others() {
    if !has_mpi() {
        return;
    }
    let folder = Directory::new();
    let _agent = UnixListener::bind(folder.0.join("agent")).unwrap();
    let ranks = Ranks::new(Transport::Unix, &format!("limits.writable = [{:?}]", folder.0));
    // Perl is part of every Debian, whichever Python the tests run in.
    let socket = |protocol: u32, then: &str| {
        format!(
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, {protocol}) or die $!; {then}' > \
                saying 2>&1; mv saying said"
        )
    };
    let dial = socket(0, "connect(S, pack_sockaddr_un(\"agent\")) or die $!; print \"connected\"");
    let said = spawned(&ranks, &folder, &dial);
    assert!(said.contains("not permitted") || said.contains("denied"), "{said}");
    // Nor is it taken for a rank: who comes after the first is told that there is no such call.
    std::fs::remove_file(folder.0.join("said")).unwrap();
    let said = spawned(&ranks, &folder, &socket(DIAL, ""));
    assert!(said.contains("not implemented"), "{said}");
    ranks.nothing_runs();
}

#[test]
fn what_the_launcher_was_made_to_start_does_not_outlive_it() {
    if !has_mpi() {
        return;
    }
    let folder = Directory::new();
    let ranks = without_cgroup(&folder);
    let stayed: u32 = spawned(&ranks, &folder, &stays("kill -KILL $PPID")).trim().parse().unwrap();
    assert!(eventually(|| !alive(stayed)));
    ranks.nothing_runs();
}

#[test]
fn what_the_launcher_was_made_to_start_ends_with_a_server_that_was_killed() {
    if !has_mpi() {
        return;
    }
    let folder = Directory::new();
    let ranks = without_cgroup(&folder);
    let kill = |ranks: &Ranks| ranks.server.signal("-KILL");
    let stayed: u32 =
        said_by_shell(&ranks, &folder, &stays("sleep 600"), kill).trim().parse().unwrap();
    assert!(eventually(|| !alive(stayed)));
}

/// Without a limit of tasks there is no cgroup.
fn without_cgroup(folder: &Directory) -> Ranks {
    Ranks::new(
        Transport::Unix,
        &format!("limits.writable = [{:?}]\nlimits.tasks_max = 0", folder.0),
    )
}

/// What a shell does that leaves a process without a parent, environment or group that tells whose
/// it is; and `then`.
fn stays(then: &str) -> String {
    let process = "env -i perl -e 'setpgrp(0, 0); open(READY, \">\", \"ready\"); sleep 600'";
    format!(
        "{process} & echo $! > saying; while [ ! -e ready ]; do sleep 0.1; done; mv saying said; \
            {then}"
    )
}

#[test]
fn ranks_that_write_without_end_are_read() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    // A launcher forwards it; a pipe that nobody empties would hold all of them up.
    let outputs = ranks.call("shout", 2, [("bytes", 50_000_000_i64.into())]).unwrap();
    assert_eq!(outputs.scalar::<i64>("said").unwrap(), 100_000_000);
    assert_eq!(ranks.pids(2).len(), 2);
}

#[test]
fn an_object_is_all_its_ranks() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    let hold = ranks
        .client
        .hold("ranks/Sum", 1, &HoldOptions { ranks: 3, ..HoldOptions::default() })
        .unwrap();
    let on = hold.ids().next();
    let options = CallOptions { on, ..CallOptions::default() };
    let add = ranks.client.routine("Sum.add").unwrap();
    let total = ranks.client.routine("Sum.total").unwrap();
    add.call_with([("x", 1.0.into())], &options).unwrap();
    add.call_with([("x", 2.0.into())], &options).unwrap();
    // Rank r has kept x*(r + 1) of each call.
    let sum = total.call_with([], &options).unwrap().scalar::<f64>("sum").unwrap();
    assert_eq!(sum, 3.0 * (1.0 + 2.0 + 3.0));
    drop(hold);
    ranks.nothing_runs();
}

#[test]
fn the_module_may_have_a_user_of_its_own() {
    if !has_mpi() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start modules as others");
        return;
    }
    // Who is not root: what is built lies where nobody else can enter.
    let ranks = Ranks::new(Transport::Unix, "modules.ranks.user = \"65534:65534\"");
    let pids = ranks.pids(2);
    let owner = |pid: &i32| std::fs::metadata(format!("/proc/{pid}")).unwrap().uid();
    assert_eq!(pids.iter().map(owner).collect::<Vec<_>>(), [65534, 65534]);
    says(&ranks.fall(1, "segv"), &["rank 1 was killed by signal 11 (SIGSEGV)"]);
}

#[test]
fn what_ranks_print_is_shown() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "");
    let options = CallOptions { ranks: 2, output: true, ..CallOptions::default() };
    // It comes by way of the launcher, and all the same before the call is over.
    let mut said = 0;
    let shout = ranks.client.routine("shout").unwrap();
    let watch = |_: &PendingCall, news: Option<News>| {
        if let Some(News::Stdout(bytes)) = news {
            said += bytes.len();
        }
    };
    shout.call_watched([("bytes", 3000_i64.into())], &options, None, watch).unwrap();
    assert_eq!(said, 6000);
}

#[test]
fn a_server_without_an_mpi_says_so() {
    if !has_mpi() {
        return;
    }
    let ranks = Ranks::new(Transport::Unix, "mpi_command = [\"no-such-mpirun\"]");
    let error = ranks.look(2, 4).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    says(&error, &["there is no \"no-such-mpirun\"", "openmpi-bin", "mpi_command"]);
    drop(ranks);
    // One that ends at once.
    let ranks = Ranks::new(Transport::Unix, "mpi_command = [\"false\"]");
    says(
        &ranks.look(2, 4).err().unwrap(),
        &["launcher exited with status 1 before the first process connected"],
    );
    drop(ranks);
    let ranks = Ranks::new(Transport::Unix, "mpi_command = []");
    says(&ranks.look(2, 4).err().unwrap(), &["does not start MPI routines"]);
}

/// A server whose routines run in jobs of a real Slurm: four nodes of two processors each.
struct InJobs {
    // First to end: its jobs go with it, and Slurm last.
    ranks: Ranks,
    slurm: Slurm,
}

impl InJobs {
    fn new() -> Option<InJobs> {
        InJobs::by("tls")
    }

    /// Reached so.
    fn by(dial: &str) -> Option<InJobs> {
        let slurm = if has_mpi() { Slurm::start(4, 2, "")? } else { return None };
        let folder = Directory::new();
        // The nodes are one host, so what they share must not be its memory: they would take one
        // another's.
        let spawner =
            format!("environment = {{ OMPI_MCA_btl = \"tcp,self\" }}\n{}\n", slurm.readable());
        let jobs = format!(
            "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\nfolder = \
             {:?}\nlaunchers.slurm = {{ dial = {dial:?}, idle_seconds = 2, environment = {{ PATH \
             = {:?} }} }}\n",
            folder.0.join("jobs"),
            slurm.path()
        );
        let limits = format!("{spawner}limits.ranks = 3\n");
        let manifest = folder
            .write("farcall.toml", &(manifest_of("launched_idle_ms = 1500", &limits) + &jobs));
        let files = ["tests/routines/ranks.idl", "examples/mpi/scalapack.idl"]
            .map(|file| root().join(file));
        let mut command = Server::command();
        command.env("PATH", slurm.path()).args([
            "--manifest",
            manifest.to_str().unwrap(),
            "--launcher",
            "slurm",
        ]);
        let server = Server::start_as(command, &files);
        let client = server.client();
        Some(InJobs { ranks: Ranks { server, client, _folder: folder }, slurm })
    }

    /// How many of a call's processes run on which node.
    fn nodes_of(&self, pids: &[i32]) -> Vec<usize> {
        let of = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
            let text = String::from_utf8_lossy(&environment).into_owned();
            text.split('\0')
                .find_map(|variable| variable.strip_prefix("SLURMD_NODENAME="))
                .unwrap()
                .to_owned()
        };
        let nodes: Vec<String> = pids.iter().map(of).collect();
        let mut counts: Vec<usize> = ["n1", "n2", "n3", "n4"]
            .iter()
            .map(|node| nodes.iter().filter(|other| other == node).count())
            .filter(|count| *count > 0)
            .collect();
        counts.sort_unstable();
        counts
    }

    /// No process of a job, and no job: its nodes are others' again.
    fn nothing_is_left(&self) {
        assert!(self.slurm.brings(|| self.slurm.ask(&["squeue", "-h"]).is_empty()));
        let ours = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            !String::from_utf8_lossy(&words).contains("launch\0slurm")
        };
        assert!(self.slurm.brings(|| !self.ranks.server.processes().iter().any(ours)));
    }
}

#[test]
fn ranks_run_on_the_nodes_that_slurm_gave() {
    let Some(site) = InJobs::new() else { return };
    // Five do not fit on two nodes; three are what the manifest says where nobody does.
    for (asked, ranks, nodes) in [(5, 5, vec![1, 2, 2]), (0, 3, vec![1, 2])] {
        let outputs = site.ranks.look(asked, 4).unwrap();
        assert_eq!(outputs.scalar::<i32>("size").unwrap(), ranks);
        let pids = outputs.array::<i32>("pids").unwrap()[..ranks as usize].to_vec();
        assert_eq!(site.nodes_of(&pids), nodes);
        assert!(site.slurm.ask(&["squeue", "-h", "-o", "%C"]).contains(&ranks.to_string()));
    }
    let error = site.ranks.look(65, 4).err().unwrap();
    assert!(
        error.kind() == ErrorKind::LimitExceeded && error.to_string().contains("ranks_max"),
        "{error}"
    );
    assert_eq!(
        site.slurm.ask(&["squeue", "-h", "-o", "%i"]).len(),
        2,
        "no job is asked for what cannot be"
    );
    site.nothing_is_left();
}

/// One step on the first node starts the ranks on all of them.
#[test]
fn ranks_run_on_nodes_that_reach_no_server() {
    let Some(site) = InJobs::by("stdio") else { return };
    let outputs = site.ranks.look(5, 4).unwrap();
    let pids = outputs.array::<i32>("pids").unwrap()[..5].to_vec();
    assert_eq!(site.nodes_of(&pids), [1, 2, 2]);
    site.nothing_is_left();
}

#[test]
fn the_same_bytes_come_from_a_job_as_from_here() {
    let Some(site) = InJobs::new() else { return };
    let here = Ranks::of("examples/mpi/scalapack.idl", Transport::Unix, "");
    let n = 130_usize;
    let a: Vec<f64> = (0..n * n)
        .map(|i| ((i * 7919) % 1009) as f64 - 504.0 + if i % (n + 1) == 0 { 9000.0 } else { 0.0 })
        .collect();
    let b: Vec<f64> = (0..2 * n).map(|i| i as f64).collect();
    let solve = |ranks: &Ranks| {
        let given = [
            ("a", Array::columns(&a, &[n as u64, n as u64]).into()),
            ("b", Array::columns(&b, &[n as u64, 2]).into()),
        ];
        let outputs = ranks.call("pdgesv", 4, given).unwrap();
        let bits = |x: &f64| x.to_bits();
        outputs.array::<f64>("x").unwrap().iter().map(bits).collect::<Vec<u64>>()
    };
    assert_eq!(solve(&site.ranks), solve(&here));
}

#[test]
fn a_rank_of_a_job_that_falls_or_is_cancelled_takes_all_with_it() {
    let Some(site) = InJobs::new() else { return };
    // The third is on the second node.
    for (how, who, words) in
        [("abort", 2, "rank 2 exited with status 3"), ("segv", 2, "rank 2 was killed by signal 11")]
    {
        says(&site.ranks.fall(who, how), &[words]);
    }
    let options = CallOptions { ranks: 3, ..CallOptions::default() };
    let given = [("who", 2.into()), ("how", Argument::from("sleep"))];
    let call = site.ranks.client.routine("fall").unwrap().start(given, &options).unwrap();
    let processes = || site.ranks.server.processes().iter().filter(|pid| is_ranks(**pid)).count();
    assert!(site.slurm.brings(|| processes() >= 3));
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(site.slurm.brings(|| processes() == 0));
    site.nothing_is_left();
}

fn is_ranks(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|program| program.to_string_lossy().contains("/ranks-"))
}

#[test]
fn a_node_that_dies_fails_the_call_of_its_rank_and_no_other() {
    let Some(site) = InJobs::new() else { return };
    let options = CallOptions { ranks: 3, ..CallOptions::default() };
    let given = [("who", 0.into()), ("how", Argument::from("sleep"))];
    let call = site.ranks.client.routine("fall").unwrap().start(given, &options).unwrap();
    let status = || site.ranks.client.status(Duration::from_secs(60)).unwrap();
    assert!(site.slurm.brings(|| status().calls.iter().any(|call| call.stage == Stage::Running)));
    let nodes = site.slurm.ask(&["squeue", "-h", "-o", "%N"]);
    let nodes = site.slurm.ask(&["scontrol", "show", "hostnames", &nodes[0]]);
    site.slurm.node("kill", nodes.last().unwrap());
    let error = call.wait().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    // Slurm gives others, as soon as it knows.
    assert_eq!(site.ranks.pids(4).len(), 4);
    site.slurm.node("revive", nodes.last().unwrap());
    site.nothing_is_left();
}
