//! Files that a program has its server publish.

use std::ffi::{c_char, c_int};
use std::path::Path;
use std::time::Duration;

use farcall_base::abi::status::OK;
use farcall_client::{ModuleReport, Published, Result};

use crate::boundary::{Place, guard, limit, object, optional_text, options, text};
use crate::client::ClientObject;
use crate::error::ErrorObject;
use crate::keeping::escaped;

/// Time unless the caller says another: compilers may take theirs.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// `farcall_publish_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PublishOptions {
    size: usize,
    source: *const c_char,
    timeout_seconds: f64,
    stay: u32,
    reserved: u32,
    known_as: *const c_char,
}

/// What is to be published, and how.
struct Asked {
    published: Published,
    stay: bool,
    timeout: Duration,
}

/// # Safety
/// As farcall.h says of `farcall_publish`.
unsafe fn asked(file: *const c_char, given: *const PublishOptions) -> Result<Asked> {
    // SAFETY: the caller's promise, here and below.
    let file = Path::new(unsafe { text(file, "the file's path") }?);
    // SAFETY: as above.
    let Some(given) = (unsafe { options(given, "farcall_publish_options") })? else {
        let published = Published::of_file(file)?;
        return Ok(Asked { published, stay: false, timeout: TIMEOUT });
    };
    // SAFETY: as above.
    let source = unsafe { optional_text(given.source, "the source") }?;
    let published = match source {
        Some(source) => Published::of_source(file, source.as_bytes().to_vec())?,
        None => Published::of_file(file)?,
    };
    // SAFETY: as above.
    let known_as = unsafe { optional_text(given.known_as, "what the file is known as") }?;
    let published = match known_as {
        Some(known_as) => published.known_as(known_as),
        None => published,
    };
    let timeout = limit(given.timeout_seconds)?.unwrap_or(TIMEOUT);
    Ok(Asked { published, stay: given.stay != 0, timeout })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_publish(
    client: *const ClientObject,
    file: *const c_char,
    given: *const PublishOptions,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for text.
        let json = unsafe { Place::json(json) }?;
        // SAFETY: farcall.h: a client.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: farcall.h: text, and NULL or options.
        let Asked { published, stay, timeout } = unsafe { asked(file, given) }?;
        let reports = client.publish(published, stay, timeout)?;
        let all: Vec<String> = reports.iter().map(told).collect();
        json.fill_array(&all);
        Ok(OK)
    })
}

fn told(report: &ModuleReport) -> String {
    let [module, warnings] = [&report.module, &report.warnings]
        .map(|text| text.chars().map(escaped).collect::<String>());
    format!(
        "{{\"module\":\"{module}\",\"routines\":{},\"warnings\":\"{warnings}\"}}",
        report.routines
    )
}
