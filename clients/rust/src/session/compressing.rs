//! Compression of what this client sends: where both ends named it, and bytes travel at all.

use farcall_link::compression::Compression;
use farcall_link::stream::ByteStream;
use farcall_wire::COMPRESSION;

use super::Session;

/// The variable with the choice: `auto`, `off` or `always`.
pub const VARIABLE: &str = "FARCALL_COMPRESSION";

/// The feature's name, where it is offered: not to a server that arrays reach through shared
/// memory.
pub fn offered(stream: &dyn ByteStream, mode: Compression) -> Option<String> {
    (mode != Compression::Off && !stream.passes_descriptors()).then(|| COMPRESSION.to_owned())
}

impl Session {
    /// Leaves arrays of fewer bytes as they are.
    pub fn set_compressed_from(&self, bytes: u64) {
        self.enter().link.compress_from(bytes);
    }

    /// Compresses as `mode` says from now on, if both ends named the feature when they met.
    pub fn set_compression(&self, mode: Compression) {
        let mut core = self.enter();
        core.compression = Some(mode);
        if core.caller.has_feature(COMPRESSION) {
            core.link.compress(mode);
        }
    }
}
