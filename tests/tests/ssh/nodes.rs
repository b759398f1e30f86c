//! Login nodes: two hosts with names, runtime folders and an `sshd` of their own, one home, and one
//! name that leads to either.

use std::process::{Command, Stdio};

use farcall_tests::{eventually, trouble};

use super::far::{Far, free_port, has_namespaces, kill, processes_of, sshd};

struct Nodes {
    far: Far,
    ports: [u16; 2],
}

impl Nodes {
    /// Two of them; `None` where that cannot be had.
    fn new() -> Option<Nodes> {
        let sshd = has_namespaces().then(sshd)??;
        let mut far = Far::unreached();
        far.make_keys("");
        let place = far.folder.0.display().to_string();
        let ports = [free_port(), free_port()];
        for (number, port) in (1..).zip(ports) {
            let file =
                far.sshd_file(&format!("sshd{number}"), port, &format!("FARCALL_SSH={place}/hop"));
            let node = format!(
                "echo login{number} >/proc/sys/kernel/hostname && mount -t tmpfs -o mode=700 none \
                 {place}/run && exec {} -D -f {} -E {place}/log{number}",
                sshd.display(),
                file.display()
            );
            let mut command = Command::new("unshare");
            far.sshds.push(
                command.args(["-um", "/bin/sh", "-c", &node]).stdin(Stdio::null()).spawn().unwrap(),
            );
        }
        far.client_file(&format!(
            "Host login1\n Port {}\nHost login2\n Port {}\n",
            ports[0], ports[1]
        ));
        far.script(
            "ssh",
            &format!("#!/bin/sh\nexec ssh -F {place}/config -p $(cat {place}/port) \"$@\"\n"),
        );
        far.script("hop", &format!("#!/bin/sh\nexec ssh -F {place}/config \"$@\"\n"));
        eventually(|| {
            ports.iter().all(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok())
        });
        let nodes = Nodes { far, ports };
        nodes.lead_to(1);
        Some(nodes)
    }

    /// The name leads to this node from now on.
    fn lead_to(&self, number: usize) {
        self.far.folder.write("port", &self.ports[number - 1].to_string());
    }

    /// Ends the server. Nothing runs there any more then, and nothing but the program and what it
    /// brought is there.
    fn end(&self) {
        self.far.printed(&["drain"]);
        eventually(|| processes_of(&self.far.home()).is_empty());
        self.far.holds_only_its_cache("home/");
    }
}

#[test]
fn another_login_node_finds_the_server() {
    let Some(nodes) = Nodes::new() else { return };
    nodes.far.printed(&["publish", trouble(false).to_str().unwrap()]);
    nodes.lead_to(2);
    assert!(nodes.far.printed(&["connect", "far"]).contains("trouble"), "the same server");
    let solved = nodes.far.printed(&["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"]);
    assert!(solved.contains("0.0909"), "{solved}");
    nodes.end();
    nodes.far.printed(&["publish", trouble(false).to_str().unwrap()]);
    nodes.lead_to(1);
    assert!(nodes.far.printed(&["ls"]).contains("trouble/fine"), "the other way round");
    nodes.end();
}

#[test]
fn a_lost_connection_comes_back_over_another_node() {
    let Some(nodes) = Nodes::new() else { return };
    nodes.far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = nodes.far.command(&["call", "trouble/hold", "[1, 2]", "3000"]).spawn().unwrap();
    nodes.far.is_calling();
    nodes.lead_to(2);
    let sessions = super::children_of(nodes.far.sshds[0].id());
    assert!(!sessions.is_empty(), "the call's connection is there");
    kill(&sessions);
    let done = call.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    nodes.end();
}

#[test]
fn a_node_that_is_not_reached_from_the_other_is_named() {
    let Some(nodes) = Nodes::new() else { return };
    nodes.far.printed(&["ls"]);
    nodes.lead_to(2);
    nodes.far.script("hop", "#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n");
    let said = nodes.far.refused(&["ls"]);
    assert!(said.contains("are on login1, which login2 cannot reach"), "{said}");
    assert!(
        said.contains("connect to login1 itself") && said.contains("Host key verification failed."),
        "{said}"
    );
    // Killed, with all that it began, it has left its record: who gets there learns that nobody is
    // there.
    let place = nodes.far.folder.0.display();
    kill(&processes_of(&nodes.far.home()).into_iter().map(|(pid, _)| pid).collect::<Vec<_>>());
    nodes.far.script("hop", &format!("#!/bin/sh\nexec ssh -F {place}/config \"$@\"\n"));
    assert!(nodes.far.printed(&["ls"]).contains("blas/ddot"), "another server began");
    nodes.end();
}
