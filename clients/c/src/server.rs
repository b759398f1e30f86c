//! Private servers.

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;

use farcall_base::abi::status::OK;
use farcall_client::{PrivateServer, Result, ServeOptions};

use crate::boundary::{Place, c_text, elements, free, guard, limit, optional_text, options, text};
use crate::error::ErrorObject;

/// `farcall_server`.
pub struct Server {
    /// Ends the child when it is dropped.
    _child: PrivateServer,
    address: CString,
}

/// `farcall_server_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ServerOptions {
    size: usize,
    program: *const c_char,
    files: *const *const c_char,
    file_count: usize,
    arguments: *const *const c_char,
    argument_count: usize,
    timeout_seconds: f64,
}

impl ServerOptions {
    /// What is asked for.
    ///
    /// # Safety
    /// The pointers are as farcall.h says.
    pub unsafe fn read(&self) -> Result<ServeOptions> {
        // SAFETY: the caller's promise, here and below.
        let program =
            unsafe { optional_text(self.program, "the server's program") }?.map(PathBuf::from);
        // SAFETY: as above.
        let files = unsafe { texts(self.files, self.file_count, "a file of the server") }?;
        // SAFETY: as above.
        let arguments =
            unsafe { texts(self.arguments, self.argument_count, "an argument of the server") }?;
        let files = files.into_iter().map(PathBuf::from).collect();
        Ok(ServeOptions { program, files, arguments, timeout: limit(self.timeout_seconds)? })
    }
}

/// # Safety
/// As many texts as `count` says.
unsafe fn texts(list: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>> {
    // SAFETY: the caller's promise, here and below.
    let list = unsafe { elements(list, count, what) }?;
    // SAFETY: as above.
    list.iter().map(|one| unsafe { text(*one, what) }.map(str::to_owned)).collect()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_server_start(
    given: *const ServerOptions,
    server: *mut *mut Server,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for the server.
        let place = unsafe { Place::new(server, "the pointer for the server") }?;
        // SAFETY: farcall.h: options with their size, or NULL.
        let given = unsafe { options(given, "farcall_server_options") }?;
        // SAFETY: farcall.h: the pointers in it are valid.
        let wanted = given.map(|given| unsafe { given.read() }).transpose()?.unwrap_or_default();
        let child = PrivateServer::start(&wanted)?;
        let address = c_text(child.address());
        place.fill(Server { _child: child, address });
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_server_address(server: *const Server) -> *const c_char {
    // SAFETY: farcall.h: NULL or a server.
    unsafe { server.as_ref() }.map_or(std::ptr::null(), |server| server.address.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_server_stop(server: *mut Server) {
    // SAFETY: farcall.h: NULL or a server that the caller gives up.
    unsafe { free(server) }
}
