//! The published modules, the simulated directory's answers, and what the routine does.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_idl::values::ByteValues;
use farcall_placement::Demand;
use farcall_services::directory::{
    ExecutableImage, ImageKind, PublishedModule, PublishedRoutine, Trust,
};
use farcall_wire::PlaceQuestion;

const IDL: &str = "Module NAME; Library \"libsimulated.so\";
Define scale(IN int n, INOUT double x[n]) \"doubles and adds one\" Calls \"C\" scale(n, x);
Define apply(IN int n, INOUT double x[n], f(IN int index, IN int n, INOUT double y[n]))
\"gives x to f, again and again\" Calls \"C\" apply(n, x, f);
DefClass Tally {
    DefMethod add(IN int n, INOUT double x[n], OUT int *calls)
    \"as scale, and counts its calls\" Calls \"C\" add(n, x, calls);
}";

/// Beside others where there are several servers.
const IDL_OF_SEVERAL: &str = "Define again(IN int n, INOUT double x[n])
\"as scale, and may run twice\" Idempotent Calls \"C\" again(n, x);";

/// What can be called in each module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Routine {
    /// Doubles an array and adds one.
    Scale,
    /// Gives an array to a function of its caller's, as often as the plan wants.
    Apply,
    /// As `Scale`, on an object, which counts its calls.
    Add,
    /// As `Scale`, and may run twice.
    Again,
}

/// The class whose method [`Routine::Add`] is.
pub const CLASS: &str = "Tally";
/// The slot of the function that [`Routine::Apply`] calls.
pub const FUNCTION: u16 = 2;

impl Routine {
    const ALL: [Routine; 4] = [Routine::Scale, Routine::Apply, Routine::Add, Routine::Again];

    /// Its name in its module.
    pub fn name(self) -> &'static str {
        match self {
            Routine::Scale => "scale",
            Routine::Apply => "apply",
            Routine::Add => "Tally.add",
            Routine::Again => "again",
        }
    }

    /// Its name in the `index`-th module.
    pub fn in_module(self, index: usize) -> String {
        format!("{}/{}", name(index), self.name())
    }

    /// The one of a full name, whatever its module.
    pub fn of(full_name: &str) -> Option<Routine> {
        let name = full_name.split_once('/')?.1;
        Routine::ALL.into_iter().find(|routine| routine.name() == name)
    }
}

/// What is published in a world: the simulated directory.
pub struct Published(BTreeMap<String, Arc<PublishedRoutine>>);

impl Published {
    /// So many modules.
    pub fn new(modules: usize, is_of_several: bool) -> Published {
        Published((0..modules).flat_map(|index| routines(index, is_of_several)).collect())
    }

    /// All of it.
    pub fn listing(&self) -> Vec<Arc<PublishedRoutine>> {
        self.0.values().cloned().collect()
    }

    /// What a metaserver is asked for a call of a routine with so many elements.
    pub fn question(&self, full_name: &str, elements: u64) -> PlaceQuestion {
        let routine = self.find(full_name).expect("it is published");
        let interface = &routine.routine.interface;
        let n = i32::try_from(elements).expect("plans ask for small arrays").to_ne_bytes();
        let given = [Some(n.as_slice()), None];
        let values = ByteValues::new(interface, given.as_slice());
        let demand = Demand::of(interface, &values, Bytes(1 << 30)).expect("it fits");
        PlaceQuestion {
            name: full_name.to_owned(),
            contract: routine.contract,
            sizes: demand.sizes,
            amount: demand.amount(),
            processors: demand.processors.unwrap_or(1),
            bytes_in: demand.bytes_in,
            bytes_out: demand.bytes_out,
            calls: 1,
            ..PlaceQuestion::default()
        }
    }

    /// The routine of a full name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn find(&self, full_name: &str) -> Result<Arc<PublishedRoutine>> {
        let missing = || Error::new(ErrorKind::NotFound, "find a routine", "no such routine");
        self.0.get(full_name).cloned().ok_or_else(missing)
    }

    /// The methods of the class of a full name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn methods(&self, full_name: &str) -> Result<Vec<Arc<PublishedRoutine>>> {
        let missing = || Error::new(ErrorKind::NotFound, "find a class", "no such class");
        let module = full_name.strip_suffix(CLASS).ok_or_else(missing)?;
        Ok(vec![self.find(&format!("{module}{}", Routine::Add.name()))?])
    }
}

/// The class of the `index`-th module.
pub fn class(index: usize) -> String {
    format!("{}/{CLASS}", name(index))
}

/// The routines of the `index`-th module, by their full names.
fn routines(
    index: usize,
    is_of_several: bool,
) -> impl Iterator<Item = (String, Arc<PublishedRoutine>)> {
    let more = if is_of_several { IDL_OF_SEVERAL } else { "" };
    let text = format!("{}{more}", IDL.replace("NAME", &name(index)));
    let compiled = farcall_idl::compile("simulated.idl", &text).expect("it is right");
    let compiled = compiled.with_methods();
    let executable = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: compiled.libraries.clone() },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: encode_module(&compiled).into(),
    };
    let generation = 1 + index as u64;
    let module = Arc::new(PublishedModule {
        name: compiled.name.clone(),
        generation,
        publication: generation,
        executable,
    });
    compiled.routines.into_iter().map(move |routine| {
        let published = PublishedRoutine {
            encoded: encode_interface(&routine.interface).into(),
            contract: contract_hash(&routine.interface),
            routine: Arc::new(routine),
            module: module.clone(),
        };
        (published.routine.interface.full_name(), Arc::new(published))
    })
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
