//! What a call gave back.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Interface, Order};
use farcall_idl::layout::ArrayLayout;
use farcall_idl::scalar::ScalarValue;
use farcall_link::compression::Saved;
use farcall_link::memory::{HeapRegion, MemorySource, Region, Space};
use farcall_link::strided::Strided;
use farcall_transport_unix::{MemoryLimits, SharedMemory};
use farcall_wire::CallTimes;

use crate::array::{Element, View};
use crate::data::Data;
use crate::per_process::PerProcess;
use crate::view::Server;

/// The allocator of the C library keeps smaller memory by itself.
const POOLED_MIN: usize = 1 << 20;

/// A result array that the caller owns. It may lie in memory shared with the server, which nobody
/// else writes to any more; the memory is pooled again when the last clone is dropped.
#[derive(Clone)]
pub struct OwnedArray {
    /// Keeps the memory.
    region: Arc<dyn Region>,
    /// Byte of the region where the element with all indexes 0 lies.
    offset: usize,
    /// Type of the elements.
    pub element: ElementType,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// Extents, in logical order.
    pub shape: Vec<u64>,
    /// Bytes between neighbours along each dimension.
    pub strides: Vec<i64>,
}

/// Extents in logical order; a few of them lie in the value itself.
pub type Extents = smallvec::SmallVec<[u64; 4]>;

/// The result of one parameter.
#[derive(Clone)]
pub enum Output {
    /// An IN parameter, or one that was not referenced.
    None,
    /// NULL.
    Null,
    /// An array of its own.
    Array(OwnedArray),
    /// It stayed at the server: elements of this shape, until the call is told which data that is.
    Stayed(Extents),
    /// It stayed at the server.
    Data(Data),
    /// The caller's array was written: elements of this shape.
    Written(Extents),
    /// A string; `None` for NULL.
    Text(Option<Vec<u8>>),
    /// Strings.
    Texts(Vec<Option<Vec<u8>>>),
}

/// An array of a call that travelled compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedArray {
    /// Which parameter's, in the interface's order.
    pub parameter: usize,
    /// Whether it came back; otherwise it was sent.
    pub is_result: bool,
    /// Its bytes.
    pub bytes: u64,
    /// What of them did not travel, and how long this process took to compress or to expand the
    /// others.
    pub saved: Saved,
}

/// All results of a call.
#[derive(Clone)]
pub struct Outputs {
    pub(crate) interface: Arc<Interface>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) times: CallTimes,
    // Moved with every call: what is seldom there takes little room.
    pub(crate) seldom: Option<Box<Seldom>>,
    pub(crate) server: Option<Arc<Server>>,
}

/// What only some calls have.
#[derive(Clone, Default)]
pub(crate) struct Seldom {
    pub(crate) compressed: Vec<CompressedArray>,
    pub(crate) placed: Option<PlacedTimes>,
}

/// The seconds that a call needs for each part of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// From when its arguments are there to its beginning.
    pub wait_s: f64,
    /// Its arguments' way.
    pub send_s: f64,
    /// The routine itself.
    pub run_s: f64,
    /// Its results' way.
    pub return_s: f64,
}

impl Phases {
    /// From the call to its results.
    pub fn total_s(&self) -> f64 {
        self.send_s + self.wait_s + self.run_s + self.return_s
    }
}

/// What was predicted of a call, and what it needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedTimes {
    /// When it was placed: waiting for a server begins when the arguments are there.
    pub predicted: Phases,
    /// By how much the predicted total was expected to be wrong, in seconds.
    pub error_s: f64,
    /// How it went. The server tells what it waited and ran, and this process all else.
    pub measured: Phases,
}

/// What a call took here, whose transfers are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimesHere {
    /// Until it was opened: arrays in shared memory are copied before that.
    pub(crate) prepared: Duration,
    /// From then until its results were there.
    pub(crate) open: Duration,
}

impl Outputs {
    /// One per parameter of the interface, in its order.
    pub fn all(&self) -> &[Output] {
        &self.outputs
    }

    /// When the call was queued, started and finished, in nanoseconds since the server accepted it.
    pub fn times(&self) -> CallTimes {
        self.times
    }

    /// Its arrays that travelled compressed.
    pub fn compressed(&self) -> &[CompressedArray] {
        self.seldom.as_ref().map_or(&[], |seldom| &seldom.compressed)
    }

    /// Where it ran: the name of the server, or the address that the client is connected to where no
    /// other server is known.
    pub fn server(&self) -> &str {
        self.server.as_ref().map_or("", |server| &server.name)
    }

    /// What was predicted of it, beside what it needed; `None` where a server was chosen for many
    /// small calls together, or by nobody.
    pub fn placed(&self) -> Option<&PlacedTimes> {
        self.seldom.as_ref()?.placed.as_ref()
    }

    /// The same, to be kept.
    #[inline]
    pub fn server_name(&self) -> Option<Arc<str>> {
        self.server.as_ref().map(|server| server.name.clone())
    }

    /// The result of parameter `name`.
    ///
    /// # Errors
    /// `NotFound` when there is no such parameter.
    pub fn get(&self, name: &str) -> Result<&Output> {
        let index = self.interface.parameters.iter().position(|parameter| parameter.name == name);
        index.map(|index| &self.outputs[index]).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "read a result",
                format!("no parameter is called \"{name}\""),
            )
            .with("routine", self.interface.full_name())
        })
    }

    /// The elements of an array result, in the interface's storage order.
    ///
    /// # Errors
    /// `NotFound` for no such array, `InvalidArgument` for another element type.
    pub fn array<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let Output::Array(array) = self.get(name)? else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "read a result",
                format!("\"{name}\" is not returned as a separate array"),
            ));
        };
        if array.element != T::TYPE {
            let message = format!("\"{name}\" has elements of type {}", array.element.name());
            return Err(Error::new(ErrorKind::InvalidArgument, "read a result", message));
        }
        let bytes = array.packed(self.order(name))?;
        let mut elements = Vec::new();
        let count = bytes.len() / std::mem::size_of::<T>();
        elements.try_reserve_exact(count).map_err(|_| no_room(bytes.len()))?;
        elements.resize(count, T::default());
        // SAFETY: as many bytes as the vector holds; element types are plain numbers.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.as_mut_ptr().cast(), bytes.len())
        };
        Ok(elements)
    }

    fn order(&self, name: &str) -> Order {
        let parameter = self.interface.parameters.iter().find(|parameter| parameter.name == name);
        match parameter.map(|parameter| &parameter.shape) {
            Some(farcall_idl::interface::Shape::Array { order, .. }) => *order,
            _ => Order::Row,
        }
    }

    /// The first element of a result as a number: `info`, a function's value.
    ///
    /// # Errors
    /// As [`Outputs::array`].
    pub fn scalar<T: Element>(&self, name: &str) -> Result<T> {
        self.array::<T>(name)?.first().copied().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "read a result", format!("\"{name}\" has no elements"))
        })
    }
}

impl OwnedArray {
    /// A short array that came inside the answer.
    pub(crate) fn of_bytes(
        bytes: &[u8],
        element: ElementType,
        array: &ArrayLayout,
    ) -> Result<OwnedArray> {
        let region = HeapRegion::new(bytes.len())?;
        Space::of(&region, 0, bytes.len())?.bytes().copy_from_slice(bytes);
        Ok(OwnedArray::packed_in(Arc::new(region), element, array))
    }

    /// An array whose travelling elements lie packed in `region`.
    pub(crate) fn packed_in(
        region: Arc<dyn Region>,
        element: ElementType,
        array: &ArrayLayout,
    ) -> OwnedArray {
        let shape: Vec<u64> = array.dimensions.iter().map(|dimension| dimension.count).collect();
        let mut strides = vec![0; shape.len()];
        let mut step = array.element_bytes as i64;
        for position in 0..shape.len() {
            let index =
                if array.order == Order::Column { position } else { shape.len() - 1 - position };
            strides[index] = step;
            step *= shape[index].max(1) as i64;
        }
        OwnedArray {
            region,
            offset: 0,
            element,
            element_bytes: array.element_bytes,
            shape,
            strides,
        }
    }

    /// An array that lies in `region` as the interface lays it out.
    pub(crate) fn laid_out_in(
        region: Arc<dyn Region>,
        element: ElementType,
        array: &ArrayLayout,
    ) -> OwnedArray {
        let strides = array.strides_bytes();
        let offset = array
            .dimensions
            .iter()
            .zip(&strides)
            .map(|(dimension, stride)| dimension.start * stride)
            .sum::<u64>();
        let steps = array
            .dimensions
            .iter()
            .zip(&strides)
            .map(|(dimension, stride)| (dimension.stride * stride) as i64);
        let shape = array.dimensions.iter().map(|dimension| dimension.count).collect();
        OwnedArray {
            strides: steps.collect(),
            region,
            offset: offset as usize,
            element,
            element_bytes: array.element_bytes,
            shape,
        }
    }

    /// Address of the element whose indexes are all 0: valid while the region, or a clone of this
    /// array, lives.
    pub fn address(&self) -> *mut u8 {
        self.region.base().wrapping_add(self.offset)
    }

    /// The same elements as an argument, which keeps them.
    pub(crate) fn view(&self) -> View<'static> {
        let shape = (self.shape.clone(), self.strides.clone());
        View::kept(self.region.clone(), self.offset, self.element, shape)
    }

    /// Drops dimensions that the caller did not give.
    pub(crate) fn with_rank(mut self, rank: Option<usize>) -> OwnedArray {
        if let Some(rank) = rank {
            self.shape.truncate(rank);
            self.strides.truncate(rank);
        }
        self
    }

    /// The elements' bytes without gaps, in this order.
    ///
    /// # Errors
    /// `LimitExceeded` when this machine has no room for a copy; `Internal` when the array does not
    /// lie in its region.
    pub fn packed(&self, order: Order) -> Result<Vec<u8>> {
        let mut axes: farcall_link::strided::Axes = self
            .shape
            .iter()
            .zip(&self.strides)
            .map(|(count, stride)| farcall_link::strided::Axis { count: *count, stride: *stride })
            .collect();
        if order == Order::Row {
            axes.reverse();
        }
        let array = Strided { offset: 0, element_bytes: self.element_bytes, axes };
        let mut packing =
            farcall_link::packing::Packing::new(self.region.clone(), self.offset, &array)?;
        let length = packing.left() as usize;
        let mut packed = Vec::new();
        packed.try_reserve_exact(length).map_err(|_| no_room(length))?;
        for block in packing.blocks(length)? {
            packed.extend_from_slice(block.bytes());
        }
        Ok(packed)
    }

    /// The first element, if it is a number.
    pub fn first(&self) -> Option<ScalarValue> {
        let mut space = Space::of(&*self.region, self.offset, self.element_bytes as usize).ok()?;
        ScalarValue::read(self.element, space.bytes(), 0)
    }
}

/// Memory for a result of so many bytes, of any value. What the results before it lay in is used
/// again, once it is dropped: fresh memory costs as much as the bytes that are received into it.
pub(crate) fn result_memory(bytes: usize) -> Result<Arc<dyn Region>> {
    static LARGE: PerProcess<SharedMemory> = PerProcess::new();
    if bytes < POOLED_MIN {
        return Ok(Arc::new(HeapRegion::new(bytes)?));
    }
    let limits =
        MemoryLimits { idle_bytes_max: 512 << 20, idle_regions_max: 16, ..MemoryLimits::default() };
    LARGE.get(|| SharedMemory::private(limits)).allocate(bytes)
}

/// A result may be larger than this machine's memory: the server's is another.
fn no_room(bytes: usize) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "copy a result",
        format!("there is no memory for its {bytes} bytes"),
    )
    .fix("request fewer elements, or use a host with more memory")
}
