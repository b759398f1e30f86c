//! A stack that overflows says so: the system tells it from a wrong pointer by nothing but the
//! address.
//!
//! Routines run in the first thread, whose stack grows until it meets the limit of the process
//! (`ulimit -s`). The signal is handled on a stack of its own; what is no overflow ends the process
//! as if nobody had looked.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Bytes of the handler's own stack, more than any signal's frame needs (AVX-512 saves 2.7 KiB).
const OWN_STACK_BYTES: usize = 64 << 10;
/// How far from the stack pointer code touches its stack, and how far from the end of the stack it
/// finds that there is no more.
const NEAR_BYTES: usize = 64 << 10;

/// What the handler needs to know, which may ask nobody.
struct Watched {
    /// The lowest address that the stack may grow to.
    end: usize,
    /// What is said.
    words: String,
}

static WATCHED: OnceLock<Watched> = OnceLock::new();

/// Has the overflow of this thread's stack said on standard error. What a library does about these
/// signals later counts instead.
#[cfg(target_arch = "x86_64")]
pub fn watch() {
    let Some((end, bytes)) = own_stack() else { return };
    let words = format!("farcall: the stack overflowed: it may have {} KiB\n", bytes >> 10);
    if WATCHED.set(Watched { end, words }).is_err() {
        return;
    }
    let memory = Box::leak(vec![0_u8; OWN_STACK_BYTES].into_boxed_slice());
    let stack =
        libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: OWN_STACK_BYTES };
    // SAFETY: the memory is leaked, so it is there as long as the thread.
    if unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } != 0 {
        return;
    }
    // SAFETY: all zeros is an action with an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the handler does only what may be done in one.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

/// Other machines name the stack pointer by other words: there it is the system's message alone.
#[cfg(not(target_arch = "x86_64"))]
pub fn watch() {}

/// The lowest address of this thread's stack, and its bytes.
#[cfg(target_arch = "x86_64")]
fn own_stack() -> Option<(usize, usize)> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: it fills the attributes of this thread, or fails.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let mut end = std::ptr::null_mut();
    let mut bytes = 0;
    // SAFETY: the attributes were filled.
    let told = unsafe {
        let told = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut end, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        told
    };
    (told == 0).then_some((end as usize, bytes))
}

/// Says that it was an overflow, if it was. The instruction is then tried again, and ends the
/// process; a signal that was sent has none, and is sent again.
#[cfg(target_arch = "x86_64")]
extern "C" fn on_fault(
    signal: libc::c_int,
    information: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the system gives both, as SA_SIGINFO promises.
    let (address, was_sent, pointer) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        let pointer = context.uc_mcontext.gregs[libc::REG_RSP as usize];
        ((*information).si_addr() as usize, (*information).si_code <= 0, pointer)
    };
    if !was_sent
        && let Some(watched) = WATCHED.get()
        && is_overflow(address, pointer as usize, watched.end)
    {
        // SAFETY: write is allowed in a handler, and the text lives for ever.
        unsafe { libc::write(2, watched.words.as_ptr().cast(), watched.words.len()) };
    }
    // SAFETY: signal and raise are allowed in a handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if was_sent {
            // It comes when the handler has returned.
            libc::raise(signal);
        }
    }
}

/// Whether code that has its stack pointer there, and touches this address, has left its stack,
/// which ends there.
fn is_overflow(address: usize, pointer: usize, end: usize) -> bool {
    address < end.saturating_add(NEAR_BYTES) && address >= pointer.saturating_sub(NEAR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_the_stack_is_an_overflow() {
        const END: usize = 0x7fff_0000_0000;
        // Recursion: one frame more, just below the end, or in the gap that the kernel keeps.
        assert!(is_overflow(END - 8, END - 8, END));
        assert!(is_overflow(END + 100, END + 64, END));
        // A large array: the pointer is far below, and the array's begin is touched, or its end.
        assert!(is_overflow(END - (80 << 20), END - (80 << 20), END));
        assert!(is_overflow(END - 4096, END - (80 << 20), END));
        // A wrong pointer with a sound stack, a null pointer, and one above the stack.
        assert!(!is_overflow(8, END + (4 << 20), END));
        assert!(!is_overflow(END - (1 << 20), END + (4 << 20), END));
        assert!(!is_overflow(END + (9 << 20), END + (4 << 20), END));
    }
}
