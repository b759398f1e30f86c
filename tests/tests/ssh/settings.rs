//! What `farcall connect` tells a server elsewhere, and what is kept of it there.

use crate::ssh::far::{Far, processes_of};

/// A configuration file of the near side.
const CONFIG: &str = "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\n\
                      default = \"local\"\nlaunchers.local = { minutes = 5, queue = \"own\" }\n";

fn far() -> Far {
    let far = Far::faked("unset XDG_CONFIG_HOME", "/bin/sh");
    far.folder.write("home/env.sh", "export FARCALL_SOURCED=yes\necho noise of a script\n");
    far
}

/// The command line and the variables of the server that runs.
fn server(far: &Far) -> (String, String) {
    let all = processes_of(&far.folder.0);
    let (pid, line) = all.iter().find(|(_, line)| line.contains(" serve ")).unwrap();
    let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    (line.clone(), String::from_utf8_lossy(&variables).into_owned())
}

#[test]
fn settings_are_kept_for_every_server_that_begins_there() {
    let far = far();
    let config = far.folder.write("laptop.toml", CONFIG);
    let given = ["--account", "physics", "--time-limit", "2h", "--source", "~/env.sh"];
    let config = ["connect", "far", "--config", config.to_str().unwrap()];
    far.printed(&[&config[..], &given[..]].concat());
    for _ in 0..2 {
        let (line, variables) = server(&far);
        assert!(line.contains("--account physics --time-limit 120"), "{line}");
        assert!(line.contains("/home/.config/farcall/for-tester.laptop.toml"), "{line}");
        assert!(variables.contains("FARCALL_SOURCED=yes"), "{variables}");
        far.end();
        far.printed(&["ls"]);
    }
    let shown = far.printed(&["config", "show", "far"]);
    for (key, value, origin) in [
        ("spawner-jobs.default", "\"local\"", "for-tester.laptop.toml:5"),
        ("spawner-jobs.launchers.local.minutes", "120", "--time-limit"),
        ("spawner-jobs.launchers.local.project", "\"physics\"", "--account"),
        ("spawner-jobs.launchers.local.queue", "\"own\"", "for-tester.laptop.toml:6"),
        ("source", "~/env.sh", "--source"),
    ] {
        let row = shown.lines().find(|line| line.split_whitespace().next() == Some(key));
        let row = row.unwrap_or_else(|| panic!("{key} in {shown}"));
        assert!(row.contains(value) && row.ends_with(origin), "{row}");
    }
    far.end();
}

#[test]
fn a_server_that_runs_keeps_its_settings() {
    let far = far();
    far.printed(&["connect", "far", "--source", "~/env.sh"]);
    far.printed(&["connect", "far", "--source", "~/env.sh"]);
    far.printed(&["connect", "far"]);
    let said = far.refused(&["connect", "far", "--python", "~/venv", "--source", ""]);
    assert!(said.contains("other settings"), "{said}");
    assert!(said.contains("python=~/venv, no source"), "{said}");
    assert!(said.contains("`farcall drain --server ssh://far`"), "{said}");
    assert!(said.contains("connect again with the same options"), "{said}");
    far.end();
    far.printed(&["connect", "far", "--source", ""]);
    let (_, variables) = server(&far);
    assert!(!variables.contains("FARCALL_SOURCED"), "{variables}");
    let shown = far.printed(&["config", "show", "far"]);
    assert!(shown.contains("all settings are the defaults"), "{shown}");
    far.end();
}

#[test]
fn settings_with_which_no_server_begins_are_not_kept() {
    let far = far();
    for (given, words) in [
        (["--account", "physics"], "no launcher starts any"),
        (["--load", "no-such-module"], "no-such-module"),
        (["--source", "~/no-such-script"], "no-such-script"),
        (["--python", "/no-such-python"], "there is no such program"),
        (["--python", "~/no-such-environment"], "home/no-such-environment"),
        (["--python", "no-such-python3"], "no-such-python3"),
    ] {
        let said = far.refused(&[&["connect", "far"][..], &given[..]].concat());
        assert!(said.contains(words), "{said}");
    }
    let wrong = far.folder.write("wrong.toml", "[[plugin]\n");
    let said = far.refused(&["connect", "far", "--config", wrong.to_str().unwrap()]);
    assert!(said.contains("for-tester.laptop.toml"), "{said}");
    let shown = far.printed(&["config", "show", "far"]);
    assert!(shown.contains("all settings are the defaults"), "{shown}");
}
