//! What a call is given: what its opener asks for, or its interface says, field by field
//! (spec/call.md, section 12). The spawner's settings bound it.
//!
//! Calls that ask for the same share a pool: its executables are started with that, and stay for the
//! next.

use farcall_base::{Error, ErrorKind, Resources, Result};
use farcall_wire::{Open, resources_of};

use crate::state::Known;

/// What a call on no object asks for.
pub(in crate::step) fn of(routine: &Known, open: &Open) -> Result<Resources> {
    Ok(resources_of(open)?.over(routine.routine.interface.resources).settled())
}

/// What a call on an object has, of what that was made with.
pub(in crate::step) fn of_object(open: &Open, made_with: Resources) -> Result<Resources> {
    let asked = resources_of(open)?;
    if asked.is_empty() {
        return Ok(made_with);
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "accept a call",
        "a call on an object cannot ask for resources: its process runs already",
    )
    .with("resources", asked)
    .fix("ask for them where the object or the handles are made"))
}

/// What tells its executables from others: on this host, the server itself ends a run that takes
/// longer than its wall time.
pub(in crate::step) fn of_pool(routine: &Known, asked: Resources) -> Resources {
    let is_here = routine.module.executable.launcher.is_empty();
    Resources { wall_time: asked.wall_time.filter(|_| !is_here), ..asked }
}
