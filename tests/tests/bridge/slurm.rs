//! The same through a real Slurm with some nodes: one `srun` for each of a job.

use std::path::PathBuf;
use std::process::{Command, Output};

use farcall_client::{ErrorKind, HoldOptions};
use farcall_tests::{Directory, alive, eventually, program, root};

use super::site::{PATIENCE, Site, kill, processes};

struct Slurm {
    folder: Directory,
    bin: String,
}

impl Slurm {
    /// `None` where no Slurm is to be had.
    fn start() -> Option<Slurm> {
        let folder = Directory::new();
        let started = slurm(&folder, &["start"], &["6", "8"]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let bin = String::from_utf8(started.stdout).unwrap().trim().to_owned();
        (!bin.is_empty()).then_some(Slurm { folder, bin })
    }

    fn site(&self) -> Site {
        let path = format!("PATH={}:{}", self.bin, std::env::var("PATH").unwrap());
        let quick = "\"--interval-min\", \"0.2\", \"--interval-max\", \"0.5\"";
        let command = format!("[\"env\", {path:?}, {:?}, \"launch\", \"slurm\", {quick}]", program());
        let settings = format!("command = {command}, dial = \"stdio\", idle_seconds = 3");
        Site::new(&format!("modules.far = \"slurm\"\nlaunchers.slurm = {{ {settings} }}"))
    }

    fn queue(&self) -> String {
        let squeue = PathBuf::from(&self.bin).join("squeue");
        String::from_utf8(Command::new(squeue).arg("-h").output().unwrap().stdout).unwrap()
    }

    fn end(&self, site: &Site) {
        assert!(eventually(|| site.jobs().is_empty()));
        site.leaves_nothing();
        assert!(eventually(|| self.queue().is_empty()), "{}", self.queue());
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        slurm(&self.folder, &["stop"], &[]);
    }
}

fn slurm(folder: &Directory, action: &[&str], more: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg("180").arg(root().join("tools/slurm.sh")).args(action).arg(folder.0.join("slurm")).args(more);
    command.output().unwrap()
}

fn sruns(slurm: &Slurm) -> Vec<u32> {
    let folder = slurm.folder.0.display().to_string();
    let is_ours = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&folder)
    };
    processes(|words| words.contains("--jobid=") && words.contains("\0--overlap\0"))
        .into_iter()
        .filter(is_ours)
        .collect()
}

#[test]
fn nodes_of_slurm_need_no_way_to_the_login_node() {
    let Some(slurm) = Slurm::start() else { return };
    let site = slurm.site();
    let hold = site.client.hold("place", 12, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let mut pilots: Vec<u32> = hold.ids().map(|id| site.place(Some(id)).pilot).collect();
    pilots.sort_unstable();
    pilots.dedup();
    assert_eq!((pilots.len(), site.bridges().len(), site.jobs().len()), (2, 2, 1), "a pilot on each node");
    // 64 MB both ways, while another rests.
    let rest = site.start("rest_once", 1000);
    site.flip(8 << 20);
    rest.wait().unwrap();
    hold.release(Some(PATIENCE)).unwrap();
    slurm.end(&site);
}

#[test]
fn what_ends_between_takes_its_node_alone() {
    let Some(slurm) = Slurm::start() else { return };
    let site = slurm.site();
    // The step of a node, what leads it here, its program, and the node itself.
    for name in ["step", "bridge", "pilot", "node"] {
        println!("{name}");
        let calls: Vec<_> = (0..12).map(|_| site.start("rest", 3000)).collect();
        let once = site.start("rest_once", 3000);
        assert!(eventually(|| site.running() == 13), "{name}: {:?}", site.jobs());
        let before = site.pilots();
        match name {
            "step" => kill(*sruns(&slurm).first().expect("a step")),
            "bridge" => kill(site.bridges()[0]),
            "pilot" => kill(site.pilots()[0]),
            _ => drop(self::slurm(&slurm.folder, &["kill"], &["n1"])),
        }
        for call in calls {
            assert_eq!(call.wait().unwrap().scalar::<i32>("rested").unwrap(), 3000, "{name}");
        }
        // It was on one node or the other.
        assert!(once.wait().err().is_none_or(|error| error.kind() == ErrorKind::RoutineCrashed));
        assert!(eventually(|| before.iter().any(|pid| !alive(*pid))), "{name}");
    }
    slurm.end(&site);
}
