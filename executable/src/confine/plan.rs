//! What a process is to be held to, and what this kernel cannot hold it to. Pure: the kernel's
//! means come as one value, so that tests ask what an older one leaves open, and nothing in the
//! program pretends to be one.

use farcall_services::spawner::rules::{Confinement, Files, Network, Rules};

/// What a kernel has to confine a process with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelMeans {
    /// The version of landlock's interface; 0 where it has none, or has it switched off.
    pub landlock: u32,
    /// Whether it filters system calls, for this processor.
    pub seccomp: bool,
    /// Whether a filter can have another process answer a call, with a descriptor (Linux 5.14).
    pub listener: bool,
}

/// Versions of landlock's interface that brought something (landlock(7)): Linux 5.13, 6.2, 6.10,
/// 6.12.
const LANDLOCK_FILES: u32 = 1;
const LANDLOCK_TRUNCATE: u32 = 3;
const LANDLOCK_IOCTL: u32 = 5;
const LANDLOCK_SCOPES: u32 = 6;

/// Something that a kernel does not hold confined code to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHeld {
    /// Files: no landlock.
    Files,
    /// Files that can only be read, but truncated: landlock before its third version.
    Truncation,
    /// What is asked of devices by ioctl: landlock before its fifth version.
    Devices,
    /// Signals to threads of other processes of the user, by their numbers: landlock before its
    /// sixth version.
    Signals,
    /// Sockets, tracing and namespaces: no seccomp.
    SystemCalls,
    /// Unix sockets of what a launcher of MPI's starts: no filter whose calls another process
    /// answers.
    LaunchersSockets,
}

impl NotHeld {
    /// What code can do then, for whoever runs the server.
    pub fn consequence(self) -> &'static str {
        match self {
            NotHeld::Files => "routines can open every file that their user can open",
            NotHeld::Truncation => "routines can truncate files that their user can write",
            NotHeld::Devices => "routines can control devices that they can open",
            NotHeld::Signals => {
                "routines can send signals to threads of other processes of their user"
            }
            NotHeld::SystemCalls => {
                "routines can use the network, connect to sockets of other programs, and trace \
                    their user's processes"
            }
            NotHeld::LaunchersSockets => {
                "MPI routines can connect to Unix sockets of other programs of their user"
            }
        }
    }

    /// What would hold it.
    pub fn needs(self) -> &'static str {
        match self {
            NotHeld::Files => "landlock (Linux 5.13, and landlock in /sys/kernel/security/lsm)",
            NotHeld::Truncation => "landlock of Linux 6.2",
            NotHeld::Devices => "landlock of Linux 6.10",
            NotHeld::Signals => "landlock of Linux 6.12",
            NotHeld::SystemCalls => "seccomp (CONFIG_SECCOMP_FILTER)",
            NotHeld::LaunchersSockets => {
                "seccomp of Linux 5.14 with a free listener (a container may use it)"
            }
        }
    }
}

/// What is done to hold a process to its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Landlock: only granted files can be opened.
    pub files: bool,
    /// Landlock: signals and abstract Unix sockets reach nobody outside.
    pub scopes: bool,
    /// Seccomp: the filters of `refusals`.
    pub calls: bool,
    /// Seccomp: what a launcher starts gets its connection by a call that the spawner answers, and
    /// makes no Unix socket.
    pub dials: bool,
    /// What stays open.
    pub not_held: Vec<NotHeld>,
}

/// The plan for a process with these rules, on a kernel with these means.
pub fn plan(means: KernelMeans, rules: &Rules) -> Plan {
    let confined = rules.confinement != Confinement::Owner;
    let files = confined && rules.files == Files::Granted;
    let landlock = |version: u32| means.landlock >= version;
    let launcher = rules.confinement == Confinement::Launcher && means.seccomp;
    let needed = [
        (files && !landlock(LANDLOCK_FILES), NotHeld::Files),
        (files && landlock(LANDLOCK_FILES) && !landlock(LANDLOCK_TRUNCATE), NotHeld::Truncation),
        (files && landlock(LANDLOCK_FILES) && !landlock(LANDLOCK_IOCTL), NotHeld::Devices),
        (confined && !landlock(LANDLOCK_SCOPES), NotHeld::Signals),
        (confined && !means.seccomp, NotHeld::SystemCalls),
        (launcher && !means.listener, NotHeld::LaunchersSockets),
    ];
    Plan {
        files: files && landlock(LANDLOCK_FILES),
        scopes: confined && landlock(LANDLOCK_SCOPES),
        calls: means.seccomp,
        dials: launcher && means.listener,
        not_held: needed
            .into_iter()
            .filter(|(missing, _)| *missing)
            .map(|(_, what)| what)
            .collect(),
    }
}

/// What a kernel with these means does not hold a module to that is granted nothing, and may be one
/// of MPI's.
pub fn not_held(means: KernelMeans) -> Vec<NotHeld> {
    let confinement = Confinement::Launcher;
    plan(
        means,
        &Rules { files: Files::Granted, network: Network::Off, confinement, ..Rules::default() },
    )
    .not_held
}

impl Plan {
    /// The first limit of the manifest that is not held: its key, and what would hold it.
    pub fn missing_limit(&self, rules: &Rules) -> Option<(&'static str, &'static str)> {
        let limit = |what: &NotHeld| match what {
            NotHeld::Files => Some(("files", what.needs())),
            NotHeld::SystemCalls if rules.network == Network::Off => {
                Some(("network", what.needs()))
            }
            NotHeld::SystemCalls
            | NotHeld::Truncation
            | NotHeld::Devices
            | NotHeld::Signals
            | NotHeld::LaunchersSockets => None,
        };
        self.not_held.iter().find_map(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: KernelMeans = KernelMeans { landlock: 7, seccomp: true, listener: true };

    fn module() -> Rules {
        Rules { files: Files::Granted, network: Network::Off, ..Rules::default() }
    }

    #[test]
    fn a_new_kernel_holds_everything() {
        let plan = plan(NEWEST, &module());
        assert!(plan.files && plan.scopes && plan.calls && plan.not_held.is_empty());
        assert_eq!(plan.missing_limit(&module()), None);
    }

    #[test]
    fn what_an_older_kernel_leaves_open_is_said() {
        use NotHeld::{Devices, Files, LaunchersSockets, Signals, SystemCalls, Truncation};
        let held =
            |landlock, seccomp| not_held(KernelMeans { landlock, seccomp, listener: seccomp });
        // Linux 6.12 and later, 6.10, 6.7, 6.2, 5.19, 5.13, 5.12.
        assert_eq!(held(6, true), []);
        assert_eq!(held(5, true), [Signals]);
        assert_eq!(held(4, true), [Devices, Signals]);
        assert_eq!(held(3, true), [Devices, Signals]);
        assert_eq!(held(2, true), [Truncation, Devices, Signals]);
        assert_eq!(held(1, true), [Truncation, Devices, Signals]);
        assert_eq!(held(0, true), [Files, Signals]);
        assert_eq!(held(0, false), [Files, Signals, SystemCalls]);
        // A container that has taken the listener; a kernel that has nothing at all says it once.
        assert_eq!(not_held(KernelMeans { listener: false, ..NEWEST }), [LaunchersSockets]);
        for each in [Files, Truncation, Devices, Signals, SystemCalls, LaunchersSockets] {
            assert!(!each.consequence().is_empty() && !each.needs().is_empty());
        }
    }

    #[test]
    fn a_limit_that_is_required_and_not_held_is_named() {
        let old = KernelMeans { landlock: 0, seccomp: false, listener: false };
        let open = Rules { files: super::Files::All, ..module() };
        let networked = Rules { network: Network::On, ..open.clone() };
        let missing = |rules: &Rules| plan(old, rules).missing_limit(rules).map(|(key, _)| key);
        assert_eq!(
            (missing(&module()), missing(&open), missing(&networked)),
            (Some("files"), Some("network"), None)
        );
    }

    #[test]
    fn the_owners_own_code_is_held_to_nothing_of_this() {
        let owner = Rules { confinement: Confinement::Owner, ..module() };
        let plan = plan(KernelMeans { landlock: 0, seccomp: true, listener: false }, &owner);
        assert!(!plan.files && !plan.scopes && plan.not_held.is_empty());
    }

    #[test]
    fn only_what_a_confined_launcher_starts_is_given_its_connection() {
        let of = |means, confinement| plan(means, &Rules { confinement, ..module() }).dials;
        assert!(of(NEWEST, Confinement::Launcher));
        assert!(!of(NEWEST, Confinement::Module) && !of(NEWEST, Confinement::Owner));
        assert!(!of(KernelMeans { listener: false, ..NEWEST }, Confinement::Launcher));
    }
}
