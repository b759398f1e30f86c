//! Calls as scripts write them, and as what is seen of them is written.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, DataId, ObjectId, Resources};
use farcall_idl::data::DataKind;
use farcall_idl::encode::contract_hash;
use farcall_services::directory::PublishedRoutine;
use farcall_wire::{
    Argument, AskedResources, Attribute, DataStatus, HoldRequest, Keep, NOTICES, ON, Open,
    callback_attribute, grant_attribute, lease_attribute, resources_attribute,
    run_timeout_attribute, wants,
};

/// What an honest executable answers for the second parameter of `scale`.
pub fn returned(open: &Open) -> String {
    match (&open.wanted.as_ref().unwrap()[1], &open.arguments[1]) {
        (Argument::Blocks(None), argument) => word(argument),
        (wanted, _) => word(wanted),
    }
}

/// `a2`: twelve times the letter, and an index.
pub fn object_id(word: &str) -> ObjectId {
    ObjectId::first([word.as_bytes()[0]; 12]).after(word[1..].parse().unwrap()).unwrap()
}

/// `NAME FIRST COUNT [lease MILLISECONDS] [start MILLISECONDS] [detached]`.
pub fn hold_request(words: &[&str]) -> HoldRequest {
    let after = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words[at + 1].parse::<u64>().ok().map(|milliseconds| milliseconds * 1000)
    };
    HoldRequest {
        name: words[0].to_owned(),
        first: object_id(words[1]),
        count: words[2].parse().unwrap(),
        lease_us: after("lease").unwrap_or(60_000_000),
        start_us: after("start"),
        detached: words.contains(&"detached").then_some(true),
        ranks: None,
        resources: asked_after(words),
    }
}

/// What is asked for behind the word `asking`, such as `cores=2,gpus=1`.
fn asked_after(words: &[&str]) -> Option<AskedResources> {
    let at = words.iter().position(|word| *word == "asking")?;
    Some(words[at + 1].parse::<Resources>().unwrap().into())
}

/// `ROUTINE ARGUMENT … [| WANTED …] [in MILLISECONDS] [changed] [told | watched] [keep SECONDS
/// [durable]]
/// [on OBJECT] [inside NUMBER] [asking RESOURCES] [granted NUMBER] [elsewhere] [leased SECONDS]`.
pub fn open(call: CallId, words: &[&str], routines: &[Arc<PublishedRoutine>]) -> Open {
    let routine = routines.iter().find(|routine| routine.routine.interface.full_name() == words[0]);
    let kind = DataKind::of_routine(words[0]);
    let of_kind = kind.map_or([0; 32], |kind| contract_hash(&kind.interface()));
    let mut contract = routine.map_or(of_kind, |routine| routine.contract);
    let is_elsewhere = words.contains(&"elsewhere");
    let is_named = is_elsewhere || kind.is_some();
    let called = if is_named { words[0] } else { "m/none" }.to_owned();
    let mut arguments = Vec::new();
    let mut wanted = None;
    let mut remaining_us = None;
    let mut attributes: Option<Vec<Attribute>> = None;
    let mut parent = None;
    let mut words = words[1..].iter();
    while let Some(word) = words.next() {
        match *word {
            "|" => wanted = Some(Vec::new()),
            "in" => remaining_us = words.next().map(|ms| ms.parse::<u64>().unwrap() * 1000),
            "changed" => contract[0] ^= 1,
            "granted" | "leased" | "running" | "asking" => {
                let attribute = attribute_of(word, words.next().unwrap());
                attributes.get_or_insert_with(Vec::new).push(attribute);
            }
            "elsewhere" => contract = [9; 32],
            "keep" => {
                let after_end_us = words.next().unwrap().parse::<u64>().unwrap() * 1_000_000;
                let durable = words.clone().next() == Some(&"durable");
                attributes
                    .get_or_insert_with(Vec::new)
                    .push(Keep { after_end_us, durable }.attribute());
            }
            "durable" => {}
            "on" => {
                let value = words.next().map_or_else(Vec::new, |id| object_id(id).0.to_vec());
                attributes.get_or_insert_with(Vec::new).push(Attribute {
                    name: ON.to_owned(),
                    critical: true,
                    value,
                });
            }
            "inside" => parent = words.next().map(|call| vec![call.parse().unwrap(); 16].into()),
            "told" | "watched" => {
                let output = if *word == "told" { wants::OUTPUT } else { 0 };
                let value = vec![wants::PROGRESS | output];
                let told = Attribute { name: NOTICES.to_owned(), critical: false, value };
                attributes.get_or_insert_with(Vec::new).push(told);
            }
            word => wanted.as_mut().unwrap_or(&mut arguments).push(argument(word)),
        }
    }
    Open {
        wanted,
        remaining_us,
        parent,
        attributes,
        ..Open::new(
            call,
            routine.map_or_else(|| called, |routine| routine.routine.interface.full_name()),
            contract,
            arguments,
        )
    }
}

fn attribute_of(word: &str, value: &str) -> Attribute {
    match word {
        "granted" => grant_attribute(value.parse().unwrap()),
        "leased" => lease_attribute(Duration::from_secs(value.parse().unwrap())),
        "running" => run_timeout_attribute(Duration::from_millis(value.parse().unwrap())),
        _ => resources_attribute(value.parse().unwrap()),
    }
}

/// `NAME SLOT ARGUMENT … [changed] [as ROUTINE] [of CALL]`: a callback inside the call that an
/// executable works on, or inside the one that is named last.
pub fn callback(id: CallId, words: &[&str], around: Option<&Open>, named: CallId) -> Open {
    let mut open = Open {
        parent: around.map(|open| open.call.0.to_vec().into()),
        attributes: words[1].parse().ok().map(|slot| vec![callback_attribute(slot)]),
        ..Open::new(
            id,
            around.map_or_else(|| "m/none".to_owned(), |open| open.routine.clone()),
            around.map_or([0; 32], |open| open.contract),
            Vec::new(),
        )
    };
    let mut words = words[2..].iter();
    while let Some(word) = words.next() {
        match *word {
            "changed" => open.contract[0] ^= 1,
            "as" => open.routine = (*words.next().unwrap()).to_owned(),
            "of" => open.parent = words.next().map(|_| named.0.to_vec().into()),
            word => open.arguments.push(argument(word)),
        }
    }
    open
}

/// `-` absent, `null`, `i7` an int, `l7` a long, `z16` zero bytes inline, `b800` blocks, `b` wanted as blocks,
/// `s1,0,800` shared, `d7` data.
pub fn argument(word: &str) -> Argument {
    let numbers =
        || word[1..].split(',').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<_>>();
    match word.as_bytes()[0] {
        b'-' => Argument::Absent,
        b'n' => Argument::Null,
        b'i' => Argument::Inline(word[1..].parse::<i32>().unwrap().to_ne_bytes().as_slice().into()),
        b'l' => Argument::Inline(word[1..].parse::<i64>().unwrap().to_ne_bytes().as_slice().into()),
        b'z' => Argument::Inline(vec![0; numbers()[0] as usize].into()),
        b'b' if word.len() == 1 => Argument::Blocks(None),
        b'b' => Argument::Blocks(Some(numbers()[0])),
        b's' => Argument::Shared(numbers()[0] as u32, numbers()[1], numbers()[2]),
        b'd' => Argument::Data(DataId([numbers()[0] as u8; 16])),
        b'u' => Argument::Url(word[1..].to_owned()),
        b't' => Argument::Texts(vec![None; numbers()[0] as usize]),
        _ => panic!("no such argument: {word}"),
    }
}

/// An argument as `argument` reads it.
pub fn word(argument: &Argument) -> String {
    match argument {
        Argument::Absent => "-".to_owned(),
        Argument::Null => "null".to_owned(),
        Argument::Inline(bytes) if bytes.len() == 4 => {
            format!("i{}", i32::from_ne_bytes(bytes.as_slice().try_into().unwrap()))
        }
        Argument::Inline(bytes) => format!("z{}", bytes.len()),
        Argument::Blocks(None) => "b".to_owned(),
        Argument::Blocks(Some(bytes)) => format!("b{bytes}"),
        Argument::Shared(segment, offset, length) => format!("s{segment},{offset},{length}"),
        Argument::Data(id) => format!("d{}", id.0[0]),
        other => format!("{other:?}"),
    }
}

/// What a client is told of its data.
pub fn shown_data(all: &[DataStatus]) -> String {
    let shown = |one: &DataStatus| {
        let extents = one.extents.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let left = one.left_us.map_or(String::new(), |us| format!(" {} ms", us / 1000));
        let DataStatus { id, state, kind, bytes, .. } = one;
        format!("d{} {state:?} {kind}[{extents}] {bytes} bytes{left}", id.0[0])
    };
    match all {
        [] => "is told of no data".to_owned(),
        all => format!("is told of {}", all.iter().map(shown).collect::<Vec<_>>().join("; ")),
    }
}

/// The only job of a launcher: its id, state and words.
pub fn job(words: &[&str]) -> farcall_wire::JobStatus {
    farcall_wire::JobStatus {
        number: 1,
        launcher: "slurm".to_owned(),
        id: words[1].to_owned(),
        state: words[2].to_owned(),
        text: words[3..].join(" "),
        slots: 1,
        running: 0,
        hosts: Vec::new(),
        age_us: 0,
    }
}
