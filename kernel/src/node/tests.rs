//! Tests of the lifecycle: order, services, panics, refusals to end.

use std::sync::Mutex;

use farcall_services::mailbox::NoMessage;

use super::*;
use crate::manifest::Options;
use crate::plugin::{RunningPlugin, driver_mailbox};

/// What happened, in order; each test has its own plugin names, so that tests share the log in
/// peace.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(line: String) {
    LOG.lock().unwrap().push(line);
}

fn logged(prefix: &str) -> Vec<String> {
    let strip = |line: &String| line.strip_prefix(prefix).map(str::to_string);
    LOG.lock().unwrap().iter().filter_map(strip).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Good,
    Panics,
    FailsToStart,
    NeverEnds,
}

struct Fake {
    name: &'static str,
    provides: &'static [SlotName],
    needs: &'static [SlotName],
    behaviour: Behaviour,
}

impl Plugin for Fake {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        for slot in self.needs {
            assert_eq!(context.service::<String>(slot)?, format!("handle of {slot}"));
            assert!(context.service::<u32>(slot).is_err(), "a handle of another type is refused");
        }
        assert!(context.service::<String>("undeclared").is_err());
        if self.behaviour == Behaviour::FailsToStart {
            return Err(Error::new(ErrorKind::Unavailable, "listen", "no"));
        }
        log(format!("{} starts", self.name));
        let (_sender, mut receiver, stop) = driver_mailbox(0, ())?;
        let name = self.name;
        let behaviour = self.behaviour;
        let run = move || {
            match behaviour {
                Behaviour::Panics => panic!("for the test"),
                Behaviour::NeverEnds => std::thread::sleep(Duration::from_secs(3600)),
                _ => assert_ne!(
                    receiver.receive_timeout(Duration::from_secs(60)),
                    Err(NoMessage::Empty)
                ),
            }
            log(format!("{name} ends"));
            Ok(())
        };
        let running = RunningPlugin::new(stop, run);
        Ok(self
            .provides
            .iter()
            .fold(running, |running, slot| running.provides(slot, format!("handle of {slot}"))))
    }
}

macro_rules! fake {
    ($name:literal, $provides:expr, $needs:expr, $behaviour:ident) => {
        PluginDescription {
            name: $name,
            provides: &$provides,
            needs: &$needs,
            uses: &["extra"],
            options: "",
            construct: |options: &Options| {
                options.read::<toml::Table>()?;
                let behaviour = Behaviour::$behaviour;
                Ok(Box::new(Fake { name: $name, provides: &$provides, needs: &$needs, behaviour }))
            },
        }
    };
}

fn start(plugins: &[PluginDescription]) -> Result<Node> {
    let mut manifest = Manifest::of(plugins)?;
    manifest.limits.stop_timeout_ms = 300;
    Node::start(&manifest, plugins)
}

#[test]
fn plugins_start_by_need_and_stop_in_reverse() {
    let plugins = [fake!("order-c", ["c"], ["a", "b"], Good), fake!("order-b", ["b"], ["a"], Good)];
    let node = start(&[plugins[0], plugins[1], fake!("order-a", ["a"], [], Good)]).unwrap();
    assert_eq!(node.service::<String>("b").unwrap(), "handle of b");
    node.stop().unwrap();
    assert_eq!(
        logged("order-"),
        ["a starts", "b starts", "c starts", "c ends", "b ends", "a ends"]
    );
}

#[test]
fn of_two_plugins_for_a_slot_the_first_runs_unless_the_manifest_names_the_other() {
    let plugins = [fake!("either-a", ["s"], [], Good), fake!("either-b", ["s"], [], Good)];
    start(&plugins).unwrap().stop().unwrap();
    assert_eq!(logged("either-"), ["a starts", "a ends"]);
    let text = Manifest::default_text(&plugins);
    let comment = "\n# In place of either-a:\n#\n# [[plugin]]\n# name = \"either-b\"\n";
    assert!(text.contains(comment), "{text}");
    let named = Manifest::parse("f", "[[plugin]]\nname = \"either-b\"\nslot = \"s\"\n").unwrap();
    Node::start(&named.completed(&plugins), &plugins).unwrap().stop().unwrap();
    assert_eq!(logged("either-")[2..], ["b starts", "b ends"]);
}

#[test]
fn a_panic_is_reported_by_name_and_the_rest_stops_in_order() {
    let mut node =
        start(&[fake!("panic-a", ["a"], [], Good), fake!("panic-b", ["b"], ["a"], Panics)])
            .unwrap();
    let error = node.wait(Duration::from_secs(20)).expect("the panic arrives");
    assert_eq!(
        error.to_string(),
        "run a plugin: its thread panicked: for the test (plugin: panic-b)"
    );
    node.stop().unwrap();
    assert_eq!(logged("panic-"), ["a starts", "b starts", "a ends"]);
}

#[test]
fn a_plugin_that_fails_to_start_takes_the_started_ones_down() {
    let plugins = [fake!("fail-a", ["a"], [], Good), fake!("fail-b", ["b"], ["a"], FailsToStart)];
    let error = start(&plugins).err().unwrap();
    assert_eq!(error.to_string(), "listen: no (plugin: fail-b)");
    assert_eq!(logged("fail-"), ["a starts", "a ends"]);
}

#[test]
fn a_plugin_that_does_not_end_is_named_and_does_not_hold_the_others() {
    let plugins = [fake!("slow-a", ["a"], [], Good), fake!("slow-b", ["b"], ["a"], NeverEnds)];
    let error = start(&plugins).unwrap().stop().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("plugin: slow-b"), "{error}");
    assert_eq!(logged("slow-"), ["a starts", "b starts", "a ends"]);
}

#[test]
fn unknown_plugins_wrong_slots_and_too_many_are_refused() {
    let available = [fake!("directory", ["directory"], [], Good)];
    let refuse = |text: &str| {
        Node::start(&Manifest::parse("f", text).unwrap(), &available).err().unwrap().to_string()
    };
    let unknown = refuse("[[plugin]]\nname = \"directroy\"\nslot = \"directory\"\n");
    assert!(
        unknown.ends_with("there is no plugin \"directroy\"; did you mean \"directory\"?"),
        "{unknown}"
    );
    let slot = refuse("[[plugin]]\nname = \"directory\"\nslot = \"spawner\"\n");
    assert!(slot.ends_with("does not fill slot \"spawner\"; it fills: directory"), "{slot}");
    let many = refuse(
        "[limits]\nplugins_max = 0\n[[plugin]]\nname = \"directory\"\nslot = \"directory\"\n",
    );
    assert!(many.contains("plugins_max"), "{many}");
}
