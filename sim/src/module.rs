//! The published modules, the simulated directory's answers, and what the routine does.

use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_services::directory::{
    ExecutableImage, ImageKind, PublishedModule, PublishedRoutine, Trust,
};

const IDL: &str = "Module NAME; Library \"libsimulated.so\";
Define scale(IN int n, INOUT double x[n]) \"doubles and adds one\" Calls \"C\" scale(n, x);";

/// The routine of the `index`-th module.
///
/// # Errors
/// None, unless the interface language changed under us.
pub fn routine(index: usize) -> Result<Arc<PublishedRoutine>> {
    let text = IDL.replace("NAME", &name(index));
    let compiled = farcall_idl::compile("simulated.idl", &text).map_err(Error::from)?;
    let executable = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: compiled.libraries.clone() },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        launcher: String::new(),
        module_text: encode_module(&compiled).into(),
    };
    let generation = 1 + index as u64;
    let module = PublishedModule {
        name: compiled.name.clone(),
        generation,
        publication: generation,
        executable,
    };
    let routine = compiled.routines.into_iter().next().expect("the module has one routine");
    Ok(Arc::new(PublishedRoutine {
        encoded: encode_interface(&routine.interface).into(),
        contract: contract_hash(&routine.interface),
        routine: Arc::new(routine),
        module: Arc::new(module),
    }))
}

/// A module's name.
pub fn name(index: usize) -> String {
    format!("m{index}")
}

/// The array that a client sends with its `number`-th call.
pub fn argument(number: u64, elements: u64) -> Vec<u8> {
    (0..elements).flat_map(|index| ((number * 1_000_003 + index) as f64).to_ne_bytes()).collect()
}

/// What the routine makes of it.
pub fn scale(bytes: &[u8]) -> Vec<u8> {
    let value = |chunk: &[u8]| f64::from_ne_bytes(chunk.try_into().expect("chunks of eight"));
    bytes.chunks_exact(8).flat_map(|chunk| (2.0 * value(chunk) + 1.0).to_ne_bytes()).collect()
}
