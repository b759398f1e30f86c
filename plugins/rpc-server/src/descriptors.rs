//! What the limit on open files allows: crowds of strangers and users leave the server's own user,
//! its executables and its files the descriptors that these need.
//!
//! Handshakes, newcomers and connections take a descriptor each. Where the limits of the manifest
//! would take more together than there are beyond a reserve, they are cut: a quarter of the rest
//! for handshakes, a quarter for those who have not greeted, and what is left for connections, of
//! which one user has a share. So all of them can be full at once.

use std::fmt;

/// Descriptors that a server needs with one executable and without clients, about.
const RESERVE_LEAST: u64 = 32;
/// Of all, what is kept for the owner's clients, executables and files: one part in so many.
const RESERVE_PART: u64 = 4;
/// Of the rest, the parts of handshakes and of newcomers, each: one in so many.
const CROWD_PART: u64 = 4;

/// Those who take descriptors, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowds {
    /// Handshakes at each address that has them.
    pub handshakes_max: usize,
    /// Clients that have not greeted.
    pub greetings_max: usize,
    /// Connections.
    pub connections_max: usize,
}

impl Crowds {
    /// What these become where a process may have `files` open, and handshakes are made at so many
    /// addresses.
    pub fn fitting(self, files: Option<u64>, addresses: usize) -> Crowds {
        let Some(files) = files else { return self };
        let addresses = addresses.max(1) as u64;
        let sum = |crowds: Crowds| {
            let handshakes = (crowds.handshakes_max as u64).saturating_mul(addresses);
            handshakes
                .saturating_add(crowds.greetings_max as u64)
                .saturating_add(crowds.connections_max as u64)
        };
        let rest = files.saturating_sub(RESERVE_LEAST + files / RESERVE_PART);
        if sum(self) <= rest {
            return self;
        }
        let at_most = |wanted: usize, most: u64| {
            wanted.min(usize::try_from(most.max(1)).unwrap_or(usize::MAX))
        };
        let crowds = Crowds {
            handshakes_max: at_most(self.handshakes_max, rest / CROWD_PART / addresses),
            greetings_max: at_most(self.greetings_max, rest / CROWD_PART),
            connections_max: 0,
        };
        Crowds {
            connections_max: at_most(self.connections_max, rest.saturating_sub(sum(crowds))),
            ..crowds
        }
    }
}

impl fmt::Display for Crowds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Crowds { handshakes_max, greetings_max, connections_max } = self;
        write!(
            f,
            "{handshakes_max} handshakes, {greetings_max} clients that have not greeted, \
                {connections_max} connections"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Crowds =
        Crowds { handshakes_max: 256, greetings_max: 1024, connections_max: 10_240 };

    #[test]
    fn crowds_leave_the_reserve_whatever_the_limit_is() {
        for files in [64, 100, 256, 1024, 4096, 12_000, 15_000] {
            for addresses in [0, 1, 3] {
                let Crowds { handshakes_max, greetings_max, connections_max } =
                    WANTED.fitting(Some(files), addresses);
                let all = handshakes_max * addresses.max(1) + greetings_max + connections_max;
                let reserve = RESERVE_LEAST + files / RESERVE_PART;
                assert!(all as u64 + reserve <= files, "{files} {addresses}: {all}");
                assert!(
                    connections_max >= greetings_max && handshakes_max > 0,
                    "{files} {addresses}"
                );
            }
        }
        let some = Crowds { handshakes_max: 184, greetings_max: 184, connections_max: 368 };
        assert_eq!(WANTED.fitting(Some(1024), 1), some);
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        for files in [None, Some(20_000), Some(1 << 20)] {
            assert_eq!(WANTED.fitting(files, 1), WANTED);
        }
        let few = Crowds { handshakes_max: 8, greetings_max: 16, connections_max: 100 };
        assert_eq!(few.fitting(Some(256), 1), few);
        // What is small takes nothing from the others.
        let crowd = Crowds { connections_max: 10_240, ..few };
        assert_eq!(crowd.fitting(Some(1024), 1).connections_max, 736 - 24);
    }
}
