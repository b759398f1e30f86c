//! Executables are forked from a process that has loaded their module; they are none the worse for
//! it.

use std::path::PathBuf;
use std::process::Command;

use farcall_client::{Array, CallOptions, Client, ErrorKind, News, Outputs};
use farcall_tests::{
    Directory, Server, Transport, alive, compile, eventually, first_news, manifest, root, trouble,
    until_begun, watched,
};

const IDL: &str = "Module born; Library \"./libborn.so\";
Define whose(IN int milliseconds, OUT int loaded_by, OUT int parent, OUT int self)
    Calls \"C\" whose(milliseconds, loaded_by, parent, self);
Define leave(IN int status) Calls \"C\" leave(status);";

/// born.c, published; with a thread from the start, or without.
fn born(folder: &Directory, options: &[&str]) -> PathBuf {
    let flags: Vec<&str> =
        ["-shared", "-fPIC", "-pthread"].iter().chain(options).copied().collect();
    compile("born.c", &folder.0.join("libborn.so"), &flags);
    folder.write("born.idl", IDL)
}

fn start(folder: &Directory, options: &[&str], executables_max: u32) -> (Server, Client) {
    let manifest =
        folder.write("farcall.toml", &manifest(&format!("executables_max = {executables_max}")));
    let arguments = ["--manifest", manifest.to_str().unwrap()];
    let server = Server::start(Transport::Unix, &[born(folder, options)], &arguments);
    let client = server.client();
    (server, client)
}

fn whose(client: &Client) -> (u32, u32, u32) {
    numbers(&client.routine("whose").unwrap().call([("milliseconds", 0.into())]).unwrap())
}

fn numbers(outputs: &Outputs) -> (u32, u32, u32) {
    let number = |name| outputs.scalar::<i32>(name).unwrap().unsigned_abs();
    (number("loaded_by"), number("parent"), number("self"))
}

/// The parent of a process (proc(5)).
fn parent_of(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

fn leave(client: &Client, status: i64) {
    let error = client.routine("leave").unwrap().call([("status", status.into())]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineExited, "{error}");
    assert!(error.to_string().contains(&format!("status {status}")), "{error}");
}

#[test]
fn a_module_is_loaded_once_for_all_its_executables() {
    let folder = Directory::new();
    let (server, client) = start(&folder, &[], 4);
    let routine = client.routine("whose").unwrap();
    let call = |_| routine.start([("milliseconds", 600_000.into())], &watched()).unwrap();
    let mut calls: Vec<_> = (0..3).map(call).collect();
    calls.iter_mut().for_each(until_begun);
    // All of them run, so that the next one needs another.
    let (loader, parent, own) = whose(&client);
    let executables = server.children();
    assert!(
        executables.len() == 4 && executables.contains(&own),
        "each in a process of its own: {executables:?}"
    );
    assert_eq!(server.zygotes(), [loader]);
    assert_eq!(parent, loader);
    let parents: Vec<u32> = executables.iter().map(|pid| parent_of(*pid)).collect();
    assert_eq!(parents, [loader; 4]);
}

#[test]
fn ends_are_reported_and_nothing_is_left() {
    let folder = Directory::new();
    let (server, client) = start(&folder, &[], 2);
    for status in [1, 7, 255] {
        leave(&client, status);
        whose(&client);
    }
    let executables = server.children();
    assert!(
        executables.len() <= 2 && executables.iter().all(|pid| alive(*pid)),
        "no zombies: {executables:?}"
    );
    let zygote = server.zygotes()[0];
    drop((client, server));
    assert!(
        !alive(zygote) && !executables.iter().any(|pid| alive(*pid)),
        "all end with their server"
    );
}

#[test]
fn a_zygote_that_dies_costs_no_later_call() {
    let folder = Directory::new();
    let (server, client) = start(&folder, &[], 2);
    for _ in 0..3 {
        let (zygote, _, executable) = whose(&client);
        kill(zygote);
        assert!(eventually(|| !alive(executable)), "its executables end with it");
        assert!(eventually(|| server.children().is_empty()), "{:?}", server.children());
        assert_ne!(whose(&client).0, zygote);
        leave(&client, 3);
    }
}

#[test]
fn a_call_in_a_zygote_that_dies_is_reported() {
    let folder = Directory::new();
    let (server, client) = start(&folder, &[], 2);
    let routine = client.routine("whose").unwrap();
    let options = CallOptions { output: true, ..watched() };
    let mut call = routine.start([("milliseconds", 600_000.into())], &options).unwrap();
    until_begun(&mut call);
    // That it was passed on is told a moment before; what ends before it begins runs in another
    // process.
    assert_eq!(first_news(&mut call), News::Stdout(b"here\n".to_vec()));
    kill(server.zygotes()[0]);
    let error = call.wait().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    whose(&client);
}

#[test]
fn a_library_with_threads_of_its_own_is_not_forked() {
    // A fork would have the thread's locks and not the thread.
    let folder = Directory::new();
    let (server, client) = start(&folder, &["-DTHREADED"], 2);
    let (loader, parent, own) = whose(&client);
    assert_eq!((loader, parent), (own, server.pid()), "each loads it itself");
    leave(&client, 3);
    assert_eq!(whose(&client).1, server.pid());
    assert!(server.zygotes().is_empty());
}

#[test]
fn linked_executables_are_forked_as_well() {
    let server = Server::start(Transport::Unix, &[trouble(true)], &[]);
    let client = server.client();
    let fine = client.routine("fine").unwrap();
    assert_eq!(fine.call([("n", 7.into())]).unwrap().scalar::<i32>("m").unwrap(), 7);
    assert_eq!((server.zygotes().len(), server.children().len()), (1, 1));
    let error = client.routine("crash").unwrap().call([("n", 42.into())]).err().unwrap();
    assert!(
        error.to_string().contains("SIGSEGV") && error.to_string().contains("n = 42"),
        "{error}"
    );
    assert_eq!(fine.call([("n", 8.into())]).unwrap().scalar::<i32>("m").unwrap(), 8);
}

#[test]
fn openblas_survives_the_fork_with_its_threads() {
    let folder = Directory::new();
    let options = "[[plugin]]\nname = \"spawner-local\"\nslot = \"spawner\"\n\
                   [plugin.options]\nenvironment = { OPENBLAS_NUM_THREADS = \"2\" }\n";
    let manifest = folder.write("farcall.toml", options);
    let lapack = root().join("routines/lapack/lapack.idl");
    let server =
        Server::start(Transport::Unix, &[lapack], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    let dgesv = client.routine("dgesv").unwrap();
    // Large enough to be solved by several threads.
    let n = 400_u64;
    let matrix: Vec<f64> =
        (0..n * n).map(|i| if i % (n + 1) == 0 { 4.0 } else { 1.0 / (1 + i % 7) as f64 }).collect();
    for _ in 0..2 {
        let right: Vec<f64> = (0..n)
            .map(|row| (0..n).map(|column| matrix[(row + column * n) as usize]).sum())
            .collect();
        let arguments =
            [("a", Array::columns(&matrix, &[n, n]).into()), ("b", Array::vector(&right).into())];
        let x = dgesv.call(arguments).unwrap().array::<f64>("b").unwrap().to_vec();
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8), "the solution is all ones");
        let zygote = server.zygotes()[0];
        let threads = std::fs::read_dir(format!("/proc/{zygote}/task")).unwrap().count();
        assert_eq!(threads, 1, "nothing runs in a zygote but the zygote");
        kill(server.children()[0]);
        assert!(eventually(|| server.children().is_empty()));
    }
}
