//! INOUT arrays that are read only under a condition, on the wire: how many bytes are saved, and
//! what peers are told that know nothing of conditions, or other ones.

use std::time::Duration;

use farcall_base::{CallId, ErrorKind};
use farcall_client::{Array, Client};
use farcall_idl::decode::decode_interface;
use farcall_idl::encode::{call_hash, contract_hash};
use farcall_tests::{Proxy, Raw, Server, Transport, Way, battery, eventually, failure_of, root};
use farcall_wire::message::decode;
use farcall_wire::{Argument, CallResult, FrameKind, InterfaceReply, Open, Reply, Request};

const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of a call that are no array's.
const SMALL: u64 = 4096;

#[test]
fn a_product_without_the_old_c_sends_two_matrices() {
    const N: u64 = 300;
    const MATRIX: u64 = 8 * N * N;
    let server = Server::start(Transport::Tcp, &[root().join("routines/lapack/blas.idl")], &[]);
    let proxy = Proxy::to(server.address());
    let address = proxy.address().parse().unwrap();
    let client = Client::connect_to(&address, server.token().map(Into::into), PATIENCE).unwrap();
    let dgemm = client.routine("dgemm").unwrap();
    let a: Vec<f64> = (0..N * N).map(|i| (i % 7) as f64).collect();
    let c = vec![f64::NAN; (N * N) as usize];
    let sent = |beta: f64, gives: bool| {
        let before = [Way::Up, Way::Down].map(|way| proxy.passed(way));
        let matrix = |of| Array::columns(of, &[N, N]).into();
        let mut all = vec![("a", matrix(&a)), ("b", matrix(&a)), ("beta", beta.into())];
        all.extend(gives.then(|| ("c", matrix(&c))));
        let outputs = dgemm.call(all).unwrap();
        let product = outputs.array::<f64>("c").unwrap();
        assert_eq!(product.iter().any(|number| number.is_nan()), beta != 0.0);
        let first: f64 = (0..N).map(|k| a[(k * N) as usize] * a[k as usize]).sum();
        assert!(beta != 0.0 || product[0] == first, "{}", product[0]);
        // They are counted when they were passed on, and the client may be faster.
        let counted = || proxy.passed(Way::Down) - before[1] >= MATRIX;
        assert!(eventually(counted), "C never came back");
        let [up, down] = [Way::Up, Way::Down].map(|way| proxy.passed(way));
        (up - before[0], down - before[1])
    };
    for (beta, gives, matrices) in [(1.0, true, 3), (0.0, true, 2), (0.0, false, 2)] {
        let (up, down) = sent(beta, gives);
        eprintln!("beta {beta}, C {gives}: {up} bytes up, {down} down");
        assert!((matrices * MATRIX..matrices * MATRIX + SMALL).contains(&up), "{beta}: {up}");
        assert!((MATRIX..MATRIX + SMALL).contains(&down), "{beta}: {down}");
    }
}

/// What one must know to call a routine by hand.
fn interface(raw: &mut Raw, name: &str) -> InterfaceReply {
    raw.message(FrameKind::Request, 101, &Request::Interface(name.into()));
    match decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() {
        Reply::Interface(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn array(numbers: &[f64]) -> Argument {
    Argument::Inline(numbers.iter().flat_map(|number| number.to_ne_bytes()).collect())
}

/// A call of `blend` with two numbers, opened with this hash.
fn open(hash: [u8; 32], beta: f64, y: Argument) -> Open {
    let n = Argument::Inline(2_i64.to_ne_bytes().as_slice().into());
    let arguments = vec![n, array(&[beta]), array(&[1.0, 2.0]), y, Argument::Absent];
    Open::new(CallId([9; 16]), "battery/blend".into(), hash, arguments)
}

/// Peers of a release that knows no conditions skip them: they open with the contract's hash, and
/// send everything.
fn old_and_new_peers_are_served_and_none_is_misread(transport: Transport) {
    let server = Server::start(transport, &[battery(false)], &[]);
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "blend");
    let known = decode_interface(&reply.interface).unwrap();
    let mut skipped = known.clone();
    skipped.parameters.iter_mut().for_each(|one| one.given = None);
    assert_eq!(contract_hash(&skipped), reply.contract, "who skips the key takes the reply");
    let full = call_hash(&known);
    assert_ne!(full, reply.contract);
    let mut ask = |open: Open| {
        raw.message(FrameKind::Open, 1, &open);
        raw.expect(FrameKind::Result)
    };
    let mut results = |open: Open| {
        let result: CallResult = decode("Result", &ask(open)).unwrap();
        assert!(result.failure.is_none(), "{:?}", result.failure);
        result.results
    };
    let old = [3.0, 4.0];
    for hash in [reply.contract, full] {
        // Sent although nobody reads it: the routine gets it, and leaves its last element.
        assert_eq!(results(open(hash, 0.0, array(&old)))[3..], [array(&[1.0, 4.0]), array(&[3.0])]);
        assert_eq!(results(open(hash, 2.0, array(&old)))[3], array(&[7.0, 10.0]));
        let left_out = results(open(hash, 0.0, Argument::Absent));
        assert_eq!(left_out[3..], [array(&[1.0, 0.0]), array(&[0.0])]);
    }
    let cases = [
        (open(full, 2.0, Argument::Absent), ErrorKind::InvalidArgument, "an argument is missing"),
        (open(full, f64::NAN, Argument::Absent), ErrorKind::InvalidArgument, "is missing"),
        (open(full, 0.0, array(&[1.0])), ErrorKind::InvalidArgument, "the wrong length"),
        // Made for other conditions than these.
        (open([7; 32], 0.0, Argument::Absent), ErrorKind::InterfaceChanged, "changed"),
    ];
    for (open, kind, words) in cases {
        let error = failure_of(&ask(open));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

farcall_tests::over_all! {
    old_and_new_peers_are_served_and_none_is_misread
}
