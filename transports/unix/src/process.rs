//! Whether this is still the process that made something, or a fork of it: asked with every call,
//! so without asking the system.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The process that something was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birthplace(u64);

impl Birthplace {
    /// This process.
    pub fn here() -> Birthplace {
        Birthplace(mark())
    }

    /// Whether this process is the one, and not a fork of it.
    pub fn is_here(self) -> bool {
        self.0 == mark()
    }
}

/// A number of this process that none of its ancestors has.
fn mark() -> u64 {
    static WIPED: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(word) = WIPED.get_or_init(wiped_on_fork) else { return std::process::id().into() };
    match word.load(Ordering::Relaxed) {
        0 => {
            // Numbers given before a fork are known to the fork, so the next one is new to both.
            let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
            word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed)
                .map_or_else(|known| known, |_| fresh)
        }
        known => known,
    }
}

/// A word that is 0 in a fork, whatever it was; `None` where the system has no such memory.
#[cfg(target_os = "linux")]
fn wiped_on_fork() -> Option<&'static AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    // Both calls round up to whole pages.
    let bytes = size_of::<AtomicU64>();
    // SAFETY: a fresh mapping of our own.
    let page = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    let page = page.ok()?;
    // SAFETY: the page just mapped, which nobody else uses.
    unsafe { madvise(page, bytes, Advice::LinuxWipeOnFork) }.ok()?;
    // SAFETY: zeroed, aligned to a page, and never unmapped.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

#[cfg(not(target_os = "linux"))]
fn wiped_on_fork() -> Option<&'static AtomicU64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_is_elsewhere_and_has_a_place_of_its_own() {
        let parent = Birthplace::here();
        assert!(parent.is_here() && Birthplace::here() == parent);
        // SAFETY: the child only reads and writes words, and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let right =
                !parent.is_here() && Birthplace::here() != parent && Birthplace::here().is_here();
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(i32::from(!right)) };
        }
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child thinks that it is its parent");
        assert!(parent.is_here());
    }
}
