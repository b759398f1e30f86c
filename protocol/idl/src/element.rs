//! Elements as bytes: width, struct layout, byte order (spec/idl.md, section 6).

use farcall_base::{Error, ErrorKind, Result};

use crate::interface::{ElementType, Field, Interface, StructType};
use crate::scope::Scope;

/// Bytes of one struct at most. Large data belong into arrays.
pub const STRUCT_BYTES_MAX: u64 = 1 << 24;

/// Bytes of one element in memory. A `String` or `Filename` counts as the 8-byte pointer that the
/// routine gets.
pub fn element_bytes(interface: &Interface, element: ElementType) -> u64 {
    interface.scope().element_bytes(element)
}

/// Changes the byte order of whole elements in place: the receiver's part of "receiver makes
/// right".
///
/// Complex numbers swap each half, structs each field. A rest shorter than an element is left as it
/// is.
pub fn swap_bytes(interface: &Interface, element: ElementType, bytes: &mut [u8]) {
    match element {
        ElementType::Struct(index) => {
            let Some(structure) = interface.structs.get(usize::from(index)) else { return };
            let size = usize::try_from(structure.size()).unwrap_or(0);
            if size > 0 {
                bytes.chunks_exact_mut(size).for_each(|one| swap_struct(structure, one));
            }
        }
        // Text has no byte order.
        ElementType::String | ElementType::Filename => {}
        _ => swap_words(element, bytes),
    }
}

fn swap_struct(structure: &StructType, bytes: &mut [u8]) {
    for field in &structure.fields {
        let start = field.offset as usize;
        let length = number_bytes(field.element) as usize * field.count as usize;
        if let Some(part) = bytes.get_mut(start..start.saturating_add(length)) {
            swap_words(field.element, part);
        }
    }
}

fn swap_words(element: ElementType, bytes: &mut [u8]) {
    let width = word_bytes(element) as usize;
    if width > 1 {
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

impl Scope<'_> {
    /// Bytes of one element in memory; see [`element_bytes`].
    pub fn element_bytes(self, element: ElementType) -> u64 {
        match element {
            ElementType::Struct(index) => {
                self.structs.get(usize::from(index)).map_or(0, StructType::size)
            }
            _ => number_bytes(element),
        }
    }

    /// Alignment of an element in memory, in bytes.
    pub fn element_alignment(self, element: ElementType) -> u64 {
        match element {
            ElementType::Struct(index) => {
                self.structs.get(usize::from(index)).map_or(1, StructType::alignment)
            }
            _ => word_bytes(element),
        }
    }
}

/// Bytes of an element that is no struct.
pub(crate) fn number_bytes(element: ElementType) -> u64 {
    match element {
        ElementType::Complex64 | ElementType::Complex128 => 2 * word_bytes(element),
        _ => word_bytes(element),
    }
}

/// Bytes of what swaps as a unit and aligns to itself.
fn word_bytes(element: ElementType) -> u64 {
    match element {
        ElementType::Char | ElementType::Int8 | ElementType::UInt8 | ElementType::Struct(_) => 1,
        ElementType::Int16 | ElementType::UInt16 => 2,
        ElementType::Int32
        | ElementType::UInt32
        | ElementType::Float32
        | ElementType::Complex64 => 4,
        ElementType::Int64
        | ElementType::UInt64
        | ElementType::Float64
        | ElementType::Complex128
        | ElementType::String
        | ElementType::Filename => 8,
    }
}

impl StructType {
    /// Lays out the fields (name, type, number of elements) as C does: each at the next multiple of
    /// its alignment.
    ///
    /// # Errors
    /// `InvalidArgument` for no fields, a field that is no number or character, no elements, or too
    /// many bytes.
    pub fn lay_out(
        name: &str,
        fields: impl IntoIterator<Item = (String, ElementType, u32)>,
    ) -> Result<StructType> {
        let wrong =
            |message: String| Error::new(ErrorKind::InvalidArgument, "lay out a struct", message);
        let mut structure = StructType { name: name.to_owned(), fields: Vec::new() };
        let mut end = 0_u64;
        for (field, element, count) in fields {
            if matches!(
                element,
                ElementType::Struct(_) | ElementType::String | ElementType::Filename
            ) || count == 0
            {
                return Err(wrong(format!(
                    "field {field} of struct {name} is not a number or a fixed array of numbers"
                )));
            }
            let offset = end.next_multiple_of(word_bytes(element));
            end = offset + number_bytes(element) * u64::from(count);
            if end > STRUCT_BYTES_MAX {
                return Err(wrong(format!("struct {name} has more than {STRUCT_BYTES_MAX} bytes"))
                    .fix("pass large fixed arrays as parameters of their own"));
            }
            let offset = u32::try_from(offset).expect("bounded by STRUCT_BYTES_MAX");
            structure.fields.push(Field { name: field, element, count, offset });
        }
        if structure.fields.is_empty() {
            return Err(wrong(format!("struct {name} has no fields")));
        }
        Ok(structure)
    }

    /// Bytes of one struct, padding at its end included.
    pub fn size(&self) -> u64 {
        let end = |field: &Field| {
            u64::from(field.offset) + number_bytes(field.element) * u64::from(field.count)
        };
        self.fields.iter().map(end).max().unwrap_or(0).next_multiple_of(self.alignment())
    }

    /// Alignment of the struct: that of its most demanding field.
    pub fn alignment(&self) -> u64 {
        self.fields.iter().map(|field| word_bytes(field.element)).max().unwrap_or(1)
    }
}

impl ElementType {
    /// The type's shortest name in the IDL; `struct` for all structs.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Char => "char",
            ElementType::Int8 => "int8",
            ElementType::UInt8 => "uint8",
            ElementType::Int16 => "short",
            ElementType::UInt16 => "uint16",
            ElementType::Int32 => "int",
            ElementType::UInt32 => "uint32",
            ElementType::Int64 => "long",
            ElementType::UInt64 => "uint64",
            ElementType::Float32 => "float",
            ElementType::Float64 => "double",
            ElementType::Complex64 => "scomplex",
            ElementType::Complex128 => "dcomplex",
            ElementType::Struct(_) => "struct",
            ElementType::String => "string",
            ElementType::Filename => "filename",
        }
    }

    /// Whether the type is an integer that counts things (not a character).
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            ElementType::Int8
                | ElementType::UInt8
                | ElementType::Int16
                | ElementType::UInt16
                | ElementType::Int32
                | ElementType::UInt32
                | ElementType::Int64
                | ElementType::UInt64
        )
    }
}
