//! Takes away what a module's code must not have, before any of that code runs: in the process that
//! will load it, for good, and for all that it forks or starts.
//!
//! | rule | held by |
//! |---|---|
//! | memory, file, descriptors | rlimits: DATA (private memory, so that shared arguments do not count), STACK, FSIZE, NOFILE |
//! | tasks | the cgroup that the process joins, or RLIMIT_NPROC |
//! | files, signals to strangers, abstract sockets | landlock |
//! | other sockets, tracing, other groups and sessions, namespaces, modes and owners of files | seccomp |
//! | user | setgroups, setgid, setuid; capabilities are dropped whoever it is |
//! | core files | RLIMIT_CORE: they would hold the caller's data |
//! | want of memory | oom_score_adj: it ends a routine, and not its server |
//!
//! Whatever loads the module's code is held to all of it, an executable, a zygote and a check
//! alike: constructors and imports run before any function of ours. What the kernel lacks is left
//! out, and known ([`not_held`]). The processor time of a call is set at its beginning, see
//! [`begin_call`].

mod calls;
mod dials;
mod filter;
mod folders;
mod means;
mod plan;
mod refusals;
mod system_calls;

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::rules::{Confinement, Missing, RULES_VARIABLE, Rules};
use farcall_services::spawner::zygote::ZYGOTE_VARIABLE;
use rustix::process::{Gid, Pid, Resource, Rlimit, Uid, getpid, getppid, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

pub(crate) use calls::{are_bounded, begin_call, end_call};
pub(crate) use filter::Own;
pub use means::kernel_means;
pub use plan::{KernelMeans, NotHeld, Plan, not_held, plan};
use refusals::{Dials, Role};

static RULES: OnceLock<Rules> = OnceLock::new();

/// The rules that this process was started with.
///
/// # Errors
/// `InvalidArgument` for rules that are not understood.
pub fn rules() -> Result<&'static Rules> {
    if let Some(rules) = RULES.get() {
        return Ok(rules);
    }
    let rules = Rules::from_text(&std::env::var(RULES_VARIABLE).unwrap_or_default())?;
    Ok(RULES.get_or_init(|| rules))
}

/// Holds this process to its rules. It has one thread. Where it is to be a launcher of MPI's, whose
/// processes dial by a call, what is returned tells who does. It reaches neither its parent nor the
/// `server`, where that is another process.
///
/// # Errors
/// When a rule cannot be held that was required, or that every Linux holds.
pub fn confine(server: Option<Pid>) -> Result<Option<OwnedFd>> {
    let rules = rules()?;
    // A thread may find them out, which is to be within no limit.
    let means = means::means_for(rules);
    go_first();
    join(rules)?;
    // The module's user may not reach the folder by name; and where the starter is not root, it may
    // be that user's alone.
    let entered = enter(rules);
    limit(rules)?;
    let plan = plan(means, rules);
    refuse_missing(rules, &plan)?;
    // What is granted is found by who starts the module: its user may not reach all of that by
    // name.
    let granted = plan.files.then(|| folders::granted(rules)).transpose()?;
    become_user(rules)?;
    entered.or_else(|_| enter(rules))?;
    set_no_new_privs(true).map_err(|errno| system("give up new privileges", errno.into()))?;
    granted.map(folders::restrict).transpose()?;
    if plan.scopes {
        folders::keep_inside()?;
    }
    let zygote = std::env::var_os(ZYGOTE_VARIABLE).map(|_| getpid());
    let role = role(rules, &plan, zygote.is_some());
    if role != Role::Executable {
        // What loses its parent comes here, also of what is started before `main`.
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
    }
    if plan.calls {
        filter::restrict(rules, role, &[getppid(), zygote, server])?;
    }
    (role == Role::Launcher(Dials::ByCall)).then(dials::listen).transpose()
}

fn role(rules: &Rules, plan: &Plan, is_zygote: bool) -> Role {
    match rules.confinement {
        Confinement::Launcher if plan.dials && !refusals::within_batch_system() => {
            Role::Launcher(Dials::ByCall)
        }
        Confinement::Launcher => Role::Launcher(Dials::ByPath),
        _ if is_zygote => Role::Zygote,
        _ => Role::Executable,
    }
}

/// Holds this process, which a launcher has started, to what its module is held to. It has the
/// launcher's user, limits and cgroup already. On another host than the server's there are other
/// files: there, system calls alone are held.
///
/// # Errors
/// As [`confine`].
pub fn confine_rank() -> Result<()> {
    let mut rules = rules()?.clone();
    if rules.confinement == Confinement::Launcher {
        rules.confinement = Confinement::Module;
    }
    let plan = plan(means::means_for(&rules), &rules);
    let is_here = rules.folder.as_ref().is_some_and(|folder| std::path::Path::new(folder).is_dir());
    set_no_new_privs(true).map_err(|errno| system("give up new privileges", errno.into()))?;
    if plan.files && is_here {
        folders::restrict(folders::granted(&rules)?)?;
    }
    if plan.scopes {
        folders::keep_inside()?;
    }
    if plan.calls {
        filter::restrict(&rules, Role::Executable, &[getppid()])?;
    }
    Ok(())
}

/// Of the kernel's thousandths of all memory that count for a process when one has to be ended for
/// lack of memory, those that an executable has on top of what it uses: more than a server may hold
/// for its calls.
const FIRST_TO_GO: i32 = 700;

/// Where memory is wanting, the system is to end this process, and not the server, whose other
/// calls would be lost. What is higher already stays so. It fails where there is no /proc: then the
/// system chooses.
fn go_first() {
    const FILE: &str = "/proc/self/oom_score_adj";
    let now = std::fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < FIRST_TO_GO) {
        let _ = std::fs::write(FILE, FIRST_TO_GO.to_string());
    }
}

/// Enters the folder that the process starts in.
fn enter(rules: &Rules) -> Result<()> {
    let Some(folder) = rules.start_in.as_ref().or(rules.folder.as_ref()) else { return Ok(()) };
    let failed = |error| system("enter the working folder", error).with("folder", folder);
    std::env::set_current_dir(folder).map_err(failed)
}

/// Joins the cgroups that count this process.
fn join(rules: &Rules) -> Result<()> {
    rules.cgroups.iter().try_for_each(|file| {
        std::fs::write(file, "0")
            .map_err(|error| system("join a cgroup", error).with("cgroup", file))
    })
}

fn limit(rules: &Rules) -> Result<()> {
    let limits = [
        (Resource::Data, rules.memory_bytes_max),
        (Resource::Fsize, rules.file_bytes_max),
        (Resource::Nofile, rules.descriptors_max),
        (Resource::Nproc, rules.tasks_of_user_max),
        // One byte, and not none: a core that goes to a program is left out only then (core(5)).
        (Resource::Core, Some(1)),
        // A stack is not counted as memory.
        (Resource::Stack, rules.memory_bytes_max.map(|_| stack_bytes_max())),
    ];
    limits.into_iter().filter_map(|(resource, limit)| Some((resource, limit?))).try_for_each(
        |(resource, limit)| {
            // What is lower already stays so.
            let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
            setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
                .map_err(|errno| system("limit a process", errno.into()))
        },
    )
}

/// What a stack may have by the system's own standard (_STK_LIM of the kernel).
const STACK_BYTES: u64 = 8 << 20;

/// What the server's own stack may have, for good; where that has no bound, what is usual. Threads
/// get as much each.
fn stack_bytes_max() -> u64 {
    getrlimit(Resource::Stack).current.unwrap_or(STACK_BYTES)
}

/// Another user, if the rules name one; and no capability, whoever it is then, but for code of the
/// owner's.
fn become_user(rules: &Rules) -> Result<()> {
    if rules.confinement == Confinement::Owner && rules.user.is_none() {
        return Ok(());
    }
    // What a program of root's gets back when it is started; only who may do so can drop it, and
    // needs to.
    for each in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(each);
    }
    let failed = |errno: rustix::io::Errno| {
        system("become another user", errno.into())
            .fix("only a server that runs as root can run modules as other users")
    };
    if let Some((user, group)) = rules.user {
        rustix::thread::set_thread_groups(&[]).map_err(failed)?;
        let user = Uid::from_raw(user);
        let group = Gid::from_raw(group);
        rustix::thread::set_thread_res_gid(group, group, group).map_err(failed)?;
        rustix::thread::set_thread_res_uid(user, user, user).map_err(failed)?;
        // The system forgot that with the old user.
        crate::serve::end_with_parent();
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|errno| system("give up capabilities", errno.into()))
}

/// Runs nothing where a limit of the manifest that is required cannot be held.
fn refuse_missing(rules: &Rules, plan: &Plan) -> Result<()> {
    let Some((key, needs)) =
        plan.missing_limit(rules).filter(|_| rules.missing == Missing::Refused)
    else {
        return Ok(());
    };
    let message = format!("this system cannot enforce the module's limit {key}: it has no {needs}");
    Err(Error::new(ErrorKind::Unavailable, "start the executable", message)
        .fix("run the server on a newer kernel, or set limits.required = false in farcall.toml"))
}

fn system(what: &'static str, error: std::io::Error) -> Error {
    Error::system(what, error)
}
