//! The words of the scripts: arguments, frames and events, read and written.

use farcall_base::CallId;
use farcall_call::{Event, Place, Side};
use farcall_wire::*;

/// `absent`, `null`, `inline:4`, `blocks:100`, `blocks:?`, `shared:3,0,100`.
pub fn argument(word: &str) -> Argument {
    let (form, value) = word.split_once(':').unwrap_or((word, ""));
    let numbers =
        || value.split(',').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<_>>();
    match form {
        "absent" => Argument::Absent,
        "null" => Argument::Null,
        "inline" => Argument::Inline(vec![0; numbers()[0] as usize].into()),
        "blocks" if value == "?" => Argument::Blocks(None),
        "blocks" => Argument::Blocks(Some(numbers()[0])),
        "shared" => Argument::Shared(numbers()[0] as u32, numbers()[1], numbers()[2]),
        _ => panic!("no argument: {word}"),
    }
}

fn show_argument(argument: &Argument) -> String {
    match argument {
        Argument::Absent => "absent".into(),
        Argument::Null => "null".into(),
        Argument::Inline(bytes) => format!("inline:{}", bytes.len()),
        Argument::Blocks(None) => "blocks:?".into(),
        Argument::Blocks(Some(bytes)) => format!("blocks:{bytes}"),
        Argument::Shared(segment, offset, length) => format!("shared:{segment},{offset},{length}"),
        other => format!("{other:?}"),
    }
}

fn show_arguments(arguments: &[Argument]) -> String {
    arguments.iter().map(|argument| format!(" {}", show_argument(argument))).collect()
}

/// The value of `key=value` among the words.
pub fn option<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

pub fn number(words: &[&str], key: &str) -> Option<u64> {
    option(words, key).map(|value| value.parse().unwrap())
}

/// The words that are arguments rather than options.
pub fn arguments(words: &[&str]) -> Vec<Argument> {
    words.iter().filter(|word| !word.contains('=')).map(|word| argument(word)).collect()
}

/// An Open: `ROUTINE arguments… [result-credit=N] [parent=N] [demand=NAME]`.
pub fn open(words: &[&str], id: u8) -> Open {
    let demand = |name: &str| vec![Attribute { name: name.into(), critical: true, value: vec![] }];
    Open {
        wanted: option(words, "wanted").map(|word| vec![argument(word)]),
        result_credit: number(words, "result-credit"),
        parent: number(words, "parent").map(|id| vec![id as u8; 16].into()),
        attributes: option(words, "demand").map(demand).or_else(|| option(words, "keep").map(keep)),
        ..Open::new(CallId([id; 16]), words[0].into(), [0; 32], arguments(&words[1..]))
    }
}

/// `keep=MICROSECONDS`.
fn keep(us: &str) -> Vec<Attribute> {
    vec![Keep { after_end_us: us.parse().unwrap(), durable: false }.attribute()]
}

pub fn hello(words: &[&str], end: &str) -> Hello {
    let limit = |key: &str, default: u64| number(words, &format!("{end}.{key}")).unwrap_or(default);
    let limits = HelloLimits {
        control_bytes_max: limit("control", 4096) as u32,
        data_bytes_max: limit("data", 4096) as u32,
        channels_max: limit("channels", 8) as u32,
        initial_credit: limit("credit", 1000),
        call_bytes_max: limit("call-bytes", 1 << 40),
        segments_max: limit("segments", 2) as u32,
    };
    let demand = |name: &str| vec![Attribute { name: name.into(), critical: true, value: vec![] }];
    Hello {
        role: if end == "A" { Role::Client } else { Role::Server },
        byte_order: ByteOrder::Little,
        product: "test".into(),
        features: option(words, &format!("{end}.features"))
            .map(|name| vec![name.into()])
            .unwrap_or_default(),
        limits,
        host: "".into(),
        principal: None,
        token: option(words, &format!("{end}.token")).map(|token| token.as_bytes().to_vec()),
        attributes: option(words, &format!("{end}.demand")).map(demand).unwrap_or_default(),
    }
}

pub fn kind(word: &str) -> FrameKind {
    (1..=15)
        .filter_map(FrameKind::from_code)
        .find(|kind| format!("{kind:?}").to_lowercase() == word)
        .unwrap()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

pub fn show_header(header: &FrameHeader) -> String {
    let kind = FrameKind::from_code(header.kind)
        .map_or(format!("kind {}", header.kind), |kind| format!("{kind:?}"));
    let end = if header.flags.contains(Flags::END) { " END" } else { "" };
    match (header.channel.0, header.kind == FrameKind::Data as u8) {
        (0, _) => kind,
        (channel, false) => format!("{kind} ch {channel} #{}", header.sequence),
        (channel, true) => {
            format!(
                "{kind} ch {channel} #{} slot {} +{}{end}",
                header.sequence, header.slot, header.length
            )
        }
    }
}

pub fn show_place(place: &Place) -> String {
    let side = if place.side == Side::Arguments { "argument" } else { "result" };
    format!("{side} {} of ch {} from byte {}", place.slot, place.channel, place.offset)
}

fn show_failure(failure: &Option<Failure>) -> String {
    match failure {
        None => "ok".into(),
        Some(failure) => format!("failed, {}", farcall_base::Error::from(failure.clone())),
    }
}

pub fn show_event(event: &Event) -> String {
    match event {
        Event::Ready(hello) => format!("Ready, the peer is a {:?}", hello.role),
        Event::Opened(channel, open) => {
            let parent =
                open.parent.as_ref().map_or(String::new(), |id| format!(" inside call {}", id[0]));
            format!(
                "Opened ch {channel} call {} {}{parent}{}",
                open.call.0[0],
                open.routine,
                show_arguments(&open.arguments)
            )
        }
        Event::Resulted(channel, result) => {
            format!(
                "Resulted ch {channel} {}{}",
                show_failure(&result.failure),
                show_arguments(&result.results)
            )
        }
        Event::Replied(channel, Reply::Failed(failure)) => {
            format!("Replied ch {channel} {}", show_failure(&Some(failure.clone())))
        }
        Event::Left(failure) => format!("Left, {}", show_failure(failure)),
        Event::ArgumentsComplete(channel) => format!("ArgumentsComplete ch {channel}"),
        Event::CancelRequested(channel) => format!("CancelRequested ch {channel}"),
        Event::Finished(channel) => format!("Finished ch {channel}"),
        Event::Requested(channel, request) => format!("Requested ch {channel} {request:?}"),
        Event::Replied(channel, reply) => format!("Replied ch {channel} {reply:?}"),
        Event::Noticed(channel, notice) => format!("Noticed ch {channel} {notice:?}"),
        Event::Resumed(channel, resume) => {
            format!("Resumed ch {channel} call {}", resume.call.0[0])
        }
        Event::Acknowledged(channel) => format!("Acknowledged ch {channel}"),
        Event::Agreed(channel, resume) => format!("Agreed ch {channel} call {}", resume.call.0[0]),
        Event::Shared(share) => {
            format!("Shared segment {} of {} bytes", share.segment, share.bytes)
        }
        Event::Unshared(segment) => format!("Unshared segment {segment}"),
    }
}
