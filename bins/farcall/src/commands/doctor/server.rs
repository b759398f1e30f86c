//! What a server says, where one is named or runs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farcall_base::ErrorKind;

use super::host::trouble;
use super::{Finding, judge};
use crate::connection::RunningServer;

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const OWN: &str = concat!("farcall ", env!("CARGO_PKG_VERSION"));

/// Whether it can be reached, and what it tells.
pub fn findings(server: &RunningServer) -> Vec<Finding> {
    let client = match server.connect() {
        Ok(client) => client,
        Err(error) if !server.is_named() && error.kind() == ErrorKind::Unreachable => {
            return vec![Finding::good(
                "server",
                "no server of this user is running, and none was named",
            )];
        }
        Err(error) => return vec![trouble("server", &error)],
    };
    let mut findings = vec![Finding::good("server", format!("{} answers", client.address()))];
    let before = clock_us();
    match client.status(ANSWER_MAX) {
        Ok(status) => {
            findings
                .extend(status.clock_us.map(|theirs| judge::clocks(before, theirs, clock_us())));
            findings.push(judge::versions(&status.product, OWN));
            findings.extend(status.own.map(judge::kind));
            if status.draining {
                let fix = "start another server, or wait until this one runs again";
                findings.push(Finding::warning("server's end", "it accepts no more calls", fix));
            }
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            findings.push(judge::versions("older", OWN))
        }
        Err(error) => findings.push(trouble("status", &error)),
    }
    findings
}

/// This host's clock, in microseconds since 1970.
fn clock_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
