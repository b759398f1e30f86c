//! Which files are the server's own, and not for its modules.

use std::path::Path;

use farcall_authority::authority_folder;
use farcall_publishing::exposed::{CONFIGURATION, OwnFile};
use farcall_rpc_server::Options;

use crate::transports::{server_files, token_file};

/// What a server with these options keeps from its modules.
pub fn own_files(options: &Options, manifest: Option<&Path>) -> Vec<OwnFile> {
    let files = server_files(options);
    let authority = authority_folder();
    let mut own = vec![
        OwnFile::new("the authority's key", authority.join("authority.pem")),
        OwnFile::new("the authority's list of certificates", authority.join("issued.json")),
        OwnFile::new("the users' keys", authority.join("users")),
        OwnFile::new("the server's credentials", files.credentials),
        OwnFile::new("the list of revoked certificates", files.revocations),
        OwnFile::new("the token of TCP clients", token_file(options)),
        OwnFile::new("the tickets of jobs", farcall_spawner_jobs::default_folder()),
    ];
    own.extend(
        farcall_transport_tls::default_credentials()
            .into_iter()
            .map(|place| OwnFile::new("this user's credentials", place)),
    );
    own.extend(
        farcall_rpc_server::results_folder(options)
            .map(|folder| OwnFile::new("results of kept calls", folder)),
    );
    own.extend(manifest.map(|manifest| OwnFile::new(CONFIGURATION, manifest)));
    if !options.audit_file.is_empty() {
        own.push(OwnFile::new("the audit log", &options.audit_file));
    }
    own
}
