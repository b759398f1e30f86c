//! Data: values that stay at a server, made and used by calls of every kind.

use std::time::{Duration, Instant};

use farcall_client::idl::interface::Order;
use farcall_client::{
    Argument, Array, CallOptions, Client, Data, DataState, ErrorKind, Output, Stay,
};
use farcall_tests::{Directory, Server, Transport, eventually, manifest, resident};

farcall_tests::over_all! {
    values_are_put_used_and_fetched
    results_stay_and_are_arguments_at_once
    a_chain_waits_for_nobody
    what_fails_fails_what_hangs_on_it
    routines_cannot_change_data
    other_orders_and_gaps_are_copied
    misfits_are_refused_with_their_reason
    data_is_listed_and_deleted
}

/// Longer than an answer holds.
const MANY: usize = 3000;

struct World {
    server: Server,
    client: Client,
}

impl World {
    fn new(transport: Transport) -> World {
        let server = Server::start(transport, &[resident()], &[]);
        let client = server.client();
        World { server, client }
    }

    fn put(&self, values: &[f64]) -> Data {
        self.client.put(Array::vector(values), &CallOptions::default()).unwrap()
    }

    fn scale(&self, factor: f64, x: impl Into<Argument<'static>>, n: usize) -> Data {
        let arguments =
            [("factor", factor.into()), ("x", x.into()), ("n", Argument::Integer(n as i64))];
        let routine = self.client.routine("resident/scale").unwrap();
        data(routine.call_with(arguments, &staying()).unwrap().get("x").unwrap())
    }
}

fn staying() -> CallOptions {
    CallOptions { stay: Stay::All, ..CallOptions::default() }
}

fn data(output: &Output) -> Data {
    match output {
        Output::Data(data) => data.clone(),
        _ => panic!("it did not stay"),
    }
}

fn values(data: &Data) -> Vec<f64> {
    data.fetch(&CallOptions::default()).unwrap().array("value").unwrap()
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|number| number as f64).collect()
}

fn values_are_put_used_and_fetched(transport: Transport) {
    let world = World::new(transport);
    for count in [1, 100, MANY, 100_000] {
        let numbers = numbers(count);
        let put = world.put(&numbers);
        assert_eq!(put.extents(), Some([count as u64].as_slice()));
        for _ in 0..2 {
            assert_eq!(values(&put), numbers);
        }
        let total = world.client.routine("resident/scribble").unwrap();
        let sum = total.call([("x", Argument::from(&put))]).unwrap().scalar::<f64>("sum").unwrap();
        assert_eq!(sum, numbers.iter().sum::<f64>());
        assert_eq!(values(&put), numbers, "the routine has written over its own copy");
        // An INOUT argument that is data comes back as an ordinary result.
        let doubled = world.client.routine("resident/scale").unwrap();
        let doubled = doubled.call([("factor", 2.0.into()), ("x", Argument::from(&put))]).unwrap();
        let expected: Vec<f64> = numbers.iter().map(|number| 2.0 * number).collect();
        assert_eq!(doubled.array::<f64>("x").unwrap(), expected);
        assert_eq!(values(&put), numbers);
    }
    let empty = world.client.put(Array::vector::<f64>(&[]), &CallOptions::default()).unwrap();
    assert_eq!(values(&empty), Vec::<f64>::new());
}

fn results_stay_and_are_arguments_at_once(transport: Transport) {
    let world = World::new(transport);
    for count in [3, MANY] {
        let first = world.scale(
            2.0,
            Array::shared(numbers(count).into(), &[count as u64], Order::Row),
            count,
        );
        let second = world.scale(3.0, &first, count);
        let third = world.scale(5.0, &second, count);
        assert_eq!(values(&third)[2], 60.0);
        assert_eq!((values(&first)[2], values(&second)[2]), (4.0, 12.0));
    }
    let letters = world.client.routine("resident/letters").unwrap();
    let letters = letters.call_with([("n", 9000.into())], &staying()).unwrap();
    let letters = data(letters.get("text").unwrap()).fetch(&CallOptions::default()).unwrap();
    let Output::Array(letters) = letters.get("value").unwrap() else { panic!("no array") };
    assert_eq!(letters.packed(Order::Row).unwrap(), vec![b'z'; 9000]);
    // The routine itself decides how many there are.
    let some = world.client.routine("resident/some").unwrap();
    for count in [10, 2 * MANY] {
        let some = some.call_with([("n", Argument::Integer(count as i64))], &staying()).unwrap();
        let some = data(some.get("x").unwrap());
        assert_eq!(some.extents(), Some([count as u64 / 2].as_slice()));
        assert_eq!(values(&some), numbers(count / 2));
    }
}

/// Every call is opened before the first one has ended, and names what is not there yet.
fn a_chain_waits_for_nobody(transport: Transport) {
    let world = World::new(transport);
    let slow = world.client.routine("resident/slow").unwrap();
    let scale = world.client.routine("resident/scale").unwrap();
    for count in [4, MANY] {
        let begun = Instant::now();
        let n = || ("n", Argument::Integer(count as i64));
        let first = slow.start([("seconds", 0.5.into()), n()], &staying()).unwrap();
        let mut calls = vec![first];
        for _ in 0..20 {
            let call = calls.last().unwrap();
            let index = call.routine().interface().parameters.iter().position(|p| p.name == "x");
            let before = call.data(index.unwrap()).unwrap().clone();
            let arguments = [("factor", 2.0.into()), ("x", (&before).into()), n()];
            calls.push(scale.start(arguments, &staying()).unwrap());
        }
        assert!(begun.elapsed() < Duration::from_millis(450), "it waited for the first");
        let last = calls.pop().unwrap().wait().unwrap();
        let last = values(&data(last.get("x").unwrap()));
        assert_eq!(last[3], 3.0 * f64::from(1 << 20));
    }
}

fn what_fails_fails_what_hangs_on_it(transport: Transport) {
    let world = World::new(transport);
    let crash = world.client.routine("resident/crash").unwrap();
    let scale = world.client.routine("resident/scale").unwrap();
    let n = || ("n", Argument::Integer(MANY as i64));
    let broken = crash.start([n()], &staying()).unwrap();
    let lost = broken.data(0).unwrap().clone();
    let hangs = scale.start([("factor", 2.0.into()), ("x", (&lost).into()), n()], &staying());
    let hangs = hangs.unwrap();
    let hangs_on_that = scale
        .start(
            [("factor", 2.0.into()), ("x", hangs.data(1).unwrap().into()), n()],
            &CallOptions::default(),
        )
        .unwrap();
    assert_eq!(broken.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
    for call in [hangs, hangs_on_that] {
        let error = call.wait().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        assert!(error.to_string().contains("an argument will never be there"), "{error}");
    }
    // What comes later hears the same.
    let error = lost.fetch(&CallOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    let error = scale.call([("factor", 2.0.into()), ("x", (&lost).into()), n()]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
}

fn routines_cannot_change_data(transport: Transport) {
    let world = World::new(transport);
    let keeper = world.client.routine("resident/keeper").unwrap();
    let n = Argument::Integer(MANY as i64);
    let kept = keeper.call_with([("value", 3.0.into()), ("n", n)], &staying()).unwrap();
    let kept = data(kept.get("x").unwrap());
    // The place is gone, or another's: never this data's.
    let _ = world.client.routine("resident/late_writer").unwrap().call([]);
    assert_eq!(values(&kept), vec![3.0; MANY]);
    let put = world.put(&numbers(MANY));
    let liar = world.client.routine("resident/break_word").unwrap();
    let error = liar.call([("x", (&put).into())]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(error.to_string().contains("const"), "{error}");
    assert_eq!(values(&put), numbers(MANY));
}

fn other_orders_and_gaps_are_copied(transport: Transport) {
    let world = World::new(transport);
    for (rows, columns) in [(2_u64, 3_u64), (70, 50)] {
        let numbers = numbers((rows * columns) as usize);
        let array = Array::rows(&numbers, &[rows, columns]);
        let put = world.client.put(array, &CallOptions::default()).unwrap();
        let first = world.client.routine("resident/columns").unwrap();
        let first = first.call([("a", Argument::from(&put))]).unwrap();
        let expected: Vec<f64> = (0..rows).map(|row| (row * columns) as f64).collect();
        assert_eq!(first.array::<f64>("first").unwrap(), expected);
        let padded = world.client.routine("resident/padded").unwrap();
        let arguments = || {
            [
                ("a", Argument::from(&put)),
                ("m", Argument::Integer(rows as i64)),
                ("n", Argument::Integer(columns as i64)),
                ("lda", Argument::Integer(columns as i64 + 5)),
            ]
        };
        let negated: Vec<f64> = numbers.iter().map(|number| -number).collect();
        assert_eq!(padded.call(arguments()).unwrap().array::<f64>("a").unwrap(), negated);
        let stayed = padded.call_with(arguments(), &staying()).unwrap();
        assert_eq!(values(&data(stayed.get("a").unwrap())), negated);
        assert_eq!(values(&put), numbers);
    }
}

fn misfits_are_refused_with_their_reason(transport: Transport) {
    let world = World::new(transport);
    let put = world.put(&numbers(10));
    let scale = world.client.routine("resident/scale").unwrap();
    let error = |arguments: Vec<(&'static str, Argument<'static>)>| {
        let error = scale.call(arguments).err().unwrap();
        (error.kind(), error.to_string())
    };
    let factor = || ("factor", Argument::Real(2.0));
    let (kind, said) = error(vec![factor(), ("x", (&put).into()), ("n", Argument::Integer(11))]);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{said}");
    let whole = [1_i64, 2, 3];
    let whole = world.client.put(Array::vector(&whole), &CallOptions::default()).unwrap();
    let (kind, said) = error(vec![factor(), ("x", (&whole).into())]);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{said}");
    assert!(said.contains("another type"), "{said}");
    let (kind, said) = error(vec![("factor", (&put).into()), ("x", (&put).into())]);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{said}");
    put.delete().unwrap();
    let (kind, said) = error(vec![factor(), ("x", (&put).into())]);
    assert_eq!(kind, ErrorKind::NotFound, "{said}");
    assert_eq!(put.fetch(&CallOptions::default()).err().unwrap().kind(), ErrorKind::NotFound);
    // Whose it is.
    let matrix = numbers(4);
    let matrix = Array::rows(&matrix, &[2, 2]);
    let matrix = world.client.put(matrix, &CallOptions::default()).unwrap();
    let (kind, said) = error(vec![factor(), ("x", (&matrix).into())]);
    assert_eq!(kind, ErrorKind::InvalidArgument, "{said}");
    let stay = Stay::These(["y".to_owned()].into());
    let options = CallOptions { stay, ..CallOptions::default() };
    let error = scale.call_with([factor(), ("x", (&whole).into())], &options).err().unwrap();
    assert!(error.to_string().contains("no result \"y\""), "{error}");
}

fn data_is_listed_and_deleted(transport: Transport) {
    let world = World::new(transport);
    let first = world.put(&numbers(MANY));
    let second = world.put(&numbers(3));
    let all = world.client.data().unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|one| one.state == DataState::There && one.left_us.is_none()));
    let known = all.iter().find(|one| one.id == first.id()).unwrap();
    assert_eq!(
        (known.kind.as_str(), known.extents.as_slice()),
        ("data:double:1:row", [3000].as_slice())
    );
    assert!(known.bytes >= 24_000);
    let again = world.client.data_of(first.id()).unwrap();
    assert_eq!(values(&again), numbers(MANY));
    drop(again);
    assert_eq!(world.client.data().unwrap().len(), 2, "it is not its own");
    drop(second);
    assert!(eventually(|| world.client.data().unwrap().len() == 1), "dropped data is deleted");
    world.client.delete_data(vec![first.id()]).unwrap();
    assert!(world.client.data().unwrap().is_empty());
    let error = world.client.data_of(first.id()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn data_outlasts_its_client_for_its_lease() {
    let world = World::new(Transport::Tls);
    let lease = Some(Duration::from_secs(2));
    let options = CallOptions { lease, ..CallOptions::default() };
    let other = world.server.client();
    let leased = other.put(Array::vector(&numbers(MANY)), &options).unwrap();
    let gone = other.put(Array::vector(&numbers(5)), &CallOptions::default()).unwrap();
    leased.leave();
    let leased_id = leased.id();
    let gone_id = gone.id();
    drop((leased, gone, other));
    assert!(eventually(|| world.client.data_of(gone_id).is_err()), "the connection has ended");
    let found = world.client.data_of(leased_id).unwrap();
    assert_eq!(values(&found), numbers(MANY));
    let left = world.client.data().unwrap()[0].left_us.unwrap();
    assert!(left <= 2_000_000, "{left}");
    assert!(eventually(|| world.client.data().unwrap().is_empty()), "its lease has ended");
}

#[test]
fn others_cannot_see_it_and_limits_bound_it() {
    let folder = Directory::new();
    let few = manifest("results_memory_bytes_max = 1000000\nresults_max = 10");
    let few = folder.write("farcall.toml", &few);
    let options = ["--manifest", few.to_str().unwrap()];
    let server = Server::start(Transport::Unix, &[resident()], &options);
    let client = server.client();
    let put = |count: usize| client.put(Array::vector(&numbers(count)), &CallOptions::default());
    let error = put(1_000_000).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let mut all = Vec::new();
    let error = loop {
        match put(10) {
            Ok(data) => all.push(data),
            Err(error) => break error,
        }
        assert!(all.len() < 100, "nothing bounds it");
    };
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("results_max"), "{error}");
    drop(all);
    assert!(eventually(|| put(10).is_ok()), "there is room again");
    // Thousands made and dropped leave nothing.
    for _ in 0..2000 {
        let _ = put(1000);
    }
    assert!(eventually(|| client.data().unwrap().is_empty()), "nothing is left");
}

/// What the command prints, its complaints behind it, and how it ended.
fn ran(server: &Server, words: &[&str]) -> (String, Option<i32>) {
    let std::process::Output { stdout, stderr, status } = server.run(words);
    (String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned(), status.code())
}

#[test]
fn the_command_lists_data() {
    let world = World::new(Transport::Unix);
    assert_eq!(ran(&world.server, &["data"]), ("no data\n".to_owned(), Some(0)));
    assert_eq!(ran(&world.server, &["data", "--json"]), ("[]\n".to_owned(), Some(0)));
    let matrix = numbers(6);
    let rows = Array::rows(&matrix, &[2, 3]);
    let matrix = world.client.put(rows, &CallOptions::default()).unwrap();
    let vectors = [world.put(&numbers(MANY)), world.put(&[])];
    let crash = world.client.routine("resident/crash").unwrap();
    let call = crash.start([("n", Argument::Integer(3))], &staying()).unwrap();
    let lost = call.data(0).unwrap().clone();
    assert!(call.wait().is_err());
    let (table, status) = ran(&world.server, &["data"]);
    assert_eq!(status, Some(0), "{table}");
    let line = |id: String| table.lines().find(|line| line.starts_with(&id)).unwrap().to_owned();
    assert!(line("ID".to_owned()).contains("TYPE"), "{table}");
    let line = |data: &Data| line(data.id().to_string());
    assert!(line(&matrix).contains("double[2, 3]") && line(&matrix).contains(" there "), "{table}");
    assert!(line(&vectors[0]).contains("double[3000]"), "{table}");
    assert!(line(&vectors[1]).contains("double[0]"), "{table}");
    assert!(line(&lost).contains("failed") && line(&lost).contains("SIGSEGV"), "{table}");

    let json = ran(&world.server, &["data", "--json"]).0;
    let json: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let known = json.iter().find(|one| one["id"] == matrix.id().to_string().as_str()).unwrap();
    assert_eq!(
        (&known["type"], &known["order"], &known["extents"], &known["state"]),
        (&"double".into(), &"row".into(), &serde_json::json!([2, 3]), &"there".into())
    );
    assert!(known["bytes"].as_u64() >= Some(48) && known["seconds_left"].is_null(), "{known}");
    assert!(known["server"] == world.server.address() && known["reason"].is_null(), "{known}");

    let (value, _) = ran(&world.server, &["fetch", &matrix.id().to_string()]);
    assert!(value.starts_with("value: double[2][3]\n"), "{value}");
}

#[test]
fn the_command_deletes_data() {
    let world = World::new(Transport::Unix);
    let all: Vec<Data> = [1, 10, MANY, MANY].map(|count| world.put(&numbers(count))).into();
    let digits = &all[0].id().to_string()[..8];
    let whole = all[2].id().to_string();
    // Where one is not found, nothing is deleted.
    let nothing = "0".repeat(32);
    let (said, status) = ran(&world.server, &["data", "--delete", &whole, &nothing]);
    assert!(said.contains("no such data of yours") && status == Some(3), "{said}");
    assert_eq!(world.client.data().unwrap().len(), 4);
    let deleted = ran(&world.server, &["data", "--delete", digits, &whole]);
    assert_eq!(deleted, (String::new(), Some(0)));
    assert_eq!(world.client.data().unwrap().len(), 2);
    let (said, status) = ran(&world.server, &["data", "--delete", digits]);
    assert!(said.contains("none of your data") && status == Some(3), "{said}");
    let (said, status) = ran(&world.server, &["data", "--delete", "xyz"]);
    assert!(said.contains("hexadecimal") && status == Some(2), "{said}");
    assert_eq!(ran(&world.server, &["data", "--delete", "all"]), (String::new(), Some(0)));
    assert!(world.client.data().unwrap().is_empty());
}
