//! Messages between servers and pilots (spec/pilot.md): round trips, whatever the cuts, and what is
//! refused.

use farcall_base::{ErrorKind, Random, SeededRandom};
use farcall_wire::{
    AskedResources, FromPilot, PILOT_MESSAGE_BYTES_MAX, PILOT_VERSION, PilotExecutable,
    PilotExited, PilotGreeting, PilotHello, PilotPiece, PilotProgram, PilotStart, ToPilot,
    encode_pilot, take_pilot,
};

fn start() -> PilotStart {
    PilotStart {
        executable: 7,
        module: "heat".to_owned(),
        program: PilotProgram::Host { libraries: vec!["libheat.so".to_owned()] },
        environment: vec![("OMP_NUM_THREADS".to_owned(), "2".to_owned())],
        backend: String::new(),
        module_text: vec![1, 2, 3],
        text: 4,
        ranks: 2,
        resources: AskedResources { cores: Some(4), ..AskedResources::default() },
        is_owners: true,
    }
}

fn to_pilot() -> Vec<ToPilot> {
    let linked = PilotProgram::Linked { path: "/srv/heat".to_owned() };
    let program = "/usr/bin/python3".to_owned();
    let readable = vec!["/srv".to_owned()];
    let interpreted =
        PilotProgram::Interpreted { program, arguments: vec!["-m".to_owned()], readable };
    vec![
        ToPilot::Start(Box::new(start())),
        ToPilot::Start(Box::new(PilotStart {
            program: linked,
            module_text: Vec::new(),
            ..start()
        })),
        ToPilot::Start(Box::new(PilotStart { program: interpreted, ..start() })),
        ToPilot::Stop { executable: 7, grace_ms: u64::MAX },
        ToPilot::Listen { executable: 7 },
        ToPilot::Hush { executable: 7 },
        ToPilot::Ping,
        ToPilot::End,
    ]
}

fn from_pilot() -> Vec<FromPilot> {
    let error =
        farcall_base::Error::new(ErrorKind::Unavailable, "start an executable", "no such file");
    let failure = farcall_wire::Failure::from(&error);
    let pieces = vec![PilotPiece { age_us: 12, bytes: b"words".to_vec() }];
    vec![
        FromPilot::Failed { executable: 1, failure: failure.clone() },
        FromPilot::Exited(PilotExited {
            executable: 1,
            status: None,
            signal: Some(11),
            core: true,
            was_stopped: false,
            stdout: pieces.clone(),
            stderr: Vec::new(),
            rank: Some(1),
        }),
        FromPilot::Said { executable: 1, output: 2, bytes: b"x".to_vec(), lost: 3 },
        FromPilot::Listening { executable: 1, failure: Some(failure) },
        FromPilot::Hushed { executable: 1, failure: None },
        FromPilot::Pong,
    ]
}

fn greetings() -> Vec<PilotGreeting> {
    let job = "ab-1".to_owned();
    let host = "n1".to_owned();
    let product = "farcall".to_owned();
    let executable = PilotExecutable {
        job: job.clone(),
        executable: 1,
        pid: 2,
        memory_max: None,
        call_seconds_max: Some(3),
    };
    let hello = PilotHello { version: PILOT_VERSION, job, slots: 4, host, pid: 5, product };
    vec![PilotGreeting::Pilot(hello), PilotGreeting::Executable(executable)]
}

/// However the bytes are cut on their way.
fn travels<T>(messages: &[T])
where
    T: PartialEq + std::fmt::Debug + minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>,
{
    let bytes: Vec<u8> =
        messages.iter().flat_map(|message| encode_pilot(message).unwrap()).collect();
    for piece in [1, 3, 7, bytes.len()] {
        let mut inbox = Vec::new();
        let mut taken = Vec::new();
        for part in bytes.chunks(piece) {
            inbox.extend(part);
            while let Some(message) = take_pilot::<T>(&mut inbox, PILOT_MESSAGE_BYTES_MAX).unwrap()
            {
                taken.push(message);
            }
        }
        assert_eq!((&taken[..], inbox.len()), (messages, 0), "pieces of {piece}");
    }
}

#[test]
fn all_messages_travel() {
    travels(&to_pilot());
    travels(&from_pilot());
    travels(&greetings());
}

#[test]
fn what_is_too_long_or_damaged_is_refused() {
    let refused = |bytes: &[u8], most: usize| {
        let error = take_pilot::<ToPilot>(&mut bytes.to_vec(), most).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        error.to_string()
    };
    assert!(refused(&[0xff, 0xff, 0xff, 0xff], 4096).contains("longer than 4096"));
    assert!(refused(&[1, 0, 0, 0, 0xff], 4096).contains("damaged"));
    // A number of no message.
    assert!(refused(&[3, 0, 0, 0, 0x82, 0x18, 0x63], 4096).contains("damaged"));
    let long = ToPilot::Start(Box::new(PilotStart {
        module_text: vec![0; PILOT_MESSAGE_BYTES_MAX],
        ..start()
    }));
    assert_eq!(encode_pilot(&long).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn any_bytes_are_survived() {
    let mut random = SeededRandom::new(11);
    let samples: Vec<Vec<u8>> =
        to_pilot().iter().map(|message| encode_pilot(message).unwrap()).collect();
    for round in 0..farcall_golden::fuzz_rounds(20_000) {
        let mut bytes = samples[round as usize % samples.len()].clone();
        for _ in 0..1 + random.next() % 4 {
            let at = (random.next() as usize) % bytes.len();
            bytes[at] = random.next() as u8;
        }
        let _ = take_pilot::<ToPilot>(&mut bytes.clone(), 4096);
        let _ = take_pilot::<FromPilot>(&mut bytes, 4096);
    }
}
