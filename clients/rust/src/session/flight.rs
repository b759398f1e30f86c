//! A call under way on the client's side: where its results go, and what became of it.

use std::sync::Arc;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Parameter};
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_link::memory::{Region, Space};
use farcall_link::packing::Packing;
use farcall_transport_unix::copy::prepare;
use farcall_wire::{Argument as WireArgument, CallResult};
use rustc_hash::FxHashMap;

use super::array_result::{ArrayResult, without_memory};
use super::asked::Call;
use super::incoming::{Expected, Incoming};
use crate::contract::Contract;
use crate::files::SentFile;
use crate::lending::Wanted;
use crate::marshal::{
    Marshalled, Memory, OwnMemory, Prepared, ResultCopy, Shared, Side, Slots, marshal, packed,
    receive_result,
};
use crate::results::{CompressedArray, Output, Outputs, Seldom};

/// What came of a call that went well.
pub struct Came {
    pub outputs: Outputs,
    /// What is to be copied before they are the caller's.
    pub copies: Vec<ResultCopy>,
}

/// What the data of a call move through.
pub enum InFlight {
    /// Nothing: its values lie in its message, and its results should.
    Short(Arc<Prepared>),
    /// What was marshalled.
    Long(Box<Flight>),
}

/// What the data of a call move through whose arguments were marshalled.
pub struct Flight {
    pub data: Marshalled,
    pub after: Option<Arc<CallLayout>>,
    pub receiving: FxHashMap<u16, (Packing, Option<Arc<dyn Region>>)>,
    /// Files that come, by parameter, and those that have come and replace the caller's if all goes
    /// well.
    pub files: Incoming,
}

impl InFlight {
    pub fn new(data: Marshalled) -> InFlight {
        InFlight::Long(Box::new(Flight {
            data,
            after: None,
            receiving: FxHashMap::default(),
            files: Incoming::default(),
        }))
    }

    /// What was marshalled, if that was needed.
    pub fn long(&self) -> Option<&Flight> {
        match self {
            InFlight::Short(_) => None,
            InFlight::Long(flight) => Some(flight),
        }
    }

    /// What was marshalled, if that was needed.
    pub fn long_mut(&mut self) -> Option<&mut Flight> {
        match self {
            InFlight::Short(_) => None,
            InFlight::Long(flight) => Some(flight),
        }
    }

    /// The answer's head came: where do its data go?
    pub fn prepare_results(&mut self, call: &Call, result: &CallResult) -> Result<()> {
        if let InFlight::Short(prepared) = self {
            if prepared.takes(&result.results) {
                return Ok(());
            }
            // The server answers as it does to any call.
            let slots = Slots::default();
            let limit = prepared.limit();
            *self = InFlight::new(marshal(
                &call.contract,
                &call.passed,
                &[],
                (limit, slots),
                &mut Unshared,
            )?);
        }
        self.long_mut().map_or(Ok(()), |flight| flight.prepare_results(&call.contract, result))
    }

    /// What the call came to.
    pub fn outcome(&mut self, id: CallId, call: &Call, result: &mut CallResult) -> Result<Came> {
        let contract = &call.contract;
        if let Some(failure) = result.failure.take() {
            if let Some(error) = self.long().and_then(Flight::trouble_of_files) {
                return Err(error.with("routine", &contract.name));
            }
            let error = Error::from(failure).began(result.times.started_ns != 0);
            return Err(error.with("routine", &contract.name).with("call", id));
        }
        contract.pace.took(result.times.finished_ns.saturating_sub(result.times.started_ns));
        match self {
            InFlight::Short(prepared) => {
                let outputs = prepared.outputs(contract, &call.passed, &result.results)?;
                let outputs = Outputs {
                    interface: contract.interface.clone(),
                    outputs,
                    times: result.times,
                    seldom: None,
                    server: None,
                };
                Ok(Came { outputs, copies: Vec::new() })
            }
            InFlight::Long(flight) => flight.came(contract, result),
        }
    }
}

/// Memory that nothing is shared through.
struct Unshared;

impl Memory for Unshared {
    fn shares(&self) -> bool {
        false
    }

    fn share(&mut self, _: usize) -> Result<Option<Shared>> {
        Ok(None)
    }

    fn lend(&mut self, _: &Wanted) -> Result<Option<OwnMemory>> {
        Ok(None)
    }
}

impl Flight {
    /// What the server may use until it says that the call is over, under the numbers that it
    /// knows.
    pub fn shared_memory(self) -> Vec<Shared> {
        self.data.own.iter().for_each(|own| own.take_back());
        let shared = |(_, side): (usize, Side)| {
            Some(Shared { region: side.region?, segment: side.segment? })
        };
        self.data.sides.into_iter().filter_map(shared).collect()
    }

    /// The server is done with the program's own memory.
    pub fn give_own_back(&mut self) -> Result<()> {
        self.data.own.iter().try_for_each(|own| own.over())
    }

    /// Whether the server may have written to the program's own memory.
    pub fn may_be_written(&self) -> bool {
        self.data.own.iter().any(|own| own.may_be_written())
    }

    /// What came of its results comes again.
    pub fn forget_results(&mut self) {
        self.after = None;
        self.receiving.clear();
        self.files = Incoming::default();
    }

    /// Whether arrays of it passed through the connection.
    pub fn moved_arrays(&self) -> bool {
        let sent = !self.data.sending.is_empty() || !self.data.files.is_empty();
        sent || !self.receiving.is_empty() || self.files.progress().0 > 0
    }

    /// The answer's head came: where do its data go?
    pub fn prepare_results(&mut self, contract: &Contract, result: &CallResult) -> Result<()> {
        let interface = &contract.interface;
        if result.results.len() != interface.parameters.len() {
            return Err(Error::new(
                ErrorKind::Protocol,
                "receive the results",
                "the server sent the wrong number of results",
            ));
        }
        let bytes = result.results.iter().map(inline_bytes);
        self.after = contract.sizer.resolve_results(interface, bytes, &self.data.layout)?;
        let layout = self.after.as_ref().unwrap_or(&self.data.layout);
        for (slot, (argument, layout)) in result.results.iter().zip(&layout.parameters).enumerate()
        {
            let WireArgument::Blocks(length) = argument else { continue };
            let named = |error: Error| error.with("parameter", &interface.parameters[slot].name);
            let ParameterLayout::Array(array) = layout else {
                let expected = Expected::of(slot, &interface.parameters[slot], layout);
                self.files.expect(&self.data, expected, *length).map_err(named)?;
                continue;
            };
            let side = self.data.side(slot);
            let (Some(side), true) = (side, *length == Some(array.transfer_bytes)) else {
                let message = "an array arrived in a form that was not requested";
                return Err(named(Error::new(ErrorKind::Protocol, "receive the results", message)));
            };
            let receiving = match (&side.written, &side.region) {
                (Some(view), _) => (receive_result(view, array).map_err(named)?, None),
                (None, Some(region)) => {
                    (Packing::new(region.clone(), 0, &packed(array))?, Some(region.clone()))
                }
                (None, None) => return Err(named(without_memory())),
            };
            self.receiving.insert(slot as u16, receiving);
        }
        Ok(())
    }

    /// Where the next bytes of a result go, at most `max`; `None`: nowhere.
    pub fn result_space(&mut self, slot: u16, max: usize) -> Option<Result<Space>> {
        match self.receiving.get_mut(&slot) {
            Some((packing, _)) => {
                let mut space = packing.space(max);
                let _ = space.as_mut().map(prepare);
                Some(space)
            }
            None => self.files.coming(slot).map(|coming| coming.space(max)),
        }
    }

    /// So many of them are there.
    pub fn result_arrived(&mut self, slot: u16, count: usize) -> Result<()> {
        match self.receiving.get_mut(&slot) {
            Some((packing, _)) => packing.arrived(count),
            None => self.files.coming(slot).map_or(Ok(()), |coming| coming.arrived(count)),
        }
    }

    /// What was wrong with a file that was sent.
    fn trouble_of_files(&self) -> Option<Error> {
        self.data.files.iter().find_map(SentFile::trouble)
    }

    /// What came of a call that went well.
    fn came(&mut self, contract: &Contract, result: &mut CallResult) -> Result<Came> {
        let compressed = self.compressed();
        let mut outputs = Vec::with_capacity(result.results.len());
        let mut copies = Vec::new();
        for (slot, argument) in result.results.drain(..).enumerate() {
            let parameter = &contract.interface.parameters[slot];
            let output = self.output(parameter, slot, argument, &mut copies);
            outputs.push(output.map_err(|error| error.with("parameter", &parameter.name))?);
        }
        self.files.replace()?;
        let outputs = Outputs {
            interface: contract.interface.clone(),
            outputs,
            times: result.times,
            seldom: (!compressed.is_empty())
                .then(|| Box::new(Seldom { compressed, ..Seldom::default() })),
            server: None,
        };
        Ok(Came { outputs, copies })
    }

    /// Its arrays that travelled compressed.
    fn compressed(&self) -> Vec<CompressedArray> {
        if self.data.sending.is_empty() && self.receiving.is_empty() {
            return Vec::new();
        }
        let sent =
            self.data.sending.iter().map(|(parameter, packing)| (*parameter, false, packing));
        let came =
            self.receiving.iter().map(|(slot, (packing, _))| (usize::from(*slot), true, packing));
        let arrays = sent.chain(came).filter(|(.., packing)| packing.saved.bytes > 0);
        let told = |(parameter, is_result, packing): (usize, bool, &Packing)| CompressedArray {
            parameter,
            is_result,
            bytes: packing.bytes(),
            saved: packing.saved,
        };
        arrays.map(told).collect()
    }

    fn output(
        &mut self,
        parameter: &Parameter,
        slot: usize,
        argument: WireArgument,
        copies: &mut Vec<ResultCopy>,
    ) -> Result<Output> {
        if !parameter.mode.is_output() {
            return Ok(Output::None);
        }
        let layout = &self.after.as_ref().unwrap_or(&self.data.layout).parameters[slot];
        match layout {
            ParameterLayout::Array(layout) => {
                let array = ArrayResult {
                    element: parameter.element,
                    layout,
                    rank: self.data.rank(slot),
                    side: self.data.side(slot),
                };
                let receiving = &mut self.receiving;
                let came_into = || receiving.remove(&(slot as u16)).and_then(|(_, region)| region);
                array.output(argument, came_into, copies)
            }
            ParameterLayout::Text | ParameterLayout::TextArray { .. }
                if parameter.element == ElementType::Filename
                    || matches!(argument, WireArgument::Blocks(_)) =>
            {
                self.files.take(&self.data, Expected::of(slot, parameter, layout), argument)
            }
            ParameterLayout::Text => Ok(text_output(argument)),
            ParameterLayout::TextArray { .. } => Ok(texts_output(argument)),
            _ => Ok(Output::None),
        }
    }
}

fn text_output(argument: WireArgument) -> Output {
    Output::Text(match argument {
        WireArgument::Inline(bytes) => Some(bytes.into_vec()),
        _ => None,
    })
}

fn texts_output(argument: WireArgument) -> Output {
    match argument {
        WireArgument::Texts(texts) => {
            Output::Texts(texts.into_iter().map(|text| text.map(Into::into)).collect())
        }
        _ => Output::Null,
    }
}

fn inline_bytes(argument: &WireArgument) -> Option<&[u8]> {
    match argument {
        WireArgument::Inline(bytes) => Some(bytes),
        _ => None,
    }
}

/// What a call hears that found no room in time.
pub(super) fn too_late(contract: &Contract) -> Error {
    let message = "timed out before the server could accept another call of this connection";
    Error::new(ErrorKind::TimedOut, "call", message)
        .with("routine", &contract.name)
        .fix("raise timeout=, or start fewer calls at the same time")
        .retryable()
}
