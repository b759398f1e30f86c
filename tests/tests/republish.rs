//! A module that is published again, or withdrawn, while clients call it: whoever knows of that
//! gets what is new.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{Client, Routine};
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_kernel::{Manifest, Node};
use farcall_link::stream::Listener;
use farcall_rpc_server::{Options, Transports};
use farcall_services::directory::{self, DirectoryHandle, ExecutableImage, ImageKind, Trust};
use farcall_services::directory::{Part, Publication, Request, Response, RoutineData};
use farcall_tests::{Directory, compile, program};
use farcall_transport_unix::{MemoryLimits, SharedMemory};

const PATIENCE: Duration = Duration::from_secs(20);
const IDL: &str = "Module m; Library \"libversion.so\";
Define version(OUT int number) Calls \"C\" number = version();
Define other(OUT int number) Calls \"C\" number = version();";

/// Unix sockets and nothing else.
const TRANSPORTS: Transports = Transports {
    listen: |options: &Options| {
        let path = options.listen[0].trim_start_matches("unix:");
        Ok(vec![
            Box::new(farcall_transport_unix::Listener::bind(Path::new(path))?) as Box<dyn Listener>
        ])
    },
    adopt: farcall_transport_unix::from_descriptor,
    socket: farcall_transport_unix::from_descriptor,
    memory: |options| {
        Arc::new(SharedMemory::new(MemoryLimits {
            bytes_max: options.memory_bytes_max,
            idle_bytes_max: options.memory_idle_bytes_max,
            idle_regions_max: options.memory_idle_regions_max,
        }))
    },
    own_uid: farcall_transport_unix::own_uid,
    was_started_here: farcall_transport_unix::was_started_here,
    host: String::new,
    opens_when_published: false,
};

/// A node in this process, whose executables are the program's.
fn node(folder: &Path) -> Node {
    let plugins = [
        farcall_directory::plugin(),
        farcall_fetcher::plugin(),
        farcall_spawner_local::plugin(),
        farcall_spawner_jobs::plugin(|options| {
            farcall_spawner_jobs::construct(options, |_| unreachable!("no job runs"))
        }),
        farcall_rpc_server::plugin(|options| farcall_rpc_server::construct(options, TRANSPORTS)),
    ];
    let mut manifest = Manifest::of(&plugins).unwrap();
    let host = format!("host_command = [\"{}\", \"host\"]", program().display());
    manifest.override_options("spawner-local", "test", &host).unwrap();
    let listen = format!("listen = [\"unix:{}\"]", folder.join("socket").display());
    manifest.override_options("rpc-server", "test", &listen).unwrap();
    Node::start(&manifest, &plugins).unwrap()
}

/// The module with a library of this version.
fn publication(folder: &Path, version: u32) -> Publication {
    let library = folder.join(format!("libversion{version}.so"));
    compile("version.c", &library, &["-shared", "-fPIC", &format!("-DVERSION={version}")]);
    let module = farcall_idl::compile("m.idl", IDL).unwrap();
    let executable = ExecutableImage {
        readable: vec![library.canonicalize().unwrap().display().to_string()],
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: vec![library.display().to_string()] },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: encode_module(&module).into(),
    };
    let routines = module.routines.into_iter().map(|routine| RoutineData {
        encoded: encode_interface(&routine.interface).into(),
        contract: contract_hash(&routine.interface),
        routine: Arc::new(routine),
    });
    Publication {
        module: module.name,
        parts: vec![Part { routines: routines.collect(), executable }],
    }
}

fn number(routine: &Routine) -> i32 {
    routine.call([]).unwrap().scalar("number").unwrap()
}

#[test]
fn calls_get_what_was_published_last() {
    let folder = Directory::new();
    let node = node(&folder.0);
    let directory: DirectoryHandle = node.service(directory::SLOT).unwrap();
    let publish = |version| {
        let request = Request::Publish(publication(&folder.0, version));
        assert!(matches!(directory.ask_and_wait(request, PATIENCE), Ok(Response::Published(_))));
    };
    publish(1);
    let address = format!("unix:{}", folder.0.join("socket").display()).parse().unwrap();
    let client = Client::connect_to(&address, None, PATIENCE).unwrap();
    let version = client.routine("version").unwrap();
    let other = client.routine("other").unwrap();
    assert_eq!((number(&version), number(&other)), (1, 1));
    // The interfaces stay as they were, so nobody has a reason to ask for them again.
    for round in 2..6 {
        publish(round);
        assert_eq!((number(&version), number(&other)), (round as i32, round as i32));
    }
    directory.ask_and_wait(Request::Withdraw { module: "m".to_string() }, PATIENCE).unwrap();
    let error = version.call([]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    drop(client);
    node.stop().unwrap();
}

#[test]
fn a_library_that_is_written_over_costs_the_call_that_meets_it() {
    let folder = Directory::new();
    let node = node(&folder.0);
    let directory: DirectoryHandle = node.service(directory::SLOT).unwrap();
    let publish = || {
        let request = Request::Publish(publication(&folder.0, 1));
        assert!(matches!(directory.ask_and_wait(request, PATIENCE), Ok(Response::Published(_))));
    };
    publish();
    let address = format!("unix:{}", folder.0.join("socket").display()).parse().unwrap();
    let client = Client::connect_to(&address, None, PATIENCE).unwrap();
    let version = client.routine("version").unwrap();
    assert_eq!(number(&version), 1);
    // As `cp` begins. The executable has it in its memory.
    std::fs::File::create(folder.0.join("libversion1.so")).unwrap();
    let error = version.call([]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(
        ["SIGBUS", "mv or install", "reload"].iter().all(|word| error.to_string().contains(word)),
        "{error}"
    );
    publish();
    assert_eq!(number(&version), 1);
    drop(client);
    node.stop().unwrap();
}
