//! Members of etcd on this host, for tests of what uses them. What goes wrong here ends the test.

#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// One cluster at a time: each has several processes that wait for the disk.
static ONE: Mutex<()> = Mutex::new(());
static LAST: AtomicU32 = AtomicU32::new(0);
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments that all members have beside their addresses.
pub type More<'a> = &'a dyn Fn(&Path) -> Vec<String>;

/// A cluster; its members end with it.
pub struct Cluster {
    folder: PathBuf,
    scheme: &'static str,
    /// Of clients and of other members.
    ports: Vec<(u16, u16)>,
    members: Vec<Option<Child>>,
    more: Vec<String>,
    _one: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Starts members and waits until they have a leader. `None`, with a word about it, where there
    /// is no etcd.
    pub fn begin(count: usize) -> Option<Cluster> {
        let cluster = Cluster::begin_with(count, "http", &|_| Vec::new())?;
        cluster.await_leader();
        Some(cluster)
    }

    /// The same with more arguments, and without the wait.
    pub fn begin_with(count: usize, scheme: &'static str, more: More<'_>) -> Option<Cluster> {
        let version = Command::new("etcd").arg("--version").output();
        if !version.is_ok_and(|version| version.status.success()) {
            println!("skipped: there is no etcd here (tools/install-packages.sh tests)");
            return None;
        }
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("farcall-etcd-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        // All at a time, so that they differ.
        let free: Vec<TcpListener> =
            (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = free.iter().map(|one| one.local_addr().unwrap().port()).collect();
        drop(free);
        let ports = ports.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        let members = (0..count).map(|_| None).collect();
        let more = more(&folder);
        let mut cluster = Cluster { folder, scheme, ports, members, more, _one: one };
        (0..count).for_each(|index| cluster.start(index));
        Some(cluster)
    }

    /// Where members have their data, and a test its own files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where clients reach its members.
    pub fn endpoints(&self) -> Vec<String> {
        let url = |(client, _): &(u16, u16)| format!("{}://127.0.0.1:{client}", self.scheme);
        self.ports.iter().map(url).collect()
    }

    /// Starts a member, with what it had before.
    pub fn start(&mut self, index: usize) {
        let peer = |index: usize| format!("http://127.0.0.1:{}", self.ports[index].1);
        let all = (0..self.ports.len()).map(|index| format!("m{index}={}", peer(index)));
        let all = all.collect::<Vec<_>>().join(",");
        let client = self.endpoints()[index].clone();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("m{index}.log")))
            .unwrap();
        // A test that is killed takes its members with it.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "etcd", "--name", &format!("m{index}")])
            .arg("--data-dir")
            .arg(self.folder.join(format!("m{index}")))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer(index)])
            .args(["--initial-advertise-peer-urls", &peer(index)])
            .args(["--initial-cluster", &all, "--initial-cluster-state", "new"])
            .args(&self.more)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.members[index] = Some(child);
    }

    /// Kills a member by SIGKILL.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut member) = self.members[index].take() {
            member.kill().unwrap();
            member.wait().unwrap();
        }
    }

    /// Asks a member.
    pub fn post(&self, index: usize, path: &str, message: &Value) -> Value {
        self.try_post(index, path, message).unwrap()
    }

    fn try_post(&self, index: usize, path: &str, message: &Value) -> Result<Value, String> {
        let request = ureq::post(format!("{}{path}", self.endpoints()[index]));
        let request = request.config().timeout_global(Some(Duration::from_secs(2))).build();
        let mut answer = request.send(message.to_string()).map_err(|error| error.to_string())?;
        let text = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Which member leads the others.
    pub fn leader(&self) -> Option<usize> {
        (0..self.members.len()).filter(|index| self.members[*index].is_some()).find(|index| {
            self.try_post(*index, "/v3/maintenance/status", &json!({})).is_ok_and(|status| {
                let leader = status["leader"].as_str().unwrap_or("0").to_owned();
                leader != "0" && status["header"]["member_id"] == *leader
            })
        })
    }

    /// The leader, once there is one.
    pub fn await_leader(&self) -> usize {
        let begin = Instant::now();
        loop {
            // One that leads and is able to read has more than half of the members.
            let leader = self.leader().filter(|leader| {
                let answer = self.try_post(*leader, "/v3/kv/range", &json!({"key": "YQ=="}));
                answer.is_ok_and(|answer| answer.get("header").is_some())
            });
            match leader {
                Some(leader) => return leader,
                None => assert!(begin.elapsed() < PATIENCE, "etcd has no leader"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|index| self.kill(index));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
