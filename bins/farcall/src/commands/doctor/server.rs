//! What a server says, where one is named or runs.

use std::time::Duration;

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
            return vec![Finding::good("server", "none runs for this user, and none is named")];
        }
        Err(error) => return vec![trouble("server", &error)],
    };
    let mut findings = vec![Finding::good("server", format!("{} answers", client.address()))];
    match client.status(ANSWER_MAX) {
        Ok(status) => {
            findings.push(judge::versions(&status.product, OWN));
            if status.draining {
                let fix = "start another, or wait until it is up again";
                findings.push(Finding::warning("server's end", "it takes no more calls", fix));
            }
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => findings.push(judge::versions("older", OWN)),
        Err(error) => findings.push(trouble("status", &error)),
    }
    findings
}
