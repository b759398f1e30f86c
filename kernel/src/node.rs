//! A running kernel: starts the manifest's plugins in order, watches them, stops them in reverse
//! order.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result, nearest};
use farcall_services::mailbox::{Receiver, Sender, mailbox};

use crate::hosts::{PluginEnd, in_thread};
use crate::manifest::{HostKind, Manifest, PluginEntry};
use crate::order::{Part, starting_order};
use crate::plugin::{
    Given, Plugin, PluginContext, PluginDescription, Services, SlotName, find_service,
};

/// A node. Dropped, it stops as by [`Node::stop`].
///
/// Its descriptor ([`AsFd`]) is readable when a plugin has ended: wait for it beside the signals,
/// then [`Node::wait`].
pub struct Node {
    name: Arc<str>,
    plugins: Vec<Hosted>,
    services: Services,
    end_sender: Sender<PluginEnd>,
    ends: Receiver<PluginEnd>,
    stop_timeout: Duration,
}

/// A plugin that was started.
struct Hosted {
    name: &'static str,
    stop: Option<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// Starts the plugins that `manifest` names, out of those that the binary contains.
    ///
    /// # Errors
    /// `InvalidSource` for a manifest that does not fit together (unknown plugin, wrong option,
    /// slot missing or filled twice, circle); a plugin's own error. Plugins that had started are
    /// stopped again.
    pub fn start(manifest: &Manifest, available: &[PluginDescription]) -> Result<Node> {
        Node::start_with(manifest, available, Given::default())
    }

    /// The same with services that the binary gives to those that need them.
    ///
    /// # Errors
    /// As [`Node::start`]; a plugin that fills one of their slots fills it twice.
    pub fn start_with(
        manifest: &Manifest,
        available: &[PluginDescription],
        given: Given,
    ) -> Result<Node> {
        let limits = &manifest.limits;
        if manifest.plugins.len() > limits.plugins_max {
            let message =
                format!("{} plugins are more than [limits] plugins_max", manifest.plugins.len());
            return Err(Error::new(ErrorKind::LimitExceeded, "start the node", message));
        }
        let plugins = construct(manifest, available)?;
        let order = order(&plugins, &given)?;
        let (end_sender, ends) = mailbox(limits.plugins_max)?;
        let stop_timeout = Duration::from_millis(limits.stop_timeout_ms);
        let name = Arc::from(manifest.node_name.as_str());
        let mut node =
            Node { name, plugins: Vec::new(), services: given.0, end_sender, ends, stop_timeout };
        let mut plugins: Vec<_> = plugins.into_iter().map(Some).collect();
        for index in order {
            let plugin = plugins[index].take().expect("the order names each plugin once");
            node.start_plugin(plugin, manifest.plugins[index].host)?;
        }
        Ok(node)
    }

    /// Whether `manifest` fits together, and its options make sense, as for [`Node::start_with`].
    /// Nothing is started.
    ///
    /// # Errors
    /// As [`Node::start_with`] before it starts anything.
    pub fn check(
        manifest: &Manifest,
        available: &[PluginDescription],
        given: &Given,
    ) -> Result<()> {
        order(&construct(manifest, available)?, given).map(|_| ())
    }

    fn start_plugin(&mut self, constructed: Constructed, host: HostKind) -> Result<()> {
        let Constructed { description: PluginDescription { name, needs, uses, .. }, plugin } =
            constructed;
        let needed =
            |slot: &SlotName| self.services.get(slot).map(|service| (*slot, service.clone()));
        let services = needs.iter().chain(uses).filter_map(needed).collect();
        let running = plugin
            .start(PluginContext { node: self.name.clone(), plugin: name, services })
            .map_err(|error| error.with("plugin", name))?;
        let end = self.end_sender.reserve().map_err(|refusal| refusal.error("start a plugin"))?;
        let thread = match host {
            HostKind::InThread => in_thread::run(name, self.plugins.len(), running.run, end)?,
        };
        self.services.extend(running.services);
        self.plugins.push(Hosted { name, stop: Some(running.stop), thread: Some(thread) });
        Ok(())
    }

    /// The handle of the service in `slot`: how a binary reaches its own node.
    ///
    /// # Errors
    /// `Internal` when no plugin fills the slot with a handle of this type.
    pub fn service<T: Clone + 'static>(&self, slot: SlotName) -> Result<T> {
        find_service(&self.services, slot)
    }

    /// Waits for at most `timeout` for a plugin that ends without having been told to, and says
    /// why. The node is then to be stopped: no plugin is restarted.
    pub fn wait(&mut self, timeout: Duration) -> Option<Error> {
        let end = self.ends.receive_timeout(timeout).ok()?;
        let name = self.take_end(end.number);
        let ended =
            || Error::internal("run a plugin", "it ended unexpectedly").with("plugin", name);
        Some(end.error.unwrap_or_else(ended))
    }

    /// Stops all plugins, last started first; each has the manifest's time to end.
    ///
    /// # Errors
    /// The first plugin's error, among them a `TimedOut` for one that did not end: it is left
    /// behind.
    pub fn stop(mut self) -> Result<()> {
        self.stop_all()
    }

    fn stop_all(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for number in (0..self.plugins.len()).rev() {
            let stopped = self.stop_plugin(number);
            outcome = outcome.and(stopped);
        }
        self.plugins.clear();
        outcome
    }

    fn stop_plugin(&mut self, number: usize) -> Result<()> {
        if let Some(stop) = self.plugins[number].stop.take() {
            stop();
        }
        let deadline = Instant::now() + self.stop_timeout;
        let mut outcome = Ok(());
        while self.plugins[number].thread.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(end) = self.ends.receive_timeout(left) else {
                let message = format!("it did not end within {:?}", self.stop_timeout);
                let error = Error::new(ErrorKind::TimedOut, "stop a plugin", message);
                return outcome.and(Err(error.with("plugin", self.plugins[number].name)));
            };
            // Another plugin may fail meanwhile; its error counts as well.
            self.take_end(end.number);
            outcome = outcome.and(end.error.map_or(Ok(()), Err));
        }
        outcome
    }

    /// Notes that a plugin has ended, joins its thread, which does nothing more, and gives its
    /// name.
    fn take_end(&mut self, number: usize) -> &'static str {
        let hosted = &mut self.plugins[number];
        hosted.stop = None;
        if let Some(thread) = hosted.thread.take() {
            // The body catches panics, so there is nothing to learn from the outcome.
            let _ = thread.join();
        }
        hosted.name
    }
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ends.as_fd()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Errors were for whoever called `stop`.
        let _ = self.stop_all();
    }
}

/// A plugin that does not run yet, and what the binary says of it.
struct Constructed {
    description: PluginDescription,
    plugin: Box<dyn Plugin>,
}

/// All plugins of the manifest, in its order.
fn construct(manifest: &Manifest, available: &[PluginDescription]) -> Result<Vec<Constructed>> {
    manifest.plugins.iter().map(|entry| construct_one(entry, available)).collect()
}

fn order(plugins: &[Constructed], given: &Given) -> Result<Vec<usize>> {
    let part = |one: &Constructed| {
        let PluginDescription { name, provides, needs, uses, .. } = one.description;
        Part { name, provides, needs, uses }
    };
    let parts: Vec<Part> = plugins.iter().map(part).collect();
    starting_order(&parts, &given.0.keys().copied().collect::<Vec<_>>())
}

fn construct_one(entry: &PluginEntry, available: &[PluginDescription]) -> Result<Constructed> {
    let found = available.iter().find(|plugin| plugin.name == entry.name);
    let description = *found.ok_or_else(|| unknown_plugin(entry, available))?;
    let plugin = (description.construct)(&entry.options)
        .map_err(|error| error.with("plugin", &entry.name))?;
    if description.provides.contains(&entry.slot.as_str()) {
        return Ok(Constructed { description, plugin });
    }
    let message = format!("plugin \"{}\" does not fill slot \"{}\"", entry.name, entry.slot);
    let fix = format!("it fills: {}", description.provides.join(", "));
    Err(Error::new(ErrorKind::InvalidSource, "start the node", message).fix(fix))
}

fn unknown_plugin(entry: &PluginEntry, available: &[PluginDescription]) -> Error {
    let names: Vec<&str> = available.iter().map(|plugin| plugin.name).collect();
    let fix = match nearest(&entry.name, names.iter().copied(), 1).first() {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("this binary contains: {}", names.join(", ")),
    };
    let message = format!("there is no plugin \"{}\"", entry.name);
    Error::new(ErrorKind::InvalidSource, "start the node", message).fix(fix)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
