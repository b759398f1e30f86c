//! The pool, the seals and the limits of shared memory.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_link::memory::{MemorySource, Region};
use rustix::fs::{MemfdFlags, SealFlags};

use super::*;

const MIB: usize = 1 << 20;

fn source() -> SharedMemory {
    SharedMemory::new(MemoryLimits {
        bytes_max: 64 << 20,
        idle_bytes_max: 16 << 20,
        idle_regions_max: 3,
    })
}

fn write(region: &dyn Region, at: usize, byte: u8) {
    // SAFETY: the tests write within the region, one thread at a time.
    unsafe { region.base().add(at).write(byte) }
}

fn read(region: &dyn Region, at: usize) -> u8 {
    // SAFETY: as in `write`.
    unsafe { region.base().add(at).read() }
}

fn memfd(bytes: usize, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = rustix::fs::memfd_create(c"hostile", flags).unwrap();
    rustix::fs::ftruncate(&descriptor, bytes as u64).unwrap();
    rustix::fs::fcntl_add_seals(&descriptor, seals).unwrap();
    descriptor
}

#[test]
fn classes_are_whole_pages_and_at_most_a_quarter_too_large() {
    for bytes in
        [0, 1, 4096, 4097, 65_535, 65_536, 65_537, 1_000_000, 1 << 27, (1 << 27) + 1, 3 << 35]
    {
        let class = pool::size_class(bytes).unwrap();
        assert!(class >= bytes && class.is_multiple_of(4096), "{bytes} -> {class}");
        assert!(bytes <= 65_536 || class <= bytes + bytes / 4 + 4096, "{bytes} -> {class}");
        assert_eq!(
            pool::size_class(class),
            Some(class),
            "a class is its own class, or nothing is ever found again"
        );
    }
    assert_eq!(pool::size_class(usize::MAX), None);
    assert_eq!(pool::size_class(isize::MAX as usize), None);
}

#[test]
fn a_dropped_region_comes_back_and_a_fresh_one_is_zero() {
    let source = source();
    let region = source.allocate(100_000).unwrap();
    assert!(region.bytes() >= 100_000 && read(&*region, 99_999) == 0);
    let base = region.base();
    write(&*region, 7, 42);
    drop(region);
    assert!(source.idle_bytes() > 0);
    let again = source.allocate(99_000).unwrap();
    assert_eq!(
        (again.base(), read(&*again, 7)),
        (base, 42),
        "the same class, the same principal's bytes"
    );
    assert_eq!(source.idle_bytes(), 0);
    let other = source.allocate(99_000).unwrap();
    assert_ne!(other.base(), base);
}

#[test]
fn a_region_outlives_its_source() {
    let source = source();
    let region = source.allocate(4096).unwrap();
    drop(source);
    write(&*region, 0, 1);
    assert_eq!(read(&*region, 0), 1);
}

#[test]
fn the_idle_caps_hold_by_count_and_by_bytes() {
    let source = source();
    let regions: Vec<_> = (0..5).map(|_| source.allocate(4096).unwrap()).collect();
    drop(regions);
    assert_eq!((source.idle_bytes(), source.bytes()), (3 * 4096, 3 * 4096));
    let large: Vec<_> = (0..2).map(|_| source.allocate(10 * MIB).unwrap()).collect();
    drop(large);
    assert!(
        source.idle_bytes() <= 16 << 20 && source.idle_bytes() > 8 << 20,
        "{}",
        source.idle_bytes()
    );
}

#[test]
fn the_limit_counts_what_is_in_use_and_idle_memory_gives_way() {
    let source = source();
    let held = source.allocate(40 * MIB).unwrap();
    let error = source.allocate(40 * MIB).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("limit: 64 MiB"), "{error}");
    drop(source.allocate(10 * MIB).unwrap());
    assert!(source.idle_bytes() > 0);
    let other = source.allocate(14 * MIB).unwrap();
    assert_eq!(source.idle_bytes(), 0, "the idle region made room");
    assert!(source.bytes() <= 64 << 20);
    drop((held, other));
    assert_eq!(source.allocate(usize::MAX).err().unwrap().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn trim_frees_what_is_idle_for_long_enough() {
    let source = source();
    drop(source.allocate(MIB).unwrap());
    assert_eq!(source.trim(Duration::from_secs(3600)), 0);
    assert!(source.trim(Duration::ZERO) >= MIB as u64);
    assert_eq!((source.idle_bytes(), source.bytes()), (0, 0));
}

#[test]
fn two_processes_see_the_same_bytes() {
    let ours = source();
    let theirs = source();
    let region = ours.allocate(MIB).unwrap();
    let descriptor = region.descriptor().unwrap().try_clone().unwrap();
    let adopted = theirs.adopt(descriptor, region.bytes()).unwrap();
    write(&*region, 12_345, 9);
    assert_eq!(read(&*adopted, 12_345), 9);
    assert_ne!(adopted.base(), region.base());
    assert_eq!(theirs.bytes(), 0, "adopted memory is the peer's");
}

#[test]
fn a_region_can_be_neither_shrunk_nor_grown() {
    let region = source().allocate(MIB).unwrap();
    for bytes in [0, 4096, 2 << 20] {
        assert!(rustix::fs::ftruncate(region.descriptor().unwrap(), bytes).is_err());
    }
}

#[test]
fn hostile_descriptors_are_refused() {
    let source = source();
    let sealed = SealFlags::SHRINK | SealFlags::GROW;
    let (pipe, _other_end) = rustix::pipe::pipe().unwrap();
    let cases: [(&str, OwnedFd, usize); 6] = [
        (
            "no seals: the peer could shrink it, and our next read would be a SIGBUS",
            memfd(8192, SealFlags::empty()),
            8192,
        ),
        ("only grow is sealed: the same", memfd(8192, SealFlags::GROW), 8192),
        ("smaller than announced: bytes behind the end are a SIGBUS", memfd(4096, sealed), 8192),
        (
            "sealed against writing: results could not be stored",
            memfd(8192, sealed | SealFlags::WRITE),
            8192,
        ),
        ("no memory at all: a pipe", pipe, 4096),
        ("nothing to map", memfd(0, sealed), 0),
    ];
    for (what, descriptor, bytes) in cases {
        let error = source.adopt(descriptor, bytes).err().expect(what);
        assert_eq!(error.kind(), ErrorKind::Protocol, "{what}: {error}");
    }
    // Where the system has none, there is nothing to be afraid of.
    let huge = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    if let Ok(descriptor) = rustix::fs::memfd_create(c"huge", huge)
        && rustix::fs::ftruncate(&descriptor, 2 << 20).is_ok()
    {
        rustix::fs::fcntl_add_seals(&descriptor, sealed).unwrap();
        let error = source.adopt(descriptor, 2 << 20).err().unwrap();
        assert!(
            error.kind() == ErrorKind::Protocol && error.to_string().contains("huge pages"),
            "{error}"
        );
    }
    // More than the limit: refused before anything is mapped. The refusals above must have given
    // back what they took.
    let large = memfd(65 * MIB, sealed);
    assert_eq!(source.adopt(large, 65 * MIB).err().unwrap().kind(), ErrorKind::LimitExceeded);
    assert!(source.adopt(memfd(64 * MIB, sealed), 64 * MIB).is_ok());
}

/// Runs `child` in a forked process; true when that returned true.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child reads and writes memory that is there, and ends without running anything
    // else.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(i32::from(!child()));
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        status == 0
    }
}

/// One test, because a fork concerns everything that the process keeps.
#[test]
fn a_fork_copies_what_users_keep_and_leaves_calls_alone() {
    let server = source();
    let source = source();
    let kept = source.allocate(MIB).unwrap();
    kept.keep();
    let base = kept.base();
    drop(kept);
    assert!(source.idle_bytes() >= MIB as u64, "without a fork, what a user kept is pooled");

    let kept = source.allocate(MIB).unwrap();
    let running = source.allocate(MIB).unwrap();
    assert_eq!(kept.base(), base);
    write(&*kept, 9, 1);
    kept.keep();
    let shared = running.descriptor().unwrap().try_clone().unwrap();
    let theirs = server.adopt(shared, running.bytes()).unwrap();
    let (mut reads, mut writes) = std::io::pipe().unwrap();
    let left = std::thread::spawn({
        let kept = kept.clone();
        move || {
            // The child has written by now: neither sees the other's.
            std::io::Read::read_exact(&mut reads, &mut [0]).unwrap();
            read(&*kept, 9)
        }
    });
    assert!(in_child(|| {
        let was = read(&*kept, 9);
        write(&*kept, 9, 2);
        write(&*running, 5, 77);
        let written = std::io::Write::write_all(&mut writes, &[0]).is_ok();
        // SAFETY: a plain system call.
        unsafe { libc::usleep(50_000) };
        was == 1 && read(&*kept, 9) == 2 && written
    }));
    assert_eq!(left.join().unwrap(), 1);
    assert_eq!(read(&*theirs, 5), 0, "a child cannot write into the parent's calls");
    write(&*theirs, 5, 6);
    assert_eq!(read(&*running, 5), 6, "a call that was under way goes on in the parent");
    assert!(
        kept.descriptor().is_none(),
        "no call may use it: the other end would not see what is written"
    );
    let idle = source.idle_bytes();
    drop((kept, running));
    assert!(
        source.idle_bytes() >= idle + MIB as u64 && source.idle_bytes() < idle + 2 * MIB as u64
    );
}

#[test]
fn withdrawn_memory_keeps_its_bytes_and_is_nobody_elses() {
    let server = source();
    let source = source();
    let region = source.allocate(MIB).unwrap();
    let shared = region.descriptor().unwrap().try_clone().unwrap();
    let theirs = server.adopt(shared, region.bytes()).unwrap();
    write(&*theirs, 3, 4);
    region.withdraw();
    assert_eq!(read(&*region, 3), 4);
    write(&*region, 3, 5);
    assert_eq!(read(&*theirs, 3), 4);
    assert!(region.descriptor().is_none());
    drop(region);
    assert_eq!((source.idle_bytes(), source.bytes()), (0, 0), "no call uses it again");
}

#[test]
fn what_is_lent_stays_shared_over_a_fork_and_the_child_has_a_copy() {
    let server = source();
    let source = source();
    let kept = source.allocate(MIB).unwrap();
    assert!(!kept.lend(), "only what a user keeps is lent");
    kept.keep();
    assert!(kept.lend() && kept.lend());
    kept.give_back();
    let theirs =
        server.adopt(kept.descriptor().unwrap().try_clone().unwrap(), kept.bytes()).unwrap();
    write(&*kept, 9, 1);
    let (mut reads, mut writes) = std::io::pipe().unwrap();
    let parent = std::thread::spawn({
        let kept = kept.clone();
        move || {
            std::io::Read::read_exact(&mut reads, &mut [0]).unwrap();
            read(&*kept, 9)
        }
    });
    assert!(in_child(|| {
        let was = read(&*kept, 9);
        write(&*kept, 9, 2);
        was == 1 && std::io::Write::write_all(&mut writes, &[0]).is_ok()
    }));
    assert_eq!(parent.join().unwrap(), 1, "the child's writes are its own");
    write(&*theirs, 5, 6);
    assert_eq!(read(&*kept, 5), 6, "the call goes on in the parent");
    kept.give_back();
    assert!(in_child(|| read(&*kept, 5) == 6));
    assert!(!kept.lend(), "two processes have it since the fork");
}

#[test]
fn what_is_taken_back_is_the_users_alone() {
    let server = source();
    let source = source();
    let kept = source.allocate(MIB).unwrap();
    kept.keep();
    assert!(kept.lend());
    let theirs =
        server.adopt(kept.descriptor().unwrap().try_clone().unwrap(), kept.bytes()).unwrap();
    write(&*theirs, 8000, 1);
    kept.take_back();
    for at in (0..kept.bytes()).step_by(1000) {
        write(&*theirs, at, 99);
    }
    assert_eq!(
        (read(&*kept, 8000), read(&*kept, 500_000)),
        (1, 0),
        "what the server still writes does not come through"
    );
    write(&*kept, 1, 7);
    assert_eq!((read(&*kept, 1), read(&*theirs, 1)), (7, 0));
    assert!(!kept.lend());
    drop(kept);
    assert_eq!(source.bytes(), 0, "no call uses it again");
}

#[test]
fn private_memory_is_pooled_too_and_never_shared() {
    let limits =
        MemoryLimits { bytes_max: 64 << 20, idle_bytes_max: 16 << 20, idle_regions_max: 3 };
    let source = SharedMemory::private(limits);
    let region = source.allocate(3 * MIB).unwrap();
    assert!(region.descriptor().is_none() && read(&*region, 3 * MIB - 1) == 0);
    write(&*region, 5, 1);
    let base = region.base();
    drop(region);
    let again = source.allocate(3 * MIB).unwrap();
    assert_eq!((again.base(), read(&*again, 5)), (base, 1));
    drop(again);
    drop((source.allocate(12 * MIB).unwrap(), source.allocate(11 * MIB).unwrap()));
    assert!(source.idle_bytes() <= 16 << 20);
    assert!(in_child(|| source.allocate(3 * MIB).is_ok()));
}

#[test]
fn a_stand_in_for_a_lost_descriptor_is_no_breach() {
    let lost: OwnedFd = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    assert_eq!(source().adopt(lost, 4096).err().unwrap().kind(), ErrorKind::LimitExceeded);
}
