//! A real Slurm on this host, for tests (tools/slurm.sh).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::{Directory, root};

/// A Slurm of some nodes, n1 and so on; its end takes all that runs of it.
#[derive(Debug)]
pub struct Slurm {
    folder: Directory,
    commands: PathBuf,
}

impl Slurm {
    /// Starts one with `nodes` nodes of `processors` each, and `more` lines in its configuration.
    /// `None` where there is none to be had: tests say so and pass.
    ///
    /// # Panics
    /// When it is there, and does not start.
    pub fn start(nodes: u32, processors: u32, more: &str) -> Option<Slurm> {
        let folder = Directory::new();
        let mut command = Self::tool("start", &folder.0);
        command
            .args([nodes.to_string(), processors.to_string()])
            .env("SLURM_CONF_EXTRA", more)
            .stderr(Stdio::inherit());
        let started = command.output().expect("tools/slurm.sh can be run");
        assert!(started.status.success(), "slurm.sh start: {started:?}");
        let commands = String::from_utf8_lossy(&started.stdout).trim().to_owned();
        if commands.is_empty() {
            eprintln!("skipped: no Slurm on this machine");
            return None;
        }
        Some(Slurm { folder, commands: commands.into() })
    }

    fn tool(word: &str, folder: &Path) -> Command {
        let mut command = Command::new(root().join("tools/slurm.sh"));
        command.arg(word).arg(folder).stdin(Stdio::null());
        command
    }

    /// Has a node die, or come back: `kill` or `revive`.
    ///
    /// # Panics
    /// When that fails.
    pub fn node(&self, word: &str, node: &str) {
        let done = Self::tool(word, &self.folder.0).arg(node).status();
        assert!(done.is_ok_and(|status| status.success()), "{word} {node}");
    }

    /// What goes into a server's PATH.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.commands.display())
    }

    /// What a module must be able to read so that its MPI's launcher can start others by `srun`.
    pub fn readable(&self) -> String {
        format!("limits.readable = [{:?}]", root().join("build/slurm"))
    }

    /// What one of its commands prints, by words.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn ask(&self, words: &[&str]) -> Vec<String> {
        let Output { stdout, .. } = Command::new(self.commands.join(words[0]))
            .args(&words[1..])
            .output()
            .expect("commands of Slurm can be run");
        String::from_utf8_lossy(&stdout).split_whitespace().map(str::to_owned).collect()
    }

    /// Waits until something is so, for as long as Slurm may take: two minutes. Whether it is.
    pub fn brings(&self, mut done: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !done() {
            if Instant::now() > deadline {
                eprintln!("the queue: {:?}", self.ask(&["squeue", "--noheader"]));
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    /// The folder of its state, configuration and logs.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Self::tool("stop", &self.folder.0).status();
    }
}
