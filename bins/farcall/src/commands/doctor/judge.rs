//! What facts mean. Pure: the host is looked at elsewhere.

use std::path::Path;

use farcall_base::Bytes;
use farcall_system::machine_memory::MachineMemory;
use farcall_transport_tls::{Certificate, date};

use super::Finding;
use farcall_executable::confine::NotHeld;

/// Descriptors that a server with a few hundred clients and executables needs.
const DESCRIPTORS_FEW: u64 = 4096;
/// Memory that a server with a few modules needs.
const MEMORY_FEW: u64 = 512 << 20;
/// Days before the end of a certificate in which it is to be renewed.
const DAYS_LEFT_FEW: i64 = 30;
const SECONDS_A_DAY: i64 = 86_400;
/// Seconds by which clocks may differ before logs of both cannot be read together any more.
const CLOCKS_DIFFER_FEW: f64 = 5.0;
/// Seconds by which new certificates are valid before they are made (`farcall ca`).
const CLOCKS_DIFFER_MAX: f64 = 300.0;

/// The hard limit on open files; `None` for no limit.
pub fn descriptors(limit: Option<u64>) -> Finding {
    let name = "open files";
    match limit {
        Some(limit) if limit < DESCRIPTORS_FEW => Finding::warning(
            name,
            format!(
                "a process may have {limit}: each client and each shared array uses one or more; \
                the server needs at the same time: {}",
                farcall_rpc_server::Options::default().crowds_fitting(Some(limit))
            ),
            "raise the hard limit: LimitNOFILE in the unit, or nofile in /etc/security/limits.conf",
        ),
        Some(limit) => Finding::good(name, format!("a process may have {limit}")),
        None => Finding::good(name, "no limit"),
    }
}

/// Whether anonymous shared memory can be made, and how much memory there is.
pub fn shared_memory(trouble: Option<String>, available_bytes: Option<u64>) -> Finding {
    let name = "shared memory";
    let gibibytes = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    match (trouble, available_bytes) {
        (Some(trouble), _) => Finding::wrong(
            name,
            format!("it cannot be created: {trouble}"),
            "allow memfd_create in the container or its seccomp profile, or call over TCP",
        ),
        (None, Some(bytes)) if bytes < 1 << 30 => Finding::warning(
            name,
            format!("{} of memory are left", gibibytes(bytes)),
            "stop other programs, or set memory_bytes_max and call_bytes_max in farcall.toml",
        ),
        (None, Some(bytes)) => {
            Finding::good(name, format!("can be made; {} of memory are left", gibibytes(bytes)))
        }
        (None, None) => Finding::good(name, "can be made"),
    }
}

/// What limits follow that the manifest leaves open.
pub fn memory_in_all(memory: MachineMemory, call_bytes_max: u64) -> Finding {
    let said = format!(
        "{memory}; the arrays of one call may have {} (call_bytes_max)",
        Bytes(call_bytes_max)
    );
    if memory.bytes >= MEMORY_FEW {
        return Finding::good("memory", said);
    }
    Finding::warning(
        "memory",
        said,
        "give the server's container or unit more memory if it refuses calls",
    )
}

/// Something that this system can hold routines to, or not.
pub fn confinement(name: &'static str, available: bool, without: &str, fix: &str) -> Finding {
    match available {
        true => Finding::good(name, "available"),
        false => Finding::warning(name, format!("not available: {without}"), fix),
    }
}

/// The version of landlock, and what it leaves open.
pub fn landlock(version: u32, not_held: &[NotHeld]) -> Finding {
    let name = "landlock";
    let open = not_held.iter().map(|what| what.consequence()).collect::<Vec<_>>().join("; ");
    match (version, not_held.last()) {
        (_, None) => Finding::good(name, format!("available (version {version})")),
        (0, Some(_)) => Finding::warning(
            name,
            format!("not available: {open}"),
            "run kernel 6.12 or later with landlock enabled (lsm=landlock,…)",
        ),
        (_, Some(last)) => Finding::warning(
            name,
            format!("version {version}: {open}"),
            format!("run a kernel with {}", last.needs()),
        ),
    }
}

/// The user that routines are, where the manifest names none, and what keeps the server's files
/// from them.
pub fn routines_user(is_root: bool, holds_files: bool) -> Finding {
    let name = "routines' user";
    let fix = "set a user in farcall.toml: limits.user = \"nobody\"; or run the server as a \
        separate user";
    match (is_root, holds_files) {
        (true, _) => Finding::warning(
            name,
            "root, unless limits.user in farcall.toml names another: of the files that a routine \
             may open, it reads all that root may read",
            fix,
        ),
        (false, true) => Finding::good(
            name,
            "the server's own user: the files that routines may open do not include its keys",
        ),
        (false, false) => Finding::warning(
            name,
            "the server's own user: on this kernel, routines can read the server's keys",
            fix,
        ),
    }
}

/// How TCP shares the network with others.
pub fn congestion_control(name_used: &str) -> Finding {
    let name = "congestion control";
    match name_used {
        "bbr" => Finding::warning(
            name,
            "bbr: large arrays take up to 2.5 times as long over loopback and fast links",
            "sysctl -w net.ipv4.tcp_congestion_control=cubic, if the links are fast",
        ),
        other => Finding::good(name, other),
    }
}

/// The folder of the default socket: its mode and owner, where it exists.
pub fn socket_folder(path: &Path, found: Option<(u32, u32)>, own: u32) -> Finding {
    let name = "socket folder";
    let shown = path.display();
    match found {
        None => Finding::good(name, format!("{shown} will be created")),
        Some((_, owner)) if owner != own => Finding::wrong(
            name,
            format!("{shown} belongs to user {owner}: your clients do not trust a server there"),
            "remove it, or set XDG_RUNTIME_DIR to a directory of yours",
        ),
        Some((mode, _)) if mode & 0o022 != 0 => Finding::wrong(
            name,
            format!("{shown} has mode {:o}: other users can replace the socket", mode & 0o7777),
            format!("chmod 700 {shown}"),
        ),
        Some(_) => Finding::good(name, format!("{shown} is yours alone")),
    }
}

/// A certificate at a time.
pub fn certificate(name: &'static str, certificate: &Certificate, now: i64) -> Finding {
    let whose = &certificate.name;
    let until = date(certificate.not_after);
    let days = (certificate.not_after - now) / SECONDS_A_DAY;
    if now < certificate.not_before {
        let begin = date(certificate.not_before);
        return Finding::wrong(
            name,
            format!(
                "that of {whose} is not valid before {begin}, which is in the future by this \
                    host's clock"
            ),
            "set the clock of this host, or of the host that created it",
        );
    }
    if now > certificate.not_after {
        let fix = format!("run farcall ca renew {whose} on the host of the authority");
        return Finding::wrong(name, format!("that of {whose} expired on {until}"), fix);
    }
    match days {
        few if few < DAYS_LEFT_FEW => Finding::warning(
            name,
            format!("that of {whose} expires on {until}, in {few} days"),
            format!("run farcall ca renew {whose} on the host of the authority"),
        ),
        _ => Finding::good(name, format!("that of {whose} is valid until {until}")),
    }
}

/// The server's clock beside ours, in microseconds, which was read before and after.
pub fn clocks(before: u64, theirs: u64, after: u64) -> Finding {
    let name = "clocks";
    // Theirs was read at some time between ours: only what lies outside is a difference.
    let ahead = theirs.saturating_sub(after);
    let behind = before.saturating_sub(theirs);
    let seconds = ahead.max(behind) as f64 / 1e6;
    let message = format!(
        "the server's is {seconds:.1} s {} of this host's",
        if ahead > 0 { "ahead" } else { "behind" }
    );
    let fix = "synchronize both: timedatectl set-ntp true";
    match seconds {
        s if s > CLOCKS_DIFFER_MAX => {
            let why = "certificates may look expired or not yet valid on one side";
            Finding::wrong(name, format!("{message}: {why}"), fix)
        }
        s if s > CLOCKS_DIFFER_FEW => {
            Finding::warning(name, format!("{message}: times in logs differ by this"), fix)
        }
        _ => Finding::good(name, "the server's and this host's agree"),
    }
}

/// Programs that interface files with code need.
pub fn compilers(missing: &[&str]) -> Finding {
    match missing {
        [] => Finding::good("compilers", "cc and c++ are installed"),
        missing => Finding::warning(
            "compilers",
            format!(
                "no {}: interface files that contain code cannot be published",
                missing.join(" and no ")
            ),
            "install them: apt install gcc g++",
        ),
    }
}

/// Interface files that come with Farcall and cannot be served, each with the reason.
pub fn libraries(count: usize, failed: &[(String, String)]) -> Finding {
    let name = "libraries";
    let reasons = failed
        .iter()
        .map(|(file, reason)| format!("{file}: {reason}"))
        .collect::<Vec<_>>()
        .join("; ");
    match (count, failed.len()) {
        (0, _) => Finding::warning(
            name,
            "the interface files that come with Farcall are missing",
            "set FARCALL_ROUTINES to their directory, share/farcall/routines",
        ),
        (_, 0) => {
            Finding::good(name, format!("all {count} modules that come with Farcall can be served"))
        }
        _ if failed.iter().all(|(_, reason)| reason.contains(".so")) => {
            Finding::warning(name, reasons, "install them: apt install libopenblas0 liblapack3")
        }
        // The libraries may be there, and what checks them cannot run: no compiler, no folder for
        // what it builds.
        _ => Finding::warning(name, reasons, "fix the cause, and run farcall doctor again"),
    }
}

/// Whose code has which rights on the server.
pub fn kind(own: bool) -> Finding {
    let message = if own {
        "own: code that its owner publishes has the owner's rights, and what comes with Farcall is \
            confined"
    } else {
        "confined: no published code has more rights than farcall.toml grants"
    };
    Finding::good("kind", message)
}

/// The versions at both ends.
pub fn versions(server: &str, own: &str) -> Finding {
    match server == own {
        true => Finding::good("version", format!("{own} at both ends")),
        false => Finding::warning(
            "version",
            format!("the server is {server}, this is {own}"),
            "install the same version on both sides: features that only one has are not used",
        ),
    }
}

#[cfg(test)]
mod tests {
    use farcall_transport_tls::Role;

    use super::super::State;
    use super::*;

    fn valid(not_before: i64, not_after: i64) -> Certificate {
        Certificate {
            name: "anna".into(),
            serial: Vec::new(),
            not_before,
            not_after,
            hosts: Vec::new(),
            role: Role::User,
            can_dial: true,
        }
    }

    #[test]
    fn certificates_are_judged_by_the_clock() {
        let at = |now| {
            certificate(
                "certificate",
                &valid(1000, 1000 + 365 * SECONDS_A_DAY),
                now * SECONDS_A_DAY + 1000,
            )
        };
        let states = [-1, 0, 334, 336, 365, 366].map(|day| at(day).state);
        let good = State::Good;
        let warning = State::Warning;
        let wrong = State::Wrong;
        assert_eq!(states, [wrong, good, good, warning, warning, wrong]);
        assert!(at(366).message.contains("expired") && at(-1).message.contains("clock"));
        assert_eq!(
            at(366).fix.as_deref(),
            Some("run farcall ca renew anna on the host of the authority")
        );
    }

    #[test]
    fn clocks_differ_by_what_a_slow_answer_does_not_explain() {
        let now = 1_000_000_000_000_u64;
        let of = |before, theirs, after| clocks(now + before, now + theirs, now + after);
        let states = [
            of(0, 0, 100),
            of(0, 9_000_000, 10_000_000),
            of(0, 6_000_000, 100),
            of(301_000_000, 0, 301_000_100),
        ];
        let wanted = [State::Good, State::Good, State::Warning, State::Wrong];
        assert_eq!(states.clone().map(|one| one.state), wanted);
        assert!(
            states[2].message.contains("6.0 s ahead")
                && states[3].message.contains("301.0 s behind"),
            "{states:?}"
        );
    }

    #[test]
    fn a_socket_folder_is_its_users_alone() {
        let of = |found| socket_folder(Path::new("/run/x"), found, 7).state;
        assert_eq!(
            [None, Some((0o40700, 7)), Some((0o40770, 7)), Some((0o40700, 8))].map(of),
            [State::Good, State::Good, State::Wrong, State::Wrong]
        );
    }

    #[test]
    fn what_is_missing_is_named_with_its_fix() {
        let all = [
            descriptors(Some(1024)),
            shared_memory(None, Some(1 << 20)),
            congestion_control("bbr"),
            compilers(&["cc"]),
            libraries(2, &[("lapack.idl".into(), "no liblapack.so.3".into())]),
            libraries(0, &[]),
            versions("farcall 9", "farcall 1"),
            confinement("landlock", false, "routines can open files", "a newer kernel"),
        ];
        assert!(all.iter().all(|one| one.state == State::Warning && one.fix.is_some()), "{all:?}");
        let fix = |reason: &str| {
            libraries(2, &[("lapack.idl".into(), reason.into())]).fix.unwrap_or_default()
        };
        assert!(
            fix("no liblapack.so.3").contains("apt")
                && !fix("Read-only file system").contains("apt")
        );
        assert_eq!(shared_memory(Some("no".into()), None).state, State::Wrong);
        let good = [
            descriptors(None),
            shared_memory(None, Some(1 << 40)),
            congestion_control("cubic"),
            compilers(&[]),
            libraries(2, &[]),
            versions("a", "a"),
        ];
        assert!(good.iter().all(|one| one.state == State::Good && one.fix.is_none()), "{good:?}");
    }
}
