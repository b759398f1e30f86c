//! What `farcall_call_options` say.

use farcall_base::abi::wanted;
use farcall_client::{CallOptions, Error, ErrorKind, Keep, ObjectId, Result, Stay};

use super::RawOptions;
use crate::boundary::{limit, limit_of, optional_text, options, resources};

/// What `farcall_call_options` say.
///
/// # Safety
/// NULL, or options with their size.
pub unsafe fn read_options(given: *const RawOptions) -> Result<CallOptions> {
    // SAFETY: the caller's promise.
    let Some(given) = unsafe { options(given, "farcall_call_options") }? else {
        return Ok(CallOptions::default());
    };
    if given.wanted & !(wanted::PROGRESS | wanted::OUTPUT) != 0 {
        let message = "farcall_call_options: wanted has unknown bits";
        return Err(Error::new(ErrorKind::InvalidArgument, "call", message)
            .with("wanted", given.wanted)
            .fix("combine values of enum farcall_wanted with |"));
    }
    Ok(CallOptions {
        // SAFETY: farcall.h: NULL, or the 16 bytes of an id.
        on: (!given.on.is_null()).then(|| ObjectId(unsafe { given.on.cast::<[u8; 16]>().read() })),
        timeout: limit(given.timeout_seconds)?,
        run_timeout: limit_of("run_timeout", given.run_timeout_seconds)?,
        announced: given.announced != 0,
        progress: given.wanted & wanted::PROGRESS != 0,
        output: given.wanted & wanted::OUTPUT != 0,
        ranks: given.ranks,
        // SAFETY: farcall.h: NULL or text.
        resources: unsafe { resources(given.resources, "farcall_call_options: resources") }?,
        // SAFETY: farcall.h: NULL or text.
        label: unsafe { optional_text(given.label, "farcall_call_options: label") }?
            .map(Into::into),
        // SAFETY: farcall.h: NULL or text.
        at: unsafe { optional_text(given.at, "farcall_call_options: at") }?.map(Into::into),
        // SAFETY: farcall.h: NULL or text.
        stay: unsafe { optional_text(given.stay, "farcall_call_options: stay") }?
            .map_or(Stay::Nothing, stay),
        lease: limit_of("lease", given.lease_seconds)?,
        keep: limit_of("time to keep the call", given.keep_seconds)?
            .map(|after_end| Keep { after_end, durable: given.durable != 0 }),
        ..CallOptions::default()
    })
}

/// `*`, or the names of results.
fn stay(names: &str) -> Stay {
    match names.trim() {
        "" => Stay::Nothing,
        "*" => Stay::All,
        names => Stay::These(names.split(',').map(|name| name.trim().to_owned()).collect()),
    }
}
