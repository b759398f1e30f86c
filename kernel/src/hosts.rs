//! How plugins are run. A host takes a [`crate::RunningPlugin`] and reports its end; the kernel
//! sees no difference.

pub(crate) mod in_thread;

use farcall_base::Error;

/// The end of a plugin's driver, in the kernel's mailbox.
pub(crate) struct PluginEnd {
    /// Which plugin, by its place in the starting order.
    pub(crate) number: usize,
    /// Its own error, or the panic that ended it.
    pub(crate) error: Option<Error>,
}
