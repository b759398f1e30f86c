//! The plugin kernel: manifest, slots, lifecycle and hosts (spec/plugin.md).
//!
//! The kernel knows no plugin by name and carries no call: it reads a manifest, starts the plugins
//! that it names in the order of their needs, hands each the handles of the services it asked for,
//! and stops them in reverse order. Signals and exit codes are the binary's matter.

mod hosts;
mod manifest;
mod node;
mod order;
mod plugin;

pub use manifest::{HostKind, Limits, Manifest, Options, PluginEntry, Said};
pub use node::Node;
pub use plugin::{
    Given, Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
    parked_driver_mailbox,
};
