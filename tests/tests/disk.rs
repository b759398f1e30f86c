//! Disks that are full: of routines' scratch files and files of calls, of the server's log and
//! token, and of the memory that arguments lie in. Each costs at most the call that needed the
//! room.

use std::path::PathBuf;
use std::process::Command;

use farcall_base::ErrorKind;
use farcall_client::{Argument, Array, Client, Error};
use farcall_tests::{
    Directory, Server, Transport, battery, eventually, manifest, program, root, wild,
};

fn fine(client: &Client) {
    let outputs = client.routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
}

/// A server whose temporary files lie on a disk of 4 MiB that nobody else sees; none where no such
/// thing can be made.
fn on_a_small_disk(folder: &Directory) -> Option<Server> {
    on_a_small_disk_with(folder, &[battery(false), wild(false)])
}

fn on_a_small_disk_with(folder: &Directory, files: &[PathBuf]) -> Option<Server> {
    let script = "mount -t tmpfs -o size=4m,nr_inodes=64 tmpfs \"$0\" && export TMPDIR=\"$0\" && \
        exec \"$@\"";
    let place = folder.0.to_str().unwrap();
    let wrapper = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, place];
    let served = Server::start_within(&wrapper, Transport::Tcp, files, &[]);
    served.map_err(|said| eprintln!("skipped: no disk can be made here: {said}")).ok()
}

fn fill(client: &Client, file: &str, megabytes: i64) -> i32 {
    let arguments = [("file", Argument::from(file)), ("megabytes", megabytes.into())];
    client.routine("fill").unwrap().call(arguments).unwrap().scalar("written").unwrap()
}

#[test]
fn a_routine_that_fills_its_scratch_folder_is_told_and_nobody_else_is_harmed() {
    let folder = Directory::new();
    let Some(server) = on_a_small_disk(&folder) else { return };
    let client = server.client();
    fine(&client);
    let written = fill(&client, "scratch", 16);
    assert!((1..=4).contains(&written), "{written} MB of 16 were written to a disk of 4");
    // Its folder is as full for the next call, and the rest of the server needs none of it.
    assert_eq!(fill(&client, "more", 1), 0);
    fine(&client);
    fine(&server.client());
    assert_eq!(fill(&client, "scratch", 1), 1, "what is written over makes room");
}

#[test]
fn a_module_that_finds_no_room_for_its_folder_fails_its_calls_alone() {
    let folder = Directory::new();
    let Some(server) = on_a_small_disk(&folder) else { return };
    let client = server.client();
    fine(&client);
    // The server's own view of the disk, whose last places for files go.
    let disk = PathBuf::from(format!("/proc/{}/root{}", server.pid(), folder.0.display()));
    let files = (0..100).map(|number| disk.join(number.to_string()));
    let taken: Vec<PathBuf> = files.take_while(|file| std::fs::write(file, "").is_ok()).collect();
    assert!((1..64).contains(&taken.len()), "{} files", taken.len());
    let error =
        client.routine("look").unwrap().call([("file", Argument::from("/usr"))]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::System, "{error}");
    for word in ["make a working folder", "No space left", "wild"] {
        assert!(error.to_string().contains(word), "{word} is missing in: {error}");
    }
    fine(&client);
    taken.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    assert_eq!(fill(&client, "scratch", 1), 1, "there is room again");
}

#[test]
fn a_file_of_a_call_that_finds_no_room_fails_it_alone() {
    let folder = Directory::new();
    let sources = Directory::new();
    let text = "Module sized;\nDefine size(IN filename given, OUT long bytes)\n{ FILE *file = \
                fopen(given, \"r\"); fseek(file, 0, SEEK_END); *bytes = ftell(file); \
                fclose(file); }\n";
    let Some(server) =
        on_a_small_disk_with(&folder, &[battery(false), sources.write("sized.idl", text)])
    else {
        return;
    };
    let client = server.client();
    let size = |bytes: usize| {
        let given = Argument::Raw(vec![7; bytes]);
        client
            .routine("size")
            .unwrap()
            .call([("given", given)])
            .map(|outputs| outputs.scalar::<i64>("bytes").unwrap())
    };
    assert_eq!(size(1 << 20).unwrap(), 1 << 20);
    let error = size(8 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::System, "{error}");
    for word in ["No space left", "free disk space", "TMPDIR"] {
        assert!(error.to_string().contains(word), "{word} is missing in: {error}");
    }
    assert_eq!(size(1 << 20).unwrap(), 1 << 20, "what was written of it is gone");
    fine(&client);
}

/// Half a token would be taken for one that others wrote, and refused, when there is room again.
#[test]
fn a_token_that_finds_no_room_is_not_left_behind() {
    let folder = Directory::new();
    let script = "mount -t tmpfs -o size=4k tmpfs \"$0\" && head -c 4096 /dev/zero >\"$0/full\" \
                  || exit 77; \"$1\" serve --listen tcp:127.0.0.1:0 --token-file \"$0/token\" \
                  \"$2\"; echo \"status $?\" >&2; ls \"$0\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(&folder.0).arg(program());
    let output = command.arg(root().join(battery(false))).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !said.contains("status") {
        eprintln!("skipped: no disk can be made here: {said}");
        return;
    }
    assert!(said.contains("write the token file") && said.contains("No space left"), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "full\n");
}

/// All that it says goes to a disk that is full, and so does its audit log.
#[test]
fn a_log_that_finds_no_room_stops_no_call() {
    let folder = Directory::new();
    let file = folder
        .write("farcall.toml", &manifest("log_level = \"debug\"\naudit_file = \"/dev/full\""));
    let wrapper = ["sh", "-c", "exec \"$@\" 2>/dev/full", "sh"];
    let options = ["--manifest", file.to_str().unwrap()];
    let server =
        Server::start_within(&wrapper, Transport::Unix, &[battery(false), wild(false)], &options)
            .unwrap();
    let client = server.client();
    (0..20).for_each(|_| fine(&client));
    assert_eq!(
        client.routine("leave").unwrap().call([("status", 3.into())]).err().unwrap().kind(),
        ErrorKind::RoutineExited
    );
    server.signal("-HUP");
    let mut server = server;
    assert_eq!(server.exit_code(), Some(0), "it ends as well as any");
}

fn touch(client: &Client, numbers: usize) -> Result<(), Error> {
    let x = vec![1.0; numbers];
    let outputs = client.routine("touch").unwrap().call([("x", Array::vector(&x).into())])?;
    assert!(outputs.array::<f64>("x").unwrap().iter().all(|number| *number == 2.0));
    Ok(())
}

/// Memory for arguments is a file to the system, which the same limit holds for.
#[test]
fn arguments_that_find_no_room_in_memory_fail_their_call_alone() {
    for transport in [Transport::Unix, Transport::Tcp] {
        let folder = Directory::new();
        let audit = folder.0.join("audit.log");
        let file = folder
            .write("farcall.toml", &manifest(&format!("audit_file = \"{}\"", audit.display())));
        let options = ["--manifest", file.to_str().unwrap()];
        let wrapper = ["prlimit", "--fsize=4194304:4194304"];
        let server =
            Server::start_within(&wrapper, transport, &[battery(false)], &options).unwrap();
        let client = server.client();
        touch(&client, 100_000).unwrap();
        if transport == Transport::Tcp {
            // The server's memory; over Unix sockets it is the client's own.
            let error = touch(&client, 1 << 20).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::System | ErrorKind::LimitExceeded),
                "{error}"
            );
            assert!(
                error.to_string().contains("memory") && error.to_string().contains("bytes"),
                "{error}"
            );
        }
        touch(&client, 100_000).unwrap();
        fine(&client);
        // A log that has grown so far is as full a disk.
        std::fs::OpenOptions::new().append(true).open(&audit).unwrap().set_len(4 << 20).unwrap();
        (0..20).for_each(|_| fine(&client));
        assert!(eventually(|| server.log().contains("write the audit log")), "{}", server.log());
        fine(&server.client());
    }
}
