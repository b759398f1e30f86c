//! Members that speak TLS and want a certificate from their clients.

use std::path::Path;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_services::store::{SLOT, StoreHandle};
use farcall_store_battery::{get, put, until, watch, write};
use farcall_system::key_file;

use super::node;
use farcall_store_battery::etcd::Cluster;

/// An authority, with a certificate of a member and one of a client; and another client's, which is
/// from no authority that the members know.
fn make_certificates(folder: &Path) {
    let script = r#"
        set -e; cd "$0"; umask 077
        openssl() { command openssl "$@" 2>/dev/null; }
        new() { openssl ecparam -name prime256v1 -genkey -noout -out $1.ec
            openssl pkcs8 -topk8 -nocrypt -in $1.ec -out $1.key; }
        for ca in ca other-ca; do new $ca
            openssl req -x509 -new -key $ca.key -days 2 -subj "/CN=$ca" -out $ca.pem; done
        for pair in member:ca client:ca stranger:other-ca; do name=${pair%:*}; ca=${pair#*:}
            new $name; openssl req -new -key $name.key -subj "/CN=$name" -out $name.csr
            printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' >ext
            openssl x509 -req -in $name.csr -CA $ca.pem -CAkey $ca.key -CAcreateserial -days 2 \
                -extfile ext -out $name.pem; done"#;
    let made = std::process::Command::new("bash").args(["-c", script]).arg(folder).status();
    assert!(made.unwrap().success(), "certificates are made by openssl");
}

#[test]
fn members_and_nodes_know_one_another_by_their_certificates() {
    let more = |folder: &Path| {
        make_certificates(folder);
        let of = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        [
            ("--cert-file", of("member.pem")),
            ("--key-file", of("member.key")),
            ("--trusted-ca-file", of("ca.pem")),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .chain(["--client-cert-auth".to_owned()])
        .collect()
    };
    let Some(cluster) = Cluster::begin_with(1, "https", &more) else { return };
    let folder = cluster.folder().to_owned();
    key_file::create(&folder.join("store-key")).unwrap();
    let open = |ca: &str, client: &str| {
        let path = |name: &str| folder.join(name);
        let mut text = format!(
            "endpoints = {:?}\nkey_file = {:?}\nca = {:?}\npatience_ms = 2000\n",
            cluster.endpoints(),
            path("store-key"),
            path(ca)
        );
        if !client.is_empty() {
            let certificate = path(&format!("{client}.pem"));
            let key = path(&format!("{client}.key"));
            text += &format!("certificate = {certificate:?}\nkey = {key:?}\n");
        }
        node(&text)
    };
    let right = open("ca.pem", "client").unwrap();
    let store = right.service::<StoreHandle>(SLOT).unwrap();
    until("the member is there", || write(&store, vec![], vec![put("key", "value")]).is_ok());
    assert_eq!(get(&store, "key").unwrap().unwrap().value, b"value");
    let mut told = watch(&store, "");
    write(&store, vec![], vec![put("key", "other")]).unwrap();
    told.receive_timeout(Duration::from_secs(60)).unwrap();
    for (ca, client) in [("other-ca.pem", "client"), ("ca.pem", "stranger"), ("ca.pem", "")] {
        let wrong = open(ca, client).unwrap();
        let store = wrong.service::<StoreHandle>(SLOT).unwrap();
        let error = get(&store, "key").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{ca} {client}: {error}");
        // A member that refuses a certificate closes the connection, perhaps without a word.
        assert!(
            ca == "ca.pem" || error.to_string().contains("invalid peer certificate"),
            "{error}"
        );
    }
    // The private key is a secret, too.
    let key = folder.join("client.key");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let error = open("ca.pem", "client").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    let error = open("client.key", "").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource, "{error}");
}
