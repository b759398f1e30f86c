//! The plugin kernel: manifest, slots, lifecycle and hosts.
