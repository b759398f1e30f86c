//! The store in etcd as others use it: through its node, with real members on this host.

mod encrypted;
mod losses;

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farcall_base::{ErrorKind, Result};
use farcall_kernel::{Manifest, Node};
use farcall_services::store::{SLOT, StoreHandle};
use farcall_store_battery as battery;
use farcall_store_battery::etcd::Cluster;
use farcall_store_battery::{Opened, get, put, write};
use farcall_system::key_file;
use serde_json::json;

static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A node with the plugin.
fn node(text: &str) -> Result<Node> {
    let plugin = super::plugin(|options| {
        super::construct(options, |notice| NOTICES.lock().unwrap().push(notice.to_owned()))
    });
    let text =
        format!("[[plugin]]\nname = \"store-etcd\"\nslot = \"store\"\n[plugin.options]\n{text}\n");
    Node::start(&Manifest::parse("test", &text)?, &[plugin])
}

fn open(cluster: &Cluster, options: &str) -> Opened {
    let key = cluster.folder().join("store-key");
    if !key.exists() {
        key_file::create(&key).unwrap();
    }
    let text = format!(
        "endpoints = {:?}\nkey_file = {key:?}\nplain_http = true\n{options}",
        cluster.endpoints()
    );
    let node = node(&text).unwrap();
    Opened { store: node.service::<StoreHandle>(SLOT).unwrap(), keeper: Box::new(node) }
}

#[test]
fn it_does_what_every_store_does() {
    let Some(cluster) = Cluster::begin(3) else { return };
    battery::run(&|| open(&cluster, ""));
    let opened = open(&cluster, "");
    assert!(opened.store.is_shared());
    assert!(opened.store.name().contains(&cluster.endpoints()[0]));
}

#[test]
fn two_nodes_share_a_store_and_prefixes_part_others() {
    let Some(cluster) = Cluster::begin(1) else { return };
    let one = open(&cluster, "");
    let other = open(&cluster, "");
    let apart = open(&cluster, "prefix = \"apart/\"");
    let mut told = battery::watch(&other.store, "shared/");
    write(&one.store, vec![], vec![put("shared/key", "value")]).unwrap();
    assert_eq!(get(&other.store, "shared/key").unwrap().unwrap().value, b"value");
    let changed = told.receive_timeout(battery::PATIENCE).unwrap();
    assert_eq!(changed, farcall_services::store::Changed::Put("shared/key".to_owned()));
    assert_eq!(battery::read_all(&apart.store, "", 10).unwrap(), []);
}

#[test]
fn a_value_that_was_changed_or_moved_is_named_and_reported_once() {
    let Some(cluster) = Cluster::begin(1) else { return };
    let opened = open(&cluster, "");
    write(&opened.store, vec![], vec![put("one", "a secret value"), put("two", "2")]).unwrap();
    let raw = |key: &str| STANDARD.encode(format!("farcall/{key}"));
    let answer = cluster.post(0, "/v3/kv/range", &json!({"key": raw("one")}));
    let sealed = answer["kvs"][0]["value"].as_str().unwrap().to_owned();
    let bytes = STANDARD.decode(&sealed).unwrap();
    assert!(!bytes.windows(8).any(|part| part == b"a secret"), "values are encrypted");
    let garbage = STANDARD.encode("garbage");
    for value in [&sealed, &garbage] {
        cluster.post(0, "/v3/kv/put", &json!({"key": raw("two"), "value": value}));
        for _ in 0..2 {
            let error = get(&opened.store, "two").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
            assert!(error.to_string().contains("name: farcall/two,"), "{error}");
        }
    }
    let notices = std::mem::take(&mut *NOTICES.lock().unwrap());
    let here = &cluster.endpoints()[0];
    let of_here: Vec<_> = notices.iter().filter(|notice| notice.contains(here)).collect();
    assert_eq!(of_here.len(), 2, "one for each way in which it is damaged: {of_here:?}");
    assert_eq!(get(&opened.store, "one").unwrap().unwrap().value, b"a secret value");
}

#[test]
fn without_a_key_file_for_this_user_alone_it_does_not_start() {
    let folder = std::env::temp_dir().join(format!("farcall-etcd-key-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let key = folder.join("key");
    let begin = |key: &Path| {
        let text = "endpoints = [\"http://127.0.0.1:1\"]\nplain_http = true\nkey_file =";
        node(&format!("{text} {key:?}")).map(drop).unwrap_err()
    };
    let error = begin(&key);
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("openssl rand -hex 32"), "{error}");
    key_file::create(&key).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let error = begin(&key);
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("chmod 600"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn several_requests_are_under_way_at_once() {
    let Some(cluster) = Cluster::begin(3) else { return };
    let opened = open(&cluster, "");
    let time = Duration::from_secs(2);
    let alone = battery::writes_per_second(&opened.store, 1, time);
    let many = battery::writes_per_second(&opened.store, 32, time);
    println!("writes per second: {alone:.0} one after the other, {many:.0} with 32 at a time");
    assert!(many > 1.5 * alone, "{many} and {alone}");
}
