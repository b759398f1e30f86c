//! What a call may still use when it is over: nothing of its caller's.

use std::time::Duration;

use farcall_base::{Error, ErrorKind};
use farcall_client::{Array, ArrayMut};
use farcall_wire::Argument;

use super::fake::{Wire, pair};

const SUM: &str =
    "Module m;\nDefine sum(IN int n, IN double x[n], OUT double s) Calls \"C\" s = sum(n, x);\n";
const FOUND: &str = "Module m;\nDefine found(IN int n, INOUT int m, OUT double w[n:m]) Calls \
    \"C\" found(n, m, w);\n";

/// A server that refuses a call whose array is still on its way, and reads the rest later: by then
/// the caller may have used the memory for something else.
#[test]
fn what_is_queued_of_a_refused_call_is_a_copy() {
    let (client, mut server) = pair(Wire::Blocks, SUM, Duration::from_secs(10));
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, _) = server.opened();
        server.grant(channel, 1 << 40);
        // By now the socket is full, and more is queued behind it.
        std::thread::sleep(Duration::from_millis(100));
        server.refuse(channel, &Error::new(ErrorKind::LimitExceeded, "accept a call", "not today"));
        (server, channel)
    });
    let mut x = vec![1.0_f64; 2 << 20];
    let error =
        client.routine("sum").unwrap().call([("x", Array::vector(&x).into())]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    x.fill(2.0);
    let (mut server, channel) = script.join().unwrap();
    for _ in 0..500 {
        let _ = client.process();
        server.read();
    }
    let came = server.data(channel, 1);
    assert!(!came.is_empty());
    assert!(
        came.chunks_exact(8).all(|number| number == 1.0_f64.to_ne_bytes()),
        "bytes of after the call were sent"
    );
}

/// A range that the routine itself decides may be longer than what the caller expected and made
/// room for.
#[test]
fn results_longer_than_their_place_are_refused() {
    longer_than_its_place(Wire::Blocks);
    longer_than_its_place(Wire::Shared);
}

fn longer_than_its_place(wire: Wire) {
    let (client, mut server) = pair(wire, FOUND, Duration::from_secs(10));
    let script = std::thread::spawn(move || {
        server.tell_interface();
        for count in [2_i32, 4] {
            let (channel, _) = server.opened();
            let numbers = [1.0_f64, 2.0, 3.0, 4.0][..count as usize]
                .iter()
                .flat_map(|one| one.to_ne_bytes())
                .collect();
            let results = vec![
                Argument::Absent,
                Argument::Inline(count.to_ne_bytes().as_slice().into()),
                Argument::Inline(numbers),
            ];
            server.finish(channel, results, Vec::new());
        }
        server
    });
    let found = client.routine("found").unwrap();
    let mut w = [-1.0_f64; 6];
    let mut call = || {
        let place = ArrayMut::vector(&mut w[..2]).into();
        found
            .call([("n", 100.into()), ("m", Array::vector(&[2_i32]).into()), ("w", place)])
            .map(|_| ())
    };
    call().unwrap();
    let error = call().unwrap_err();
    assert!(error.to_string().contains("larger than the array for it"), "{error}");
    assert_eq!(w, [1.0, 2.0, -1.0, -1.0, -1.0, -1.0]);
    script.join().unwrap();
}
