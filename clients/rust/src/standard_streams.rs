//! The descriptors of a program's standard streams, which are to stay what they are.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};

/// Opens nothing in place of those that the program has closed, as daemons do. Connections would have their numbers otherwise,
/// and what is printed would go into them.
pub fn keep_standard_streams() {
    // Opening takes the lowest number that is free.
    while let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        if nothing.as_raw_fd() > 2 {
            break;
        }
        let _ = nothing.into_raw_fd();
    }
}
