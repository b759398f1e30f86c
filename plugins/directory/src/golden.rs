//! Plays the conversations of tests/golden against `step`. `FARCALL_REWRITE=1` writes what it answers into the files:
//! commit a changed one only when you understand the change.
//!
//! `> publish MODULE ROUTINE(ALIAS,…) …`, `> withdraw MODULE`, `> resolve NAME`, `> list`, `> limits KEY=N …`

use std::path::Path;
use std::sync::Arc;

use farcall_base::Result;
use farcall_idl::interface::{Code, Implementation, Interface, Language, Routine, StringConvention};
use farcall_interfaces::directory::{ExecutableImage, ImageKind, Publication, Request, Response, RoutineData};

use crate::state::{Limits, State};
use crate::step::{Action, Event, step};

#[test]
fn golden_conversations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut played = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let golden = std::fs::read_to_string(&file).unwrap();
        let actual = play(&golden);
        if std::env::var_os("FARCALL_REWRITE").is_some() {
            std::fs::write(&file, &actual).unwrap();
        } else {
            assert_eq!(actual, golden, "{} differs; FARCALL_REWRITE=1 rewrites it", file.display());
        }
        played += 1;
    }
    assert!(played > 0, "the conversations are gone");
}

/// The script with its answer lines made anew: comments, blank lines and events stay.
fn play(script: &str) -> String {
    let mut state = State::new(Limits::default());
    let mut text = String::new();
    for line in script.lines().filter(|line| !line.starts_with('<')) {
        text += &format!("{line}\n");
        if let Some(event) = line.strip_prefix("> ") {
            text += &answer(&mut state, event);
        }
    }
    text
}

fn answer(state: &mut State, event: &str) -> String {
    let words: Vec<&str> = event.split_whitespace().collect();
    if words[0] == "limits" {
        words[1..].iter().for_each(|word| set_limit(&mut state.limits, word));
        return String::new();
    }
    match step(state, Event::Asked { number: 1, request: request(&words) }) {
        Action::Answer { number: 1, answer } => show(answer),
        _ => panic!("the directory answers each request"),
    }
}

fn set_limit(limits: &mut Limits, word: &str) {
    let (key, value) = word.split_once('=').unwrap();
    let value = value.parse().unwrap();
    match key {
        "modules_max" => limits.modules_max = value,
        "routines_max" => limits.routines_max = value,
        "names_per_routine_max" => limits.names_per_routine_max = value,
        "interface_bytes_max" => limits.interface_bytes_max = value,
        _ => panic!("no limit {key}"),
    }
}

fn request(words: &[&str]) -> Request {
    match words {
        ["publish", module, routines @ ..] => Request::Publish(publication(module.trim_matches('"'), routines)),
        ["withdraw", module] => Request::Withdraw { module: module.to_string() },
        ["resolve", name] => Request::Resolve { name: name.to_string() },
        ["list"] => Request::List,
        _ => panic!("no such event: {words:?}"),
    }
}

fn show(answer: Result<Response>) -> String {
    match answer {
        Ok(Response::Published(module)) => {
            format!("< published \"{}\" generation {}\n", module.name, module.generation)
        }
        Ok(Response::Withdrawn) => "< withdrawn\n".to_string(),
        Ok(Response::Resolved(routine)) => {
            format!("< resolved {} generation {}\n", routine.routine.interface.full_name(), routine.module.generation)
        }
        Ok(Response::Listing(routines)) => {
            routines.iter().map(|routine| format!("< - {}\n", routine.routine.interface.full_name())).collect()
        }
        Err(error) => format!("< {} {error}\n", error.kind().name()),
    }
}

/// A module whose routines take nothing and do nothing; `name(alias,alias)` gives aliases, `module:name` a routine that
/// claims another module.
pub(crate) fn publication(module: &str, routines: &[&str]) -> Publication {
    let executable = ExecutableImage {
        kind: ImageKind::GenericHost { libraries: Vec::new() },
        environment: Vec::new(),
        backend: String::new(),
        module_text: Arc::from([]),
    };
    let routines = routines.iter().map(|text| routine(module, text)).collect();
    Publication { module: module.to_string(), routines, executable }
}

fn routine(module: &str, text: &str) -> RoutineData {
    let (module, text) = text.split_once(':').unwrap_or((module, text));
    let (name, aliases) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
    let interface = Interface {
        module: module.to_string(),
        name: name.to_string(),
        aliases: aliases.split(',').filter(|alias| !alias.is_empty()).map(str::to_string).collect(),
        doc: String::new(),
        structs: Vec::new(),
        parameters: Vec::new(),
        idempotent: true,
        complexity: None,
        processors: None,
    };
    let implementation = Implementation {
        language: Language::C,
        strings: StringConvention::None,
        code: Code::Symbol { symbol: name.to_string(), arguments: Vec::new(), result: None },
        required: Vec::new(),
        backend: String::new(),
    };
    let routine = Arc::new(Routine { interface, implementation });
    RoutineData { routine, encoded: Arc::from([0; 8]), contract: [0; 32] }
}
