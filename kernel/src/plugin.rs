//! What a plugin is to the kernel: a description in the binary, an object with needs, a running
//! driver.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_services::mailbox::{ParkedMailbox, Receiver, Sender, mailbox, parked_mailbox};

use crate::manifest::Options;

/// Names a slot: the interface that the plugin in it serves (`farcall_services::directory::SLOT`).
pub type SlotName = &'static str;

/// A plugin that a binary contains. `main()` lists them; there is no other registry.
#[derive(Clone, Copy)]
pub struct PluginDescription {
    /// The name a manifest picks it by.
    pub name: &'static str,
    /// The slots it fills; by default the first.
    pub provides: &'static [SlotName],
    /// The slots whose services it uses; they run before it starts and until it has stopped.
    pub needs: &'static [SlotName],
    /// The same where a plugin fills them: without it, this one runs too.
    pub uses: &'static [SlotName],
    /// Its options with their defaults and what they mean, as the text of a `[plugin.options]`
    /// table. Reading it gives exactly the options that an empty table gives: a test of the plugin
    /// holds that.
    pub options: &'static str,
    /// Makes the plugin from its options; starts nothing.
    pub construct: fn(&Options) -> Result<Box<dyn Plugin>>,
}

impl PluginDescription {
    /// The slot that it fills unless a manifest names another.
    pub fn slot(&self) -> SlotName {
        self.provides.first().copied().unwrap_or_default()
    }
}

/// A configured plugin that does not run yet.
pub trait Plugin: Send {
    /// Takes what the plugin needs (handles, listening sockets) and gives back its driver, not yet
    /// running.
    ///
    /// # Errors
    /// Whatever is in the way: then the node does not start.
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin>;
}

/// The handles of filled slots.
pub(crate) type Services = BTreeMap<SlotName, Arc<dyn Any + Send + Sync>>;

/// Services of the binary itself, which no plugin fills.
#[derive(Default)]
pub struct Given(pub(crate) Services);

impl Given {
    /// Offers `handle` to the plugins that need `slot`.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, slot: SlotName, handle: T) -> Given {
        self.0.insert(slot, Arc::new(handle));
        self
    }
}

/// What a starting plugin gets from the kernel.
pub struct PluginContext {
    /// The node's name.
    pub node: Arc<str>,
    pub(crate) plugin: &'static str,
    pub(crate) services: Services,
}

impl PluginContext {
    /// The handle of the service in `slot`, which [`PluginDescription::needs`] must name.
    ///
    /// # Errors
    /// `Internal` when the plugin did not declare the need, or the service has a handle of another
    /// type.
    pub fn service<T: Clone + 'static>(&self, slot: SlotName) -> Result<T> {
        find_service(&self.services, slot).map_err(|error| error.with("plugin", self.plugin))
    }

    /// The handle of a service that [`PluginDescription::uses`] names; `None` where nothing fills
    /// its slot.
    ///
    /// # Errors
    /// `Internal` when the service has a handle of another type.
    pub fn service_if_there<T: Clone + 'static>(&self, slot: SlotName) -> Result<Option<T>> {
        self.services.contains_key(slot).then(|| self.service(slot)).transpose()
    }
}

pub(crate) fn find_service<T: Clone + 'static>(services: &Services, slot: SlotName) -> Result<T> {
    let wrong = |message: &str| Error::internal("find a service", message).with("slot", slot);
    let service = services
        .get(slot)
        .ok_or_else(|| wrong("not among the needs, or filled without a handle"))?;
    let handle = service
        .downcast_ref::<T>()
        .ok_or_else(|| wrong("the service has a handle of another type"))?;
    Ok(handle.clone())
}

/// A started plugin: its services, its driver, and how to tell the driver to end.
pub struct RunningPlugin {
    pub(crate) services: Services,
    pub(crate) stop: Box<dyn FnOnce() + Send>,
    pub(crate) run: Box<dyn FnOnce() -> Result<()> + Send>,
}

impl RunningPlugin {
    /// `run` is the driver: its host gives it a thread, and it returns soon after `stop` was
    /// called. `stop` must not wait and must not fail: [`driver_mailbox`] gives one.
    pub fn new(
        stop: impl FnOnce() + Send + 'static,
        run: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Self {
        RunningPlugin { services: Services::new(), stop: Box::new(stop), run: Box::new(run) }
    }

    /// Offers `handle` to the plugins that need `slot`.
    #[must_use]
    pub fn provides<T: Send + Sync + 'static>(mut self, slot: SlotName, handle: T) -> Self {
        self.services.insert(slot, Arc::new(handle));
        self
    }
}

/// The mailbox of a plugin's driver, for `messages_max` messages, and what puts `stop` into it. The
/// place for that is reserved, beyond the others: telling a driver to end depends on nobody who
/// fills its mailbox.
///
/// # Errors
/// `System` when the process is out of descriptors.
pub fn driver_mailbox<M: Send + 'static>(
    messages_max: usize,
    stop: M,
) -> Result<(Sender<M>, Receiver<M>, impl FnOnce() + Send + 'static)> {
    let (sender, receiver) = mailbox(messages_max.saturating_add(1))?;
    let place = sender.reserve().map_err(|refusal| refusal.error("start a plugin"))?;
    Ok((sender, receiver, move || place.send(stop)))
}

/// The same for a driver that waits for nothing beside its mailbox: that takes no descriptor, of
/// which a server may have few.
///
/// # Errors
/// None in practice: there is room for `stop`.
pub fn parked_driver_mailbox<M: Send + 'static>(
    messages_max: usize,
    stop: M,
) -> Result<(ParkedMailbox<M>, impl FnOnce() + Send + 'static)> {
    let (sender, receiver) = parked_mailbox(messages_max.saturating_add(1));
    let place = sender.reserve().map_err(|refusal| refusal.error("start a plugin"))?;
    Ok(((sender, receiver), move || place.send(stop)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_hears_of_its_end_however_full_its_mailbox_is() {
        let (sender, mut receiver, stop) = driver_mailbox(2, "stop").unwrap();
        assert!(sender.try_send("one").is_ok() && sender.try_send("two").is_ok());
        assert!(sender.try_send("three").is_err(), "the last place is kept");
        stop();
        let taken: Vec<&str> = std::iter::from_fn(|| receiver.try_receive().ok()).collect();
        assert_eq!(taken, ["one", "two", "stop"]);
    }
}
