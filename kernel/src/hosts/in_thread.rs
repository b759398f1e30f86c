//! The host that runs a plugin's driver in a thread of this process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use farcall_base::{Error, Result};
use farcall_services::mailbox::Place;

use super::PluginEnd;

type Driver = Box<dyn FnOnce() -> Result<()> + Send>;

/// Runs `driver` in a thread called `name`, and reports to `end` however it ends.
///
/// # Errors
/// `System` when the process may have no more threads.
pub(crate) fn run(
    name: &'static str,
    number: usize,
    driver: Driver,
    end: Place<PluginEnd>,
) -> Result<JoinHandle<()>> {
    let body = move || {
        // What the driver touched is dropped with it: nobody sees it half changed.
        let outcome =
            catch_unwind(AssertUnwindSafe(driver)).unwrap_or_else(|panic| Err(panicked(&*panic)));
        end.send(PluginEnd {
            number,
            error: outcome.err().map(|error| error.with("plugin", name)),
        });
    };
    Builder::new()
        .name(name.to_string())
        .spawn(body)
        .map_err(|source| Error::system("start a plugin's thread", source))
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    Error::internal("run a plugin", format!("its thread panicked: {text}"))
}
