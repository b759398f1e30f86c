//! The limits of a conversation.

use std::time::Duration;

use farcall_base::Bytes;
use farcall_services::spawner::Capacity;
use farcall_wire::HelloLimits;

use crate::state::{KeepLimits, Limits, Records};

/// The first line of a script names the limits that differ: `! executables_max=1 calls_max=2`.
pub(super) fn limits(script: &str) -> Limits {
    let mut limits = standard();
    let words =
        script.lines().filter_map(|line| line.strip_prefix("! ")).flat_map(str::split_whitespace);
    for (name, value) in words.map(|word| word.split_once('=').unwrap()) {
        if name == "queue" {
            let known = farcall_placement::queue::NAMES.into_iter().find(|known| *known == value);
            limits.queue = known.unwrap();
            continue;
        }
        let value = value.parse().unwrap();
        match name {
            "connections_max" => {
                (limits.connections_max, limits.own_connections_max) = (value, value)
            }
            "greetings_max" => limits.greetings_max = value,
            "calls_max" => limits.calls_max = value,
            "executables_max" => limits.executables_max = value,
            "processors_max" => limits.processors_max = Some(value as u32),
            "cores" => limits.capacity.cores = value as u32,
            "call_bytes_max" => limits.call_bytes_max = Bytes(value as u64),
            "objects_max" => limits.objects_max = value,
            "objects_of_one_max" => limits.objects_of_one_max = value,
            "under_way_bytes_max" => limits.under_way_bytes_max = value as u64,
            "audits" => limits.records = [Records::Failures, Records::All][value],
            "questions_max" => limits.questions_max = value,
            "nesting_max" => limits.nesting_max = value as u32,
            "loading_ms" => limits.loading_max = Duration::from_millis(value as u64),
            "resume_ms" => limits.keep.resume = Duration::from_millis(value as u64),
            "results_max" => limits.keep.calls_max = value,
            "results_bytes_max" => limits.keep.file_bytes_max = value as u64,
            "results_memory_bytes_max" => limits.keep.memory_bytes_max = value as u64,
            "results_off" => limits.keep.has_folder = value == 0,
            "stall_ms" => limits.stall_max = Duration::from_millis(value as u64),
            _ => panic!("no such limit: {name}"),
        }
    }
    limits
}

/// Those of a script that names none.
fn standard() -> Limits {
    Limits {
        connections_max: 8,
        own_connections_max: 8,
        connections_share_percent: 50,
        under_way_bytes_max: 1 << 30,
        greetings_max: 8,
        calls_max: 8,
        executables_max: 2,
        processors_max: None,
        queue: "first-come",
        capacity: Capacity { cores: 2, gpus: 1 },
        executable_idle: Duration::from_millis(100),
        launched_max: 16,
        launched_idle: Duration::from_secs(60),
        call_bytes_max: Bytes(1 << 20),
        routines_max: 16,
        stop_grace: Duration::from_millis(500),
        cancel_grace: Duration::from_secs(2),
        greeting_max: Duration::from_secs(10),
        loading_max: Duration::from_secs(60),
        stall_max: Duration::from_secs(60),
        compresses: false,
        records: Records::None,
        counters_max: 100,
        nesting_max: 2,
        questions_max: 256,
        keep: KeepLimits {
            longest: Duration::from_secs(3600),
            resume: Duration::from_secs(60),
            calls_max: 8,
            memory_bytes_max: 1 << 20,
            file_bytes_max: 1 << 20,
            share_percent: 50,
            has_folder: true,
        },
        objects_max: 4,
        objects_of_one_max: 3,
        object_lease_max: Duration::from_secs(100),
        hello: HelloLimits { segments_max: 8, ..HelloLimits::default() },
    }
}
