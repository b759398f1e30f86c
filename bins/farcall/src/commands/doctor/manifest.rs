//! What a server's manifest says, and what it lets modules open that is not for them.

use std::path::Path;

use farcall_base::Result;
use farcall_kernel::{Manifest, Node};
use farcall_services::directory::{ImageKind, Trust};
use farcall_services::spawner;
use farcall_spawner_local::{Inspected, Inspector};

use super::Finding;
use super::host::trouble;
use crate::own_files::own_files;
use crate::serve::{plugins, server_options};
use crate::transports::given;
use farcall_publishing::exposed::exposed;

/// Whether a server would start with it, and what it opens. Nothing is known here of what lies
/// beside modules: that is said when they are published.
pub fn findings(path: &Path) -> Vec<Finding> {
    match granted(path) {
        Ok(lines) if lines.is_empty() => {
            vec![Finding::good(
                "manifest",
                "it has no mistakes, and no module may open a file of the server",
            )]
        }
        Ok(lines) => {
            let fix = "use other directories in readable and writable, or move the file";
            lines.into_iter().map(|line| Finding::warning("manifest", line, fix)).collect()
        }
        Err(error) => vec![trouble("manifest", &error)],
    }
}

fn granted(path: &Path) -> Result<Vec<String>> {
    let manifest = Manifest::load(path)?.completed(&plugins());
    Node::check(&manifest, &plugins(), &given(farcall_rpc_server::Options::default()))?;
    let own = own_files(&server_options(&manifest)?, Some(path));
    let spawner = manifest.plugins.iter().find(|entry| entry.slot == spawner::SLOT);
    let inspector =
        spawner.map_or_else(|| Ok(Inspector::default()), |entry| Inspector::new(&entry.options))?;
    let grants = |module| {
        let kind = ImageKind::GenericHost { libraries: Vec::new() };
        inspector.grants(Inspected {
            module,
            kind,
            readable: Vec::new(),
            listed: Vec::new(),
            trust: Trust::Confined,
        })
    };
    let of_all = grants("");
    let mut lines = exposed("every module", &of_all, &own);
    for module in inspector.modules() {
        let of_module = grants(module);
        if of_module != of_all {
            lines.extend(exposed(&format!("module {module}"), &of_module, &own));
        }
    }
    Ok(lines)
}
