//! Messages become graphs, or are refused with the call, the parameter and what to do.

use farcall_base::{DataId, ErrorKind, Result};
use farcall_graph::{
    Argument, CallMessage, CallNumber, DataNumber, Graph, Input, Limits, Message, Origin, Plan,
    RoutineName, WantedResult,
};

use crate::judge::find;

fn routine(name: &str) -> RoutineName {
    RoutineName { name: format!("small/{name}"), contract: [1; 32] }
}

pub fn int(value: i32) -> Argument {
    Argument::Inline(value.to_ne_bytes().to_vec())
}

fn matrix(name: u8, kind: &str, extents: &[u64]) -> Input {
    Input { name: DataId([name; 16]), kind: kind.to_owned(), extents: extents.to_vec() }
}

fn call(routine: u32, arguments: &[Argument]) -> CallMessage {
    CallMessage { routine, arguments: arguments.to_vec(), after: Vec::new() }
}

fn wanted(call: u32, slot: u16) -> WantedResult {
    let number = 100 + call * 10 + u32::from(slot);
    WantedResult { call, slot, name: DataId([number as u8; 16]) }
}

const ABSENT: Argument = Argument::Absent;

/// A factorization, and two systems that are solved with it.
pub fn message() -> Message {
    let factors = [int(8), Argument::Input(0), ABSENT, ABSENT];
    let solve = |input: u32| {
        let pivots = Argument::Result(0, 2);
        [int(8), Argument::Result(0, 1), pivots, Argument::Input(input), ABSENT]
    };
    let vector = |name: u8| matrix(name, "data:double:1:row", &[8]);
    Message {
        routines: vec![routine("factor"), routine("solve")],
        // Servers turn arrays: their order in memory does not count.
        inputs: vec![matrix(1, "data:double:2:row", &[8, 8]), vector(2), vector(3)],
        calls: vec![call(0, &factors), call(1, &solve(1)), call(1, &solve(2))],
        results: vec![wanted(1, 3), wanted(0, 3)],
    }
}

fn plan(message: Message) -> Result<Plan> {
    Plan::new(message, &Limits::default(), &find)
}

/// The text of the error, which says these things.
fn refused(change: impl FnOnce(&mut Message), says: &[&str]) -> ErrorKind {
    let mut message = message();
    change(&mut message);
    let error = plan(message).expect_err("a message with a mistake was taken");
    let text = error.to_string();
    for one in says {
        assert!(text.contains(one), "\"{one}\" is not in: {text}");
    }
    assert!(text.contains("; "), "there is no fix in: {text}");
    error.kind()
}

#[test]
fn a_message_becomes_a_graph() {
    let plan = plan(message()).unwrap();
    let graph = plan.graph();
    // Three inputs; factors, pivots and info of call 0; b of calls 1 and 2, one of them unused.
    assert_eq!((graph.calls(), graph.values()), (3, 7));
    let bytes: Vec<u64> = (0..7).map(|at| graph.value(DataNumber(at)).bytes).collect();
    assert_eq!(bytes, [512, 64, 64, 512, 32, 4, 64]);
    let wanted = |at: &u32| graph.value(DataNumber(*at)).wanted;
    assert_eq!((0..7).filter(wanted).collect::<Vec<_>>(), [5, 6]);
    let uses = |call: u32| graph.call(CallNumber(call)).uses.iter().map(|one| one.0);
    assert_eq!(uses(2).collect::<Vec<_>>(), [2, 3, 4]);
    let makes = |call: u32| graph.call(CallNumber(call)).makes.iter().map(|one| one.0);
    assert_eq!(makes(0).collect::<Vec<_>>(), [3, 4, 5]);
    assert!(makes(1).eq([6]) && makes(2).next().is_none());
    assert!(graph.call(CallNumber(0)).may_run_again && !graph.call(CallNumber(1)).may_run_again);

    assert_eq!(plan.origin(DataNumber(4)), Origin::Result(CallNumber(0), 2));
    assert_eq!(plan.origin(DataNumber(2)), Origin::Input(2));
    assert_eq!(plan.result(CallNumber(0), 2), Some(DataNumber(4)));
    assert_eq!(plan.result(CallNumber(2), 3), None);
    assert_eq!(plan.argument(&Argument::Result(0, 1)), Some(DataNumber(3)));
    assert_eq!(plan.argument(&Argument::Input(1)), Some(DataNumber(1)));
    assert_eq!(plan.routine(CallNumber(2)).name, "small/solve");
    assert_eq!(plan.interface(CallNumber(0)).name, "factor");
    assert_eq!(plan.input_name(DataNumber(1)), Some(DataId([2; 16])));
}

#[test]
fn a_message_reads_as_it_was_written() {
    let mut message = message();
    message.calls[2].after = vec![1];
    message.calls[0].arguments[2] = Argument::Null;
    assert_eq!(Message::decode(&message.encode()).unwrap(), message);
    let mut longer = message.encode();
    longer.push(0);
    let error = Message::decode(&longer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("1 bytes follow its end"), "{error}");
}

#[test]
fn a_message_that_names_what_is_not_there_is_refused() {
    let says = ["call: 1", "routine: small/solve", "parameter: b", "input: 9", "inputs: 3"];
    refused(|message| message.calls[1].arguments[3] = Argument::Input(9), &says);
    refused(|message| message.calls[1].routine = 7, &["not listed", "call: 1", "index: 7"]);
    let kind = refused(
        |message| message.routines[1] = routine("slove"),
        &["nobody offers it", "routine: small/slove"],
    );
    assert_eq!(kind, ErrorKind::NotFound);
    refused(|message| message.results.push(wanted(5, 0)), &["not there", "call: 5", "calls: 3"]);
    // The order of A is nothing that the call makes, nor is there a parameter 9.
    for slot in [0, 9] {
        let says = ["does not make", "call: 1", "parameter: a", "named call: 0"];
        let named = format!("named parameter: {slot}");
        let change = |message: &mut Message| {
            message.calls[1].arguments[1] = Argument::Result(0, slot);
        };
        refused(change, &[&says[..], &[&named]].concat());
        refused(|message| message.results.push(wanted(0, slot)), &["does not make", &named]);
    }
}

#[test]
fn calls_that_wait_in_a_circle_are_refused() {
    let says = ["waits for itself", "call: 1", "named call: 1", "parameter: b", "in a circle"];
    refused(|message| message.calls[1].arguments[3] = Argument::Result(1, 3), &says);
    let says = ["does not come before", "call: 1", "named call: 2", "in a circle"];
    refused(|message| message.calls[1].arguments[3] = Argument::Result(2, 3), &says);
    let says = ["does not come before", "call: 0", "named call: 2", "routine: small/factor"];
    refused(|message| message.calls[0].after = vec![2], &says);
    refused(|message| message.calls[2].after = vec![2], &["waits for itself", "call: 2"]);
}

#[test]
fn what_has_another_type_or_size_is_refused() {
    let says = ["another size", "call: 2", "parameter: b", "value: [8]", "needed: [7]"];
    let kind = refused(
        |message| {
            // All that it is called with has order 8.
            message.calls[2].arguments[0] = int(7);
            message.calls[2].arguments[1] = Argument::Input(3);
            message.calls[2].arguments[2] = Argument::Input(4);
            message.inputs.push(matrix(4, "data:double:2:column", &[7, 7]));
            message.inputs.push(matrix(5, "data:int:1:row", &[7]));
        },
        &says,
    );
    assert_eq!(kind, ErrorKind::InvalidArgument);
    let says = ["another size", "call: 0", "parameter: a", "value: [8][8]", "needed: [9][9]"];
    refused(|message| message.calls[0].arguments[0] = int(9), &says);
    let says = ["another size", "call: 1", "parameter: a", "value: [8][8]", "needed: [9][9]"];
    refused(|message| message.calls[1].arguments[0] = int(9), &says);
    let says = ["another type", "call: 1", "parameter: a", "int of 1 dimensions"];
    refused(|message| message.calls[1].arguments[1] = Argument::Result(0, 2), &says);
    let says = ["another type", "parameter: n", "double of 1 dimensions", "one int"];
    refused(|message| message.calls[1].arguments[0] = Argument::Input(1), &says);
    refused(|message| message.calls[0].arguments[0] = int(-1), &["call: 0", "n = -1"]);
    let short = Argument::Inline(vec![1, 2]);
    let says = ["wrong length", "parameter: steps", "value: 2 bytes", "needed: 4 bytes"];
    refused(|message| message.calls[1].arguments[4] = short, &says);
}

#[test]
fn sizes_that_follow_from_other_calls_are_left_to_the_server() {
    let mut message = message();
    message.calls[1].arguments[0] = Argument::Result(0, 3);
    let plan = plan(message).unwrap();
    let b = plan.result(CallNumber(1), 3).unwrap();
    assert_eq!(plan.graph().value(b).bytes, 0);
    assert_eq!(plan.graph().call(CallNumber(1)).uses.len(), 4);
}

#[test]
fn numbers_that_decide_no_size_may_come_from_other_calls() {
    let mut message = message();
    message.calls[1].arguments[4] = Argument::Result(0, 3);
    let decided = plan(message.clone()).unwrap();
    let b = decided.result(CallNumber(1), 3).unwrap();
    assert_eq!(decided.graph().value(b).bytes, 64);
    // Its own size is not known, so it may be one number; the server sees.
    let factors = [Argument::Result(0, 3), Argument::Result(0, 1), ABSENT, ABSENT];
    message.calls.insert(1, call(0, &factors));
    message.calls[2].arguments[4] = Argument::Result(1, 3);
    plan(message).unwrap();
}

#[test]
fn arguments_that_do_not_fit_their_parameters_are_refused() {
    let says = ["more or fewer arguments", "arguments: 4", "parameters: 5", "call: 1"];
    refused(|message| drop(message.calls[1].arguments.pop()), &says);
    let says = ["missing", "call: 1", "parameter: b"];
    refused(|message| message.calls[1].arguments[3] = ABSENT, &says);
    let says = ["takes nothing", "call: 0", "parameter: info"];
    refused(|message| message.calls[0].arguments[3] = int(0), &says);
    refused(|message| message.calls[0].arguments[0] = Argument::Null, &["NULL", "parameter: n"]);
    let long = Argument::Inline(vec![0; 5000]);
    let kind = refused(|message| message.calls[1].arguments[3] = long, &["too long", "limit: 4"]);
    assert_eq!(kind, ErrorKind::LimitExceeded);
    let text = |message: &mut Message| {
        message.routines.push(routine("count"));
        message.calls.push(call(2, &[ABSENT, Argument::Input(1)]));
    };
    refused(text, &["cannot come from another call", "call: 3", "parameter: text"]);
    let text = |message: &mut Message| {
        message.routines.push(routine("fill"));
        message.calls.push(call(2, &[int(1), ABSENT, ABSENT]));
        message.results.push(wanted(3, 2));
    };
    refused(text, &["cannot stay", "named parameter: 2"]);
    let function = |message: &mut Message| {
        message.routines.push(routine("visit"));
        message.calls.push(call(2, &[int(1), ABSENT]));
    };
    refused(function, &["functions of the client", "routine: small/visit", "parameter: each"]);
}

#[test]
fn names_that_stand_twice_are_refused() {
    refused(|message| message.routines[1] = routine("factor"), &["listed twice", "small/factor"]);
    let twice = |message: &mut Message| message.inputs[2].name = message.inputs[0].name;
    refused(twice, &["have one id", "id: 0101010101"]);
    let twice = |message: &mut Message| message.results[0].name = message.inputs[0].name;
    refused(twice, &["have one id", "id: 0101010101"]);
    let twice = |message: &mut Message| {
        message.results.push(WantedResult { name: DataId([77; 16]), ..wanted(1, 3) });
    };
    refused(twice, &["wanted twice", "call: 1", "parameter: 3"]);
}

#[test]
fn inputs_of_no_known_type_are_refused() {
    let kind = |kind: &str| {
        let kind = kind.to_owned();
        move |message: &mut Message| message.inputs[0].kind = kind
    };
    refused(kind("double"), &["type of an input is unknown", "input: 0", "type: double"]);
    refused(kind("data:double:3:row"), &["extents", "input: 0"]);
    let large = |message: &mut Message| message.inputs[0].extents = vec![u64::MAX, 2];
    refused(large, &["larger than any memory", "input: 0"]);
}

#[test]
fn more_than_the_bounds_is_refused() {
    let small = |limits: Limits| Plan::new(message(), &limits, &find).err().unwrap().to_string();
    let text = small(Limits { calls_max: 2, ..Limits::default() });
    assert!(text.contains("3 calls") && text.contains("limit: 2"), "{text}");
    let text = small(Limits { arguments_max: 10, ..Limits::default() });
    assert!(text.contains("14 arguments") && text.contains("limit: 10"), "{text}");
    let text = small(Limits { data_max: 2, ..Limits::default() });
    assert!(text.contains("3 inputs") && text.contains("limit: 2"), "{text}");
    let mut many = message();
    many.calls = vec![many.calls[0].clone(); 100_001];
    assert_eq!(plan(many).err().unwrap().kind(), ErrorKind::LimitExceeded);
}

/// In one chain: each call is called with what the one before it made.
#[test]
fn ten_thousand_calls_in_a_chain_are_planned_and_a_wrong_size_in_the_last_is_found() {
    let count = 10_000;
    let solve = |at: u32| {
        let b = if at == 0 { Argument::Input(2) } else { Argument::Result(at - 1, 3) };
        call(0, &[int(8), Argument::Input(0), Argument::Input(1), b, ABSENT])
    };
    let mut message = Message {
        routines: vec![routine("solve")],
        inputs: vec![
            matrix(1, "data:double:2:row", &[8, 8]),
            matrix(2, "data:int:1:row", &[8]),
            matrix(3, "data:double:1:row", &[8]),
        ],
        calls: (0..count).map(solve).collect(),
        results: vec![wanted(count - 1, 3)],
    };
    message.results[0].name = DataId([9; 16]);
    let graph: Graph = plan(message.clone()).unwrap().graph().clone();
    assert_eq!((graph.calls(), graph.values()), (10_000, 10_003));
    message.calls[9_999].arguments[0] = int(9);
    let text = plan(message).err().unwrap().to_string();
    assert!(text.contains("call: 9999") && text.contains("[8]"), "{text}");
}
