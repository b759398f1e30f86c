//! What a module is when it is served.

use crate::interface::{Module, NORMAL, Routine};

impl Module {
    /// Whether it has a routine that runs in several processes that MPI starts.
    pub fn is_parallel(&self) -> bool {
        self.routines.iter().any(|routine| routine.implementation.is_parallel())
    }

    /// Its routines with one process each, and those that MPI starts several of: a program is one
    /// or the other. What has no routines is left out.
    pub fn by_backend(self) -> Vec<Module> {
        let empty = Module { routines: Vec::new(), ..self.clone() };
        let (parallel, normal): (Vec<Routine>, Vec<Routine>) =
            self.routines.into_iter().partition(|routine| routine.implementation.is_parallel());
        let parts =
            [normal, parallel].into_iter().map(|routines| Module { routines, ..empty.clone() });
        let parts: Vec<Module> = parts.filter(|part| !part.routines.is_empty()).collect();
        if parts.is_empty() { vec![empty] } else { parts }
    }

    /// The module as it is served: its classes' methods are routines `Class.method` behind the
    /// others, in their order. The classes keep what their methods share.
    pub fn with_methods(mut self) -> Module {
        for class in &mut self.classes {
            for mut method in std::mem::take(&mut class.methods) {
                method.interface.name = format!("{}.{}", class.name, method.interface.name);
                method.interface.class.clone_from(&class.name);
                method.interface.class_doc.clone_from(&class.doc);
                if method.implementation.backend == NORMAL {
                    method.implementation.backend.clone_from(&class.backend);
                }
                self.routines.push(method);
            }
        }
        self
    }
}
