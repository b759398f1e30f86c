//! What the generated code of the references had around a body, and old bodies rely on.

use farcall_idl::Dialect;
use farcall_idl::interface::{ElementType, Parameter, Routine, Shape};

use super::declaration::renamed;
use super::has_word;

/// The name of Ninf-G's variable for what a poll function says.
const ERROR: &str = "error";
/// The labels of its generated code behind a body; the second for MPI.
const ENDS: [&str; 2] = ["ng_stub_end", "ng_stub_mpi_end"];
/// Its variable for the rank that runs the body.
const RANK: &str = "ng_stub_rank";

/// What stands before a body and behind it.
#[derive(Default)]
pub(super) struct Surroundings {
    pub before: String,
    pub behind: String,
}

impl Surroundings {
    pub fn of(dialect: Dialect, routine: &Routine, body: &str) -> Surroundings {
        let mut given = Surroundings::default();
        if !dialect.is_old() {
            return given;
        }
        let interface = &routine.interface;
        let is_parameter = |name: &str| interface.parameters.iter().any(|one| one.name == name);
        if has_word(body, ERROR) && !is_parameter(ERROR) {
            given.before.push_str(" grpc_error_t error = GRPC_NO_ERROR; (void)error; {");
            given.behind.push_str("} ");
        }
        if has_word(body, RANK) && !is_parameter(RANK) {
            let ask = "MPI_Comm_rank(MPI_COMM_WORLD, &ng_stub_rank); ";
            let ask = if routine.implementation.is_parallel() { ask } else { "" };
            given.before.push_str(&format!(" int ng_stub_rank = 0; {ask}{{"));
            given.behind.push_str("} ");
        }
        for end in ENDS.into_iter().filter(|end| has_word(body, end)) {
            given.behind.push_str(&format!("{end}: ; "));
        }
        if dialect == Dialect::Ninf {
            interface.parameters.iter().filter_map(pointer).for_each(|it| given.before += &it);
        }
        given
    }
}

/// The first Ninf gave bodies a complex number as a pointer to its parts.
fn pointer(parameter: &Parameter) -> Option<String> {
    let part = match parameter.element {
        ElementType::Complex64 => "float",
        ElementType::Complex128 => "double",
        _ => return None,
    };
    let name = &parameter.name;
    let is_value = parameter.shape == Shape::Scalar && !parameter.mode.is_output();
    let place = if is_value { "&" } else { "" };
    Some(format!(" {part} *{name} = ({part} *){place}{};", renamed(name)))
}
