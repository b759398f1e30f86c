//! System calls, by seccomp: those that `refusals` lists; and in an executable, no way out of its
//! process group.

use farcall_base::{Error, Result};
use farcall_services::spawner::rules::Rules;
use rustix::process::Pid;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::means::means_for;
use super::refusals::{self, Calls, Role};

/// Bit of the numbers of system calls with which an x86-64 process asks for the other set
/// (asm/unistd.h). The kernel takes it for the same architecture, so that a filter has to name
/// both.
const X32: i64 = 0x4000_0000;

/// For the process that loads the module, and all that come from it. They reach none of
/// `depends_on`. The last filter that answers a call has the word.
pub(super) fn restrict(rules: &Rules, role: Role, depends_on: &[Option<Pid>]) -> Result<()> {
    let filters = [
        (refusals::ignored(rules)?, 0),
        (refusals::unknown(rules), libc::ENOSYS),
        (refusals::unsupported(rules), libc::ENOTSUP),
        (refusals::refused(rules, role, depends_on)?, libc::EPERM),
    ];
    let mut filters = filters.into_iter().filter(|(calls, _)| !calls.is_empty());
    filters.try_for_each(|(calls, answer)| {
        apply(&compile(calls, SeccompAction::Errno(answer as u32))?)
    })
}

/// The filter of an executable that a zygote forks, by which it and what it starts stay in the
/// group that it leads by then. A zygote makes it once for all; it is short, because each
/// executable has the kernel compile it.
pub(crate) struct Own {
    program: BpfProgram,
    scopes: bool,
}

impl Own {
    /// For executables of a module with these rules.
    pub(crate) fn new(rules: &Rules) -> Result<Own> {
        let plan = super::plan::plan(means_for(rules), rules);
        let refusal = SeccompAction::Errno(libc::EPERM as u32);
        let program = if plan.calls { compile(refusals::leaving(), refusal)? } else { Vec::new() };
        Ok(Own { program, scopes: plan.scopes })
    }

    /// Holds this process to it, for good.
    pub(crate) fn apply(&self) -> Result<()> {
        if self.scopes {
            super::folders::keep_inside()?;
        }
        apply(&self.program)
    }
}

/// A filter that answers these calls so. The error 0 is success.
pub(super) fn compile(answered: Calls, answer: SeccompAction) -> Result<BpfProgram> {
    let Ok(processor) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(Vec::new()) };
    let mut rules = answered.clone();
    if cfg!(target_arch = "x86_64") {
        rules.extend(answered.into_iter().map(|(number, rules)| (number | X32, rules)));
    }
    SeccompFilter::new(rules, SeccompAction::Allow, answer, processor)
        .and_then(TryInto::try_into)
        .map_err(refusals::failed)
}

fn apply(program: &BpfProgram) -> Result<()> {
    if program.is_empty() {
        return Ok(());
    }
    apply_filter(program)
        .map_err(|error| Error::system("filter system calls", std::io::Error::other(error)))
}
