//! The directory's behaviour: requests in, answers out. Pure; tests/golden holds its conversations.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result, is_obeyed, nearest};
use farcall_services::directory::{
    Part, Publication, PublishedModule, PublishedRoutine, Reach, Request, Response, RoutineData,
    Visible,
};

use crate::state::{Elsewhere, Found, ModuleEntry, Seen, State};

/// Full names an error lists; an error is for people.
const NAMES_LISTED_MAX: usize = 10;

/// For whom the table of rights keeps from some modules: the same whether the name is in one of
/// them or nowhere.
const ASK_FOR_RIGHTS: &str = "`farcall ls` lists what you may call; to call more, ask the \
    server's administrator to add it to the table access of rpc-server in farcall.toml";

/// Routines of others that are known.
const ELSEWHERE_MAX: usize = 100_000;

/// Nearest names an error offers.
const NEAREST_MAX: usize = 3;

/// What happens to the directory.
pub(crate) enum Event {
    /// Somebody asks; `number` tells requests apart.
    Asked { number: u64, request: Request },
    /// The node stops.
    Stop,
}

/// What the driver must do.
pub(crate) enum Action {
    /// Answer that request.
    Answer { number: u64, answer: Result<Response> },
    /// End.
    Finish,
}

/// Every request is answered at once, but one that watches for changes: that is answered by the
/// next change, before whoever made it.
pub(crate) fn step(state: &mut State, event: Event) -> Vec<Action> {
    let (number, request) = match event {
        Event::Asked { number, request: Request::Watch { revision } }
            if revision == state.revision =>
        {
            return watch(state, number);
        }
        Event::Asked { number, request } => (number, request),
        Event::Stop => return vec![Action::Finish],
    };
    let before = state.revision;
    let answer = handle(state, request);
    let watches =
        if state.revision == before { Vec::new() } else { std::mem::take(&mut state.watches) };
    let revision = state.revision;
    let told = watches
        .into_iter()
        .map(|number| Action::Answer { number, answer: Ok(Response::Changed { revision }) });
    told.chain([Action::Answer { number, answer }]).collect()
}

fn answer(found: Found) -> Response {
    match found {
        Found::Here(routine) => Response::Resolved(routine),
        Found::Elsewhere(routine) => Response::Elsewhere(routine),
    }
}

fn watch(state: &mut State, number: u64) -> Vec<Action> {
    let limit = state.limits.watches_max;
    if state.watches.len() >= limit {
        let error = Error::new(
            ErrorKind::LimitExceeded,
            "watch the directory",
            format!("{limit} watches are already waiting"),
        );
        let error = error
            .fix("try again later, or raise watches_max in the configuration file")
            .retryable();
        return vec![Action::Answer { number, answer: Err(error) }];
    }
    state.watches.push(number);
    Vec::new()
}

fn handle(state: &mut State, request: Request) -> Result<Response> {
    match request {
        Request::Publish(publication) => publish(state, publication).map(Response::Published),
        Request::Withdraw { module } => withdraw(state, &module),
        Request::Note(gone) => {
            state.gone = gone;
            Ok(Response::Noted)
        }
        Request::Elsewhere(routines) => {
            state.elsewhere = Elsewhere::new(routines, ELSEWHERE_MAX);
            Ok(Response::Noted)
        }
        Request::Resolve { name, visible, reach } => {
            resolve(state.seen(&visible, reach), &name).map(answer)
        }
        Request::Hold { name, visible } => hold(state.seen(&visible, Reach::Here), &name),
        Request::List => Ok(Response::Listing(list(state))),
        Request::ListAll => {
            let seen = state.seen(&Visible::All, Reach::Everywhere);
            let mut others: Vec<_> = seen.only_elsewhere().cloned().collect();
            others.sort_by_cached_key(|routine| (routine.interface.full_name(), routine.contract));
            Ok(Response::Union(list(state), others))
        }
        Request::Watch { .. } => Ok(Response::Changed { revision: state.revision }),
    }
}

/// Checks everything before it changes anything: a refused version leaves the older one in force.
fn publish(state: &mut State, publication: Publication) -> Result<Arc<PublishedModule>> {
    let name = publication.module.clone();
    check_name("module", &name, MayBeEmpty::Yes)?;
    let refused = |error: Error| error.with("module", &name);
    for data in publication.all_routines() {
        check_routine(state, &name, data).map_err(refused)?;
    }
    state.check_room(&name, publication.all_routines().count())?;
    check_unique(publication.all_routines()).map_err(refused)?;
    let (modules, routines) = publish_parts(state, &name, publication.parts);
    let module = modules
        .into_iter()
        .next()
        .ok_or_else(|| Error::internal("publish a module", "it has no parts"))?;
    let by_name = routines.iter().flat_map(names_with_routine).collect();
    state.insert(ModuleEntry { module: module.clone(), routines, by_name });
    state.revision += 1;
    Ok(module)
}

/// Each part with a generation of its own, since no executable of one runs routines of another.
fn publish_parts(
    state: &mut State,
    name: &str,
    parts: Vec<Part>,
) -> (Vec<Arc<PublishedModule>>, Vec<Arc<PublishedRoutine>>) {
    let mut modules = Vec::new();
    let mut routines = Vec::new();
    for part in parts {
        let generation = state.next_generation();
        let publication =
            modules.first().map_or(generation, |first: &Arc<PublishedModule>| first.generation);
        let executable = part.executable;
        let module = Arc::new(PublishedModule {
            name: name.to_owned(),
            generation,
            publication,
            executable,
        });
        let published = |RoutineData { routine, encoded, contract }| {
            Arc::new(PublishedRoutine { routine, encoded, contract, module: module.clone() })
        };
        routines.extend(part.routines.into_iter().map(published));
        modules.push(module.clone());
    }
    (modules, routines)
}

fn names_with_routine(
    routine: &Arc<PublishedRoutine>,
) -> impl Iterator<Item = (String, Arc<PublishedRoutine>)> + '_ {
    let interface = &routine.routine.interface;
    std::iter::once(&interface.name)
        .chain(&interface.aliases)
        .map(|name| (name.clone(), routine.clone()))
}

/// A name that a stranger chose, as an error may repeat it: bounded, and nothing in it moves a
/// terminal's cursor.
fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}

#[derive(PartialEq)]
enum MayBeEmpty {
    Yes,
    No,
}

/// A slash would make full names ambiguous; control characters would reach people's terminals.
fn check_name(what: &str, name: &str, empty: MayBeEmpty) -> Result<()> {
    let bad = |c: char| c == '/' || is_obeyed(c) || c.is_whitespace();
    if name.len() > 256 || name.contains(bad) || (name.is_empty() && empty == MayBeEmpty::No) {
        let message = format!("\"{}\" is not a valid {what} name", shown(name));
        let fix = "use 1 to 256 bytes without slashes, spaces, control characters and invisible \
            characters";
        return Err(Error::new(ErrorKind::InvalidArgument, "publish a module", message).fix(fix));
    }
    Ok(())
}

fn check_routine(state: &State, module: &str, data: &RoutineData) -> Result<()> {
    let interface = &data.routine.interface;
    let refused = |kind, message: String| Err(Error::new(kind, "publish a module", message));
    for name in std::iter::once(&interface.name).chain(&interface.aliases) {
        check_name("routine", name, MayBeEmpty::No)?;
    }
    if interface.module != module {
        let message =
            format!("routine {} belongs to module \"{}\"", interface.name, interface.module);
        return refused(ErrorKind::InvalidArgument, message);
    }
    let limits = &state.limits;
    if interface.aliases.len() + 1 > limits.names_per_routine_max {
        let message =
            format!("routine {} has more names than names_per_routine_max", interface.name);
        return refused(ErrorKind::LimitExceeded, message);
    }
    if data.encoded.len() > limits.interface_bytes_max {
        let message =
            format!("the interface of {} has more bytes than interface_bytes_max", interface.name);
        return refused(ErrorKind::LimitExceeded, message);
    }
    Ok(())
}

fn check_unique<'a>(routines: impl Iterator<Item = &'a RoutineData>) -> Result<()> {
    let mut owners = BTreeMap::new();
    for data in routines {
        let interface = &data.routine.interface;
        for name in std::iter::once(&interface.name).chain(&interface.aliases) {
            if let Some(first) = owners.insert(name, &interface.name) {
                let message = format!(
                    "\"{name}\" is the name of two routines: {first} and {}",
                    interface.name
                );
                let error = Error::new(ErrorKind::InvalidArgument, "publish a module", message);
                return Err(error.fix("rename one of them, or drop the alias"));
            }
        }
    }
    Ok(())
}

fn withdraw(state: &mut State, module: &str) -> Result<Response> {
    if state.remove(module) {
        state.revision += 1;
        return Ok(Response::Withdrawn);
    }
    let message = format!("no module \"{}\" is published", shown(module));
    let error = Error::new(ErrorKind::NotFound, "withdraw a module", message);
    Err(advise(
        error,
        &nearest(module, state.seen(&Visible::All, Reach::Here).module_names(), NEAREST_MAX),
    ))
}

/// A full name leads to one routine or none. A bare name leads to the routine without a module, if
/// there is one, and else to the only module that has it. Letters of another case do where nothing
/// else can be meant.
fn resolve(seen: Seen<'_>, name: &str) -> Result<Found> {
    if let Some((module, bare)) = name.split_once('/') {
        let found = seen.routine(module, bare).or_else(|| in_other_case(seen, Some(module), bare));
        return found.ok_or_else(|| unknown(seen, name));
    }
    if let Some(routine) = seen.routine("", name) {
        return Ok(routine);
    }
    match seen.routines_called(name).as_slice() {
        [] => in_other_case(seen, None, name).ok_or_else(|| unknown(seen, name)),
        [routine] => Ok(routine.clone()),
        several => Err(ambiguous(name, several)),
    }
}

/// The only routine whose name differs in the case of letters and in nothing else: Fortran writes
/// `DGESV` and means `dgesv`.
fn in_other_case(seen: Seen<'_>, module: Option<&str>, bare: &str) -> Option<Found> {
    let modules = seen
        .module_names()
        .filter(|known| module.is_none_or(|named| known.eq_ignore_ascii_case(named)));
    let mut found = modules.flat_map(|module| {
        let names = seen.names_in(module).filter(|known| known.eq_ignore_ascii_case(bare));
        names.filter_map(move |name| seen.routine(module, name))
    });
    let first = found.next()?;
    // Its aliases may be such names, too.
    found.all(|other| first.is(&other)).then_some(first)
}

/// What an executable can be held for: the name of a class leads to all of its methods.
fn hold(seen: Seen<'_>, name: &str) -> Result<Response> {
    let (module, bare) = name.split_once('/').unwrap_or(("", name));
    let methods = seen.methods(module, bare);
    if !methods.is_empty() {
        return Ok(Response::Held(methods.into_iter().cloned().collect()));
    }
    if let Some(method) = seen.method_elsewhere(module, bare) {
        return Ok(Response::Elsewhere(method.clone()));
    }
    let Some(routine) = seen.routine(module, bare) else { return Err(unknown(seen, name)) };
    match routine.interface().full_class() {
        None => Ok(match routine {
            Found::Here(routine) => Response::Held(vec![routine]),
            elsewhere => answer(elsewhere),
        }),
        Some(class) => {
            let message = format!("\"{}\" is a method", shown(name));
            let fix = format!("hold an object of {class}, and call its method on that");
            Err(Error::new(ErrorKind::InvalidArgument, "hold an object", message)
                .with("class", class)
                .fix(fix))
        }
    }
}

/// A class is no routine: whoever asks for one is told what it is.
fn class_instead(seen: Seen<'_>, name: &str) -> Option<Error> {
    let (module, class) = match name.split_once('/') {
        Some((module, class)) => (module, class),
        None => match seen.modules_with_class(name).as_slice() {
            [module] => (*module, name),
            _ => return None,
        },
    };
    let first = seen.methods(module, class).first()?.routine.interface.full_name();
    let full = if module.is_empty() { class.to_string() } else { format!("{module}/{class}") };
    let message = format!("\"{}\" is a class, not a routine", shown(name));
    let fix = format!("hold an object of {full}, and call methods such as {first} on that");
    Some(Error::new(ErrorKind::NotFound, "find a routine", message).with("class", full).fix(fix))
}

fn unknown(seen: Seen<'_>, name: &str) -> Error {
    if let Some(error) = class_instead(seen, name) {
        return error;
    }
    let message = format!("no routine \"{}\" is published", shown(name));
    let error = Error::new(ErrorKind::NotFound, "find a routine", message);
    if let Some(gone) = seen.gone(name) {
        let fix = format!(
            "it was published until the server ended: publish it again, with --stay to have it \
             published whenever the server starts: farcall publish --stay {}",
            shown(&gone.file)
        );
        return error.fix(fix);
    }
    let near = match name.split_once('/') {
        None => {
            nearest(name, seen.bare_names(), NEAREST_MAX).into_iter().map(str::to_string).collect()
        }
        Some((module, bare)) => near_full_names(seen, module, bare),
    };
    if seen.bare_names().next().is_none() {
        let nothing = if seen.is_whole() {
            "this server has not published anything yet"
        } else {
            ASK_FOR_RIGHTS
        };
        return error.fix(nothing);
    }
    if let Some(routine) = seen.names_in(name).next().filter(|_| !name.is_empty()) {
        return error.fix(format!(
            "it is a module: name one of its routines, such as {}/{routine}",
            shown(name)
        ));
    }
    if near.is_empty()
        && let [module] =
            nearest(name, seen.module_names().filter(|module| !module.is_empty()), 1).as_slice()
    {
        return error.fix(format!("did you mean the module {module}?"));
    }
    if near.is_empty() && !seen.is_whole() {
        return error.fix(ASK_FOR_RIGHTS);
    }
    advise(error, &near.iter().map(String::as_str).collect::<Vec<_>>())
}

/// First what the module has under a similar name, then where the bare name really is, then similar
/// modules.
fn near_full_names(seen: Seen<'_>, module: &str, bare: &str) -> Vec<String> {
    let within = nearest(bare, seen.names_in(module), NEAREST_MAX)
        .into_iter()
        .map(|name| format!("{module}/{name}"));
    let elsewhere =
        seen.routines_called(bare).into_iter().map(|routine| routine.interface().full_name());
    let modules =
        nearest(module, seen.module_names().filter(|known| *known != module), NEAREST_MAX);
    let beside = modules.into_iter().flat_map(|near| {
        nearest(bare, seen.names_in(near), 1).into_iter().map(move |name| format!("{near}/{name}"))
    });
    let mut near: Vec<String> = Vec::new();
    for name in within.chain(elsewhere).chain(beside) {
        if !near.contains(&name) && near.len() < NEAREST_MAX {
            near.push(name);
        }
    }
    near
}

fn advise(error: Error, near: &[&str]) -> Error {
    match near {
        [] => error.fix("`farcall ls` lists all names"),
        _ => error.fix(format!("did you mean {}?", near.join(" or "))),
    }
}

fn ambiguous(name: &str, several: &[Found]) -> Error {
    let full = several.iter().take(NAMES_LISTED_MAX).map(|routine| routine.interface().full_name());
    let mut listed = full.collect::<Vec<_>>().join(", ");
    if several.len() > NAMES_LISTED_MAX {
        listed += &format!(" and {} more", several.len() - NAMES_LISTED_MAX);
    }
    let message = format!("{} modules publish \"{name}\"", several.len());
    Error::new(ErrorKind::Ambiguous, "find a routine", message)
        .fix(format!("use the full name: {listed}"))
}

fn list(state: &State) -> Vec<Arc<PublishedRoutine>> {
    let mut routines: Vec<_> = state.routines().cloned().collect();
    routines.sort_by_cached_key(|routine| routine.routine.interface.full_name());
    routines
}
