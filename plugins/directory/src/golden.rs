//! Plays the conversations of tests/golden against `step`.
//!
//! `> publish MODULE ROUTINE(ALIAS,…) …`, `> withdraw MODULE`, `> resolve NAME [among MODULE …]`,
//! `> hold NAME [among …]`, `> gone MODULE FILE ROUTINE …`, `> list`, `> watch NUMBER revision REVISION`, `> limits KEY=N …`

use std::sync::Arc;

use farcall_golden::Conversation;
use farcall_idl::interface::{
    Code, Implementation, Interface, Language, Routine, StringConvention,
};
use farcall_services::directory::{
    ElsewhereRoutine, ExecutableImage, GoneModule, ImageKind, Part, Publication, PublishedRoutine,
    Reach, Request, Response, RoutineData, Trust, Visible,
};

use crate::state::{Limits, State};
use crate::step::{Action, Event, step};

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<State>(env!("CARGO_MANIFEST_DIR"), 4);
}

impl Conversation for State {
    fn begin(_: &str) -> State {
        State::new(Limits::default())
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let words: Vec<&str> = event.split_whitespace().collect();
        if words[0] == "limits" {
            words[1..].iter().for_each(|word| set_limit(&mut self.limits, word));
            return Vec::new();
        }
        let number = if words[0] == "watch" { words[1].parse().unwrap() } else { 0 };
        step(self, Event::Asked { number, request: request(&words) })
            .into_iter()
            .flat_map(show)
            .collect()
    }
}

fn set_limit(limits: &mut Limits, word: &str) {
    let (key, value) = word.split_once('=').unwrap();
    let value = value.parse().unwrap();
    match key {
        "modules_max" => limits.modules_max = value,
        "routines_max" => limits.routines_max = value,
        "names_per_routine_max" => limits.names_per_routine_max = value,
        "watches_max" => limits.watches_max = value,
        "interface_bytes_max" => limits.interface_bytes_max = value,
        _ => panic!("no limit {key}"),
    }
}

fn request(words: &[&str]) -> Request {
    match words {
        ["publish", module, routines @ ..] => {
            Request::Publish(publication(module.trim_matches('"'), routines))
        }
        ["withdraw", module] => Request::Withdraw { module: module.to_string() },
        ["reach", name, among @ ..] => Request::Resolve {
            name: name.to_string(),
            visible: visible(among),
            reach: Reach::Everywhere,
        },
        ["elsewhere", routines @ ..] => {
            Request::Elsewhere(routines.iter().map(|text| elsewhere(text)).collect())
        }
        ["list-all"] => Request::ListAll,
        ["resolve", name, among @ ..] => {
            Request::Resolve { name: name.to_string(), visible: visible(among), reach: Reach::Here }
        }
        ["hold", name, among @ ..] => {
            Request::Hold { name: name.to_string(), visible: visible(among) }
        }
        ["gone", module, file, routines @ ..] => Request::Note(vec![GoneModule {
            module: module.to_string(),
            routines: routines.iter().map(|routine| routine.to_string()).collect(),
            file: file.to_string(),
        }]),
        ["list"] => Request::List,
        ["watch", _, "revision", revision] => {
            Request::Watch { revision: revision.parse().unwrap() }
        }
        _ => panic!("no such event: {words:?}"),
    }
}

/// `among MODULE …`: whoever asks may know of these alone.
fn visible(words: &[&str]) -> Visible {
    match words {
        ["among", modules @ ..] => {
            Visible::Only(Arc::new(modules.iter().map(|module| module.to_string()).collect()))
        }
        _ => Visible::All,
    }
}

fn show(action: Action) -> Vec<String> {
    let full_name = |routine: &PublishedRoutine| routine.routine.interface.full_name();
    let Action::Answer { number, answer } = action else {
        panic!("the directory ends when it is told to")
    };
    match answer {
        Ok(Response::Published(module)) => {
            vec![format!("published \"{}\" generation {}", module.name, module.generation)]
        }
        Ok(Response::Withdrawn) => vec!["withdrawn".to_string()],
        Ok(Response::Noted) => vec!["noted".to_string()],
        Ok(Response::Resolved(routine)) => {
            vec![format!(
                "resolved {} generation {}",
                full_name(&routine),
                routine.module.generation
            )]
        }
        Ok(Response::Held(routines)) => {
            vec![format!(
                "held for {}",
                routines.iter().map(|one| full_name(one)).collect::<Vec<_>>().join(" ")
            )]
        }
        Ok(Response::Listing(routines)) => {
            routines.iter().map(|routine| format!("- {}", full_name(routine))).collect()
        }
        Ok(Response::Elsewhere(routine)) => vec![format!("elsewhere {}", version(&routine))],
        Ok(Response::Union(own, others)) => {
            let own = own.iter().map(|routine| format!("- {}", full_name(routine)));
            own.chain(others.iter().map(|one| format!("- elsewhere {}", version(one)))).collect()
        }
        Ok(Response::Changed { revision }) => vec![format!("tell {number} revision {revision}")],
        Err(error) => vec![format!("{} {error}", error.kind().name())],
    }
}

fn version(routine: &ElsewhereRoutine) -> String {
    let name = routine.interface.full_name();
    format!("{name} {:02x} on {}", routine.contract[0], routine.servers)
}

/// `MODULE/NAME:HASH:SERVERS`: a routine that others publish; each byte of its hash is the same.
fn elsewhere(text: &str) -> ElsewhereRoutine {
    let [name, hash, servers] = text.split(':').collect::<Vec<_>>()[..] else {
        panic!("MODULE/NAME:HASH:SERVERS, and not {text}")
    };
    let (module, name) = name.split_once('/').unwrap();
    ElsewhereRoutine {
        interface: Arc::new(routine(module, name).routine.interface.clone()),
        encoded: Arc::from([0; 8]),
        contract: [u8::from_str_radix(hash, 16).unwrap(); 32],
        servers: servers.parse().unwrap(),
    }
}

/// A module whose routines take nothing and do nothing; `name(alias,alias)` gives aliases,
/// `module:name` a routine that claims another module. Behind each `|` is a part of its own.
pub(crate) fn publication(module: &str, routines: &[&str]) -> Publication {
    let executable = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: Vec::new() },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: Arc::from([]),
    };
    let parts = routines.split(|text| *text == "|").map(|texts| Part {
        routines: texts.iter().map(|text| routine(module, text)).collect(),
        executable: executable.clone(),
    });
    Publication { module: module.to_string(), parts: parts.collect() }
}

fn routine(module: &str, text: &str) -> RoutineData {
    let (module, text) = text.split_once(':').unwrap_or((module, text));
    let (name, aliases) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
    let class = name.split_once('.').map_or("", |(class, _)| class);
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
        resources: Default::default(),
        class: class.to_string(),
        class_doc: String::new(),
    };
    let implementation = Implementation {
        language: Language::C,
        strings: StringConvention::None,
        code: Code::Symbol { symbol: name.to_string(), arguments: Vec::new(), result: None },
        required: Vec::new(),
        backend: String::new(),
        distribution: Vec::new(),
    };
    let routine = Arc::new(Routine { interface, implementation });
    RoutineData { routine, encoded: Arc::from([0; 8]), contract: [0; 32] }
}
