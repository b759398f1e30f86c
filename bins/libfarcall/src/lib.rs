//! Everything behind libfarcall.so: the C ABI, GridRPC and the executable runtime; and what needs
//! them.

use std::ffi::c_int;

// A static library holds what its root names: without these, nothing of these crates would be in
// it.
pub use farcall_c as c;
pub use farcall_executable as executable;
pub use farcall_gridrpc as gridrpc;

/// Tells the GridRPC library, when this one is loaded, how a routine that is a client reaches its
/// own server.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    gridrpc::inside::set(gridrpc::inside::Inside {
        runs: executable::serve::in_call,
        connect: || {
            executable::serve::running_server().and_then(farcall_client::Client::inside_call)
        },
    });
}

/// The server of the routine that this process runs (farcall.h).
///
/// # Safety
/// As farcall.h says: places for a client and an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_server(
    client: *mut *mut c::ClientObject,
    error: *mut *mut c::ErrorObject,
) -> c_int {
    // SAFETY: the caller's promise, passed on.
    unsafe { c::connect_inside(client, error, executable::serve::running_server) }
}
