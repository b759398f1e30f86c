//! What this host calls itself.

/// As servers and clients tell it to one another; hosts of one name are taken for one.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
