//! The same through a real Slurm with some nodes: one `srun` for each of a job.

use farcall_client::{ErrorKind, HoldOptions};
use farcall_tests::{Slurm, alive, eventually, program};

use super::site::{PATIENCE, Site, kill, processes};

/// Places on each node.
const PLACES: u32 = 8;

fn start() -> Option<(Slurm, Site)> {
    let slurm = Slurm::start(6, PLACES, "")?;
    let path = format!("PATH={}", slurm.path());
    let quick = "\"--interval-min\", \"0.2\", \"--interval-max\", \"0.5\"";
    let command = format!("[\"env\", {path:?}, {:?}, \"launch\", \"slurm\", {quick}]", program());
    let settings = format!("command = {command}, dial = \"stdio\", idle_seconds = 3");
    let site = Site::new(&format!("modules.far = \"slurm\"\nlaunchers.slurm = {{ {settings} }}"));
    Some((slurm, site))
}

fn ends(slurm: &Slurm, site: &Site) {
    assert!(slurm.brings(|| site.jobs().is_empty()));
    site.leaves_nothing();
    assert!(slurm.brings(|| slurm.ask(&["squeue", "-h"]).is_empty()));
}

fn sruns(slurm: &Slurm) -> Vec<u32> {
    let folder = slurm.folder().display().to_string();
    let is_ours = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&folder)
    };
    let steps = processes(|words| words.contains("--jobid=") && words.contains("\0--overlap\0"));
    steps.into_iter().filter(is_ours).collect()
}

#[test]
fn nodes_of_slurm_need_no_way_to_the_login_node() {
    let Some((slurm, site)) = start() else { return };
    let hold = site.client.hold("place", 12, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let mut pilots: Vec<u32> = hold.ids().map(|id| site.place(Some(id)).pilot).collect();
    pilots.sort_unstable();
    pilots.dedup();
    assert_eq!(
        (pilots.len(), site.bridges().len(), site.jobs().len()),
        (2, 2, 1),
        "a pilot on each node"
    );
    // 64 MB both ways, while another rests.
    let rest = site.start("rest_once", 1000);
    site.flip(8 << 20);
    rest.wait().unwrap();
    hold.release(Some(PATIENCE)).unwrap();
    ends(&slurm, &site);
}

#[test]
fn what_ends_between_takes_its_node_alone() {
    let Some((slurm, site)) = start() else { return };
    // The step of a node, what leads it here, its program, and the node itself.
    for name in ["step", "bridge", "pilot", "node"] {
        println!("{name}");
        let calls: Vec<_> = (0..12).map(|_| site.start("rest", 3000)).collect();
        let once = site.start("rest_once", 3000);
        // More than one node has places for; on a busy machine the first may be over before the
        // last begins.
        assert!(eventually(|| site.running() > PLACES as usize), "{name}: {:?}", site.jobs());
        let before = site.pilots();
        match name {
            "step" => kill(*sruns(&slurm).first().expect("a step")),
            "bridge" => kill(site.bridges()[0]),
            "pilot" => kill(site.pilots()[0]),
            _ => slurm.node("kill", "n1"),
        }
        for call in calls {
            assert_eq!(call.wait().unwrap().scalar::<i32>("rested").unwrap(), 3000, "{name}");
        }
        // It was on one node or the other.
        assert!(once.wait().err().is_none_or(|error| error.kind() == ErrorKind::RoutineCrashed));
        assert!(eventually(|| before.iter().any(|pid| !alive(*pid))), "{name}");
    }
    ends(&slurm, &site);
}
