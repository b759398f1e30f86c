//! What the directory is to know of a module, or of a part of one.

use std::sync::Arc;

use farcall_executable::image::{listed_folders, loaded_files};
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_idl::interface::Module;
use farcall_services::directory::{ExecutableImage, ImageKind, Part, RoutineData, Trust};

/// What the directory is to know of a module, or of a part of one, that this image runs.
pub fn part(module: Module, kind: ImageKind) -> Part {
    let backend =
        module.routines.first().map(|r| r.implementation.backend.clone()).unwrap_or_default();
    let executable = ExecutableImage {
        readable: loaded_files(&kind),
        listed: listed_folders(&kind),
        trust: Trust::Confined,
        kind,
        environment: Vec::new(),
        backend,
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: module.executables_max,
        module_text: encode_module(&module).into(),
    };
    // What begins and ends an object is called by no client.
    let called = module.routines.into_iter().filter(|routine| !routine.interface.is_hook());
    let routines = called.map(|routine| RoutineData {
        encoded: encode_interface(&routine.interface).into(),
        contract: contract_hash(&routine.interface),
        routine: Arc::new(routine),
    });
    Part { routines: routines.collect(), executable }
}
