//! How the processes that an MPI's launcher starts get a connection without a Unix socket of their
//! own: they ask for a socket of a protocol that there is not, and the kernel hands that system
//! call to the spawner, which answers with one end of a pair (seccomp_unotify(2)). So the
//! launcher's filter can refuse Unix sockets, and nothing is believed: only what runs under that
//! filter can ask, by the kernel's word.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use farcall_base::{Error, Result};
use rustix::thread::set_no_new_privs;
use seccompiler::SeccompAction;

use super::filter::compile;
use super::refusals::dials;

/// Stack of the thread that tries.
const STACK_BYTES: usize = 64 << 10;
/// The first Linux whose listeners answer a call and pass a descriptor in one step
/// (SECCOMP_ADDFD_FLAG_SEND).
const LINUX_LEAST: (u32, u32) = (5, 14);
/// "Return this constant" (linux/bpf_common.h).
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Has calls by which somebody dials wait for an answer, in this process and all that come from it.
/// What is returned shows them to whoever has it, and answers. A process has one such descriptor at
/// most, also by its ancestors.
pub(super) fn listen() -> Result<OwnedFd> {
    let mut program = compile(dials()?, SeccompAction::Trace(0))?;
    // The crate knows no such answer: it is put where that for a tracer stands.
    let tracers =
        program.iter_mut().filter(|one| one.code == RETURN && one.k == libc::SECCOMP_RET_TRACE);
    tracers.for_each(|one| one.k = libc::SECCOMP_RET_USER_NOTIF);
    let length = u16::try_from(program.len())
        .map_err(|_| Error::internal("filter system calls", "a long filter"))?;
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr().cast() };
    // SAFETY: the kernel reads `length` instructions, which are alive; they have C's layout.
    let made = unsafe {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    match RawFd::try_from(made) {
        // SAFETY: the kernel has just opened it for us.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(Error::system("filter system calls", std::io::Error::last_os_error())),
    }
}

/// Whether that can be had here. Tried by a thread, whose filter goes with it: a container may
/// refuse it, or have a listener itself.
pub(super) fn can_listen() -> bool {
    let tried = || set_no_new_privs(true).is_ok() && listen().is_ok();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(tried);
    let is_new = version(rustix::system::uname().release().to_bytes()) >= Some(LINUX_LEAST);
    is_new && thread.is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// The first two numbers of a release such as `6.1.0-18-amd64`.
fn version(release: &[u8]) -> Option<(u32, u32)> {
    let mut numbers =
        std::str::from_utf8(release).ok()?.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        let known = [
            (&b"6.18.44-fc"[..], Some((6, 18))),
            (b"5.9", Some((5, 9))),
            (b"4.18.0-553.el8.x86_64", Some((4, 18))),
            (b"odd", None),
            (b"", None),
        ];
        known.into_iter().for_each(|(release, numbers)| assert_eq!(version(release), numbers));
        assert!(
            Some((5, 9)) < Some(LINUX_LEAST)
                && None < Some(LINUX_LEAST)
                && Some((5, 14)) >= Some(LINUX_LEAST)
        );
    }
}
