//! A plugin that calls another node: the one in plugins/example-caller, in a node of this process.

use std::path::Path;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_example_caller::{ExampleHandle, SLOT, plugin};
use farcall_kernel::{Given, Manifest, Node};
use farcall_link::stream::{ByteStream, Listener};
use farcall_services::mailbox::question;
use farcall_services::transports::{self, Transports, TransportsHandle};
use farcall_tests::{Directory, Server, Transport, compile};

const PATIENCE: Duration = Duration::from_secs(20);
const IDL: &str = "Module sums; Library \"libsums.so\";
Define half(IN double x, OUT double y) Calls \"C\" y = half(x);
Define fail(IN double x, OUT double y) Calls \"C\" y = fail(x);";

/// Unix sockets and nothing else.
struct Unix;

impl Transports for Unix {
    fn listen(&self, _: &str) -> Result<Box<dyn Listener>> {
        Err(Error::new(ErrorKind::InvalidArgument, "listen", "nobody listens in this node"))
    }

    fn dial(&self, address: &str, patience: Duration) -> Result<Box<dyn ByteStream>> {
        farcall_transport_unix::connect_within(
            Path::new(address.trim_start_matches("unix:")),
            patience,
        )
    }
}

fn node(address: &str, routine: &str) -> Node {
    let plugins = [plugin()];
    let mut manifest = Manifest::of(&plugins).unwrap();
    let options = format!("address = \"{address}\"\nroutine = \"{routine}\"");
    manifest.override_options("example-caller", "test", &options).unwrap();
    Node::start_with(
        &manifest,
        &plugins,
        Given::default().with(transports::SLOT, TransportsHandle::new(Unix)),
    )
    .unwrap()
}

fn ask(node: &Node, number: f64) -> Result<f64> {
    let (reply, answer) = question().unwrap();
    node.service::<ExampleHandle>(SLOT).unwrap().ask(number, reply);
    answer.wait(PATIENCE)
}

fn server(folder: &Directory) -> Server {
    compile("sums.c", &folder.0.join("libsums.so"), &["-shared", "-fPIC"]);
    let file = folder.write("sums.idl", IDL);
    Server::start(Transport::Unix, &[file], &[])
}

#[test]
fn a_plugin_calls_a_routine_of_another_node() {
    let folder = Directory::new();
    let server = server(&folder);
    let caller = node(server.address(), "sums/half");
    assert_eq!((ask(&caller, 3.0).unwrap(), ask(&caller, -1.0).unwrap()), (1.5, -0.5));
    // Many at a time.
    let handle = caller.service::<ExampleHandle>(SLOT).unwrap();
    let answers: Vec<_> = (0..32)
        .map(|index| {
            let (reply, answer) = question().unwrap();
            handle.ask(f64::from(index), reply);
            answer
        })
        .collect();
    for (index, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.wait(PATIENCE).unwrap(), index as f64 / 2.0);
    }
    caller.stop().unwrap();
}

#[test]
fn a_plugin_is_told_why_a_call_of_its_fails() {
    let folder = Directory::new();
    let server = server(&folder);
    let missing = ask(&node(server.address(), "sums/quarter"), 1.0).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let failed = ask(&node(server.address(), "sums/fail"), 1.0).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::RoutineCrashed, "{failed}");
    // A server that is gone, and one that is there again, at the same address.
    let caller = node(server.address(), "sums/half");
    assert_eq!(ask(&caller, 1.0).unwrap(), 0.5);
    drop(server);
    let gone = ask(&caller, 1.0).unwrap_err();
    assert!(
        matches!(
            gone.kind(),
            ErrorKind::Unreachable | ErrorKind::ConnectionLost | ErrorKind::ShuttingDown
        ),
        "{gone}"
    );
    let nowhere = ask(&node("unix:/nowhere/at/all", "sums/half"), 1.0).unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::Unreachable, "{nowhere}");
}
