//! NumPy's file format, versions 1 to 3 (numpy.lib.format): a magic string, a header that is a
//! Python literal, and the elements without gaps.

use std::io::{Read, Write};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Order};

use crate::Fits;
use crate::data::{Data, bytes_of, element_bytes, zeros};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes of a header at most: ours have 128, NumPy itself refuses more than 10 000.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Dimensions at most, as in NumPy 1.
const RANK_MAX: usize = 32;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read a NumPy file", message)
}

/// Bytes of the file that begins so.
///
/// # Errors
/// As [`read`].
pub fn length(beginning: &mut dyn Read, fits: Fits<'_>) -> Result<u64> {
    let (text, start) = read_header(beginning)?;
    let header = Header::parse(&text)?;
    fits(&header.shape)?;
    Ok(start + header.bytes()?)
}

/// Reads an array from a file of `length` bytes, all of which belong to it, if it has a shape that
/// fits.
///
/// # Errors
/// `InvalidArgument` for anything but one array of numbers; `LimitExceeded`; what `fits` says.
pub fn read(source: &mut dyn Read, length: u64, fits: Fits<'_>) -> Result<Data> {
    let (text, start) = read_header(source)?;
    let header = Header::parse(&text)?;
    fits(&header.shape)?;
    let bytes = header.check(length.saturating_sub(start))?;
    let mut elements = zeros(bytes)?;
    source.read_exact(&mut elements).map_err(cut_off)?;
    Ok(header.array(elements))
}

/// The same of a file that is in memory, whose memory the elements keep.
///
/// # Errors
/// As [`read`].
pub fn take(mut file: Vec<u8>, fits: Fits<'_>) -> Result<Data> {
    let (text, start) = read_header(&mut file.as_slice())?;
    let header = Header::parse(&text)?;
    fits(&header.shape)?;
    header.check((file.len() as u64).saturating_sub(start))?;
    file.drain(..start as usize);
    Ok(header.array(file))
}

/// A file that ends too early is the file's fault, everything else the system's.
fn cut_off(error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return wrong("the file is truncated").fix("save it again");
    }
    Error::system("read a NumPy file", error)
}

/// The header's text, and where the elements begin.
fn read_header(source: &mut dyn Read) -> Result<(String, u64)> {
    let mut begin = [0; 8];
    source.read_exact(&mut begin).map_err(cut_off)?;
    if begin[..6] != *MAGIC {
        return Err(
            wrong("it does not start like a NumPy file").fix("save the array with numpy.save")
        );
    }
    let (length, fixed) = match begin[6] {
        1 => {
            let mut length = [0; 2];
            source.read_exact(&mut length).map_err(cut_off)?;
            (usize::from(u16::from_le_bytes(length)), 10)
        }
        2 | 3 => {
            let mut length = [0; 4];
            source.read_exact(&mut length).map_err(cut_off)?;
            (u32::from_le_bytes(length) as usize, 12)
        }
        version => return Err(wrong(format!("version {version} of the format is unknown"))),
    };
    if length > HEADER_BYTES_MAX {
        return Err(wrong(format!("a header of {length} bytes; the limit is {HEADER_BYTES_MAX}")));
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text).map_err(cut_off)?;
    let text = String::from_utf8(text).map_err(|_| wrong("its header is not text"))?;
    Ok((text, (fixed + length) as u64))
}

/// What a header says.
struct Header {
    element: ElementType,
    /// They have 16 bits in the file; no routine takes such, and `element` is the next type that
    /// holds them.
    is_half: bool,
    big_endian: bool,
    order: Order,
    shape: Vec<u64>,
}

impl Header {
    /// Bytes of the elements, of which so many are there. Compared before any memory is asked for:
    /// the header may announce what was never there.
    fn check(&self, present: u64) -> Result<u64> {
        let bytes = self.bytes()?;
        if bytes == present {
            return Ok(bytes);
        }
        Err(wrong("its length is not what its header says")
            .with("bytes of elements", present)
            .with("announced", bytes)
            .fix("save it again: it is truncated or was written twice"))
    }

    /// The array that these bytes of the file are. They stay in the order they have: a call takes
    /// either.
    fn array(self, mut elements: Vec<u8>) -> Data {
        if self.big_endian != cfg!(target_endian = "big") {
            let word = if self.is_half { 2 } else { word_bytes(self.element) };
            elements.chunks_exact_mut(word).for_each(<[u8]>::reverse);
        }
        if self.is_half {
            elements = widened(&elements);
        }
        let Header { element, shape, order, .. } = self;
        Data { element, shape, order, bytes: elements, decimal: false }
    }

    /// Bytes of the elements as they lie in the file.
    fn bytes(&self) -> Result<u64> {
        let whole = bytes_of(&self.shape, self.element)?;
        Ok(if self.is_half { whole / 2 } else { whole })
    }

    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }`, in any order of the keys.
    fn parse(text: &str) -> Result<Header> {
        let mut literal = Literal { rest: text.trim() };
        let mut kind = None;
        let mut fortran = None;
        let mut shape = None;
        literal.expect('{')?;
        while !literal.take('}') {
            let key = literal.quoted()?;
            literal.expect(':')?;
            match key {
                "descr" => kind = Some(literal.description()?),
                "fortran_order" => fortran = Some(literal.boolean()?),
                "shape" => shape = Some(literal.shape()?),
                other => {
                    return Err(wrong(format!(
                        "its header has an unknown key \"{}\"",
                        other.escape_debug()
                    )));
                }
            }
            if !literal.take(',') {
                literal.expect('}')?;
                break;
            }
        }
        if !literal.rest.is_empty() {
            return Err(wrong("there is extra data after its header"));
        }
        match (kind, fortran, shape) {
            (Some(kind), Some(fortran), Some(shape)) => {
                let (element, big_endian) = element_of(kind)?;
                let order = if fortran { Order::Column } else { Order::Row };
                Ok(Header { element, is_half: kind.ends_with("f2"), big_endian, order, shape })
            }
            _ => Err(wrong("its header lacks descr, fortran_order or shape")),
        }
    }
}

/// A cursor over the few Python literals that headers are made of.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    /// Passes over a character with the blanks around it, if it is next.
    fn take(&mut self, one: char) -> bool {
        self.rest = self.rest.trim_start();
        let Some(rest) = self.rest.strip_prefix(one) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// Passes over a character that must be next.
    fn expect(&mut self, one: char) -> Result<()> {
        if self.take(one) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(12).flat_map(char::escape_debug).collect();
        Err(wrong(format!("its header is malformed: '{one}' was expected before \"{found}\"")))
    }

    /// A string in either kind of quotes. No string of a header has an escape in it.
    fn quoted(&mut self) -> Result<&'a str> {
        let quote = if self.rest.starts_with('"') { '"' } else { '\'' };
        self.expect(quote)?;
        let (text, rest) =
            self.rest.split_once(quote).ok_or_else(|| wrong("its header ends within a string"))?;
        self.rest = rest;
        Ok(text)
    }

    /// The type of the elements; records have a list in its place.
    fn description(&mut self) -> Result<&'a str> {
        if self.rest.starts_with('[') || self.rest.starts_with('(') {
            return Err(wrong("its elements are records")
                .fix("save one field of them: numpy.save(file, a['field'])"));
        }
        self.quoted()
    }

    fn boolean(&mut self) -> Result<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(wrong("its header is malformed: fortran_order must be True or False"))
    }

    /// `()`, `(3,)`, `(2, 3)`.
    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            shape.push(
                number
                    .parse()
                    .map_err(|_| wrong("its shape is malformed: a size is not a number"))?,
            );
            self.rest = rest;
            // NumPy 1 under Python 2 wrote long integers with an L.
            self.take('L');
            if shape.len() > RANK_MAX {
                return Err(wrong(format!("it has more than {RANK_MAX} dimensions")));
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

/// Element type and whether it is stored with the high byte first.
fn element_of(description: &str) -> Result<(ElementType, bool)> {
    let order = description.chars().next().filter(|c| "<>|=".contains(*c));
    let kind = if order.is_some() { &description[1..] } else { description };
    let element = match kind {
        "i1" => ElementType::Int8,
        "u1" | "b1" | "?" => ElementType::UInt8,
        "S1" => ElementType::Char,
        "i2" => ElementType::Int16,
        "u2" => ElementType::UInt16,
        "i4" => ElementType::Int32,
        "u4" => ElementType::UInt32,
        "i8" => ElementType::Int64,
        "u8" => ElementType::UInt64,
        "f2" | "f4" => ElementType::Float32,
        "f8" => ElementType::Float64,
        "c8" => ElementType::Complex64,
        "c16" => ElementType::Complex128,
        "O" => {
            return Err(wrong("its elements are Python objects").fix("convert it: a.astype(float)"));
        }
        _ => {
            let message = format!(
                "its elements are of type '{}', which no routine accepts",
                description.escape_debug()
            );
            return Err(
                wrong(message).fix("convert it before saving, as in a.astype(numpy.float64)")
            );
        }
    };
    let big_endian = match order {
        Some('>') => true,
        Some('<') => false,
        _ => cfg!(target_endian = "big"),
    };
    Ok((element, big_endian))
}

/// Bytes of what has a byte order: elements, and halves of complex ones.
fn word_bytes(element: ElementType) -> usize {
    let complex = matches!(element, ElementType::Complex64 | ElementType::Complex128);
    element_bytes(element) as usize / if complex { 2 } else { 1 }
}

/// Numbers of 16 bits as those of 32 that they are.
fn widened(halves: &[u8]) -> Vec<u8> {
    halves
        .chunks_exact(2)
        .flat_map(|half| single(u16::from_ne_bytes([half[0], half[1]])).to_ne_bytes())
        .collect()
}

/// A number of IEEE's binary16: one bit for the sign, 5 for the exponent, 10 for the fraction.
fn single(half: u16) -> f32 {
    let fraction = f32::from(half & 0x3ff) / 1024.0;
    let size = match i32::from(half >> 10 & 0x1f) {
        0 => fraction * 2f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction) * 2f32.powi(exponent - 15),
    };
    if half >> 15 == 0 { size } else { -size }
}

/// Writes an array as version 1 of the format.
///
/// # Errors
/// `InvalidArgument` for elements that NumPy has no name for; `System`.
pub fn write(out: &mut dyn Write, data: &Data) -> Result<()> {
    let kind = description(data.element).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "write a NumPy file", "its elements are not numbers")
    })?;
    let end = if cfg!(target_endian = "big") { '>' } else { '<' };
    let end = if element_bytes(data.element) == 1 { '|' } else { end };
    let fortran = if data.order == Order::Column { "True" } else { "False" };
    let mut extents: Vec<String> = data.shape.iter().map(u64::to_string).collect();
    if let [one] = extents.as_mut_slice() {
        one.push(',');
    }
    let mut header = format!(
        "{{'descr': '{end}{kind}', 'fortran_order': {fortran}, 'shape': ({}), }}",
        extents.join(", ")
    );
    // The elements begin at a multiple of 64 bytes, as NumPy's own do.
    let length = (header.len() + 11).next_multiple_of(64) - 10;
    header = format!("{header:width$}\n", width = length - 1);
    let system = |error| Error::system("write a NumPy file", error);
    let length = u16::try_from(length).map_err(|_| wrong("its header would be too long"))?;
    out.write_all(MAGIC).and_then(|()| out.write_all(&[1, 0])).map_err(system)?;
    out.write_all(&length.to_le_bytes())
        .and_then(|()| out.write_all(header.as_bytes()))
        .map_err(system)?;
    out.write_all(&data.bytes).map_err(system)
}

/// NumPy's letter and bytes of an element type; none for text of any length and structs.
fn description(element: ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::Char => "S1",
        ElementType::Int8 => "i1",
        ElementType::UInt8 => "u1",
        ElementType::Int16 => "i2",
        ElementType::UInt16 => "u2",
        ElementType::Int32 => "i4",
        ElementType::UInt32 => "u4",
        ElementType::Int64 => "i8",
        ElementType::UInt64 => "u8",
        ElementType::Float32 => "f4",
        ElementType::Float64 => "f8",
        ElementType::Complex64 => "c8",
        ElementType::Complex128 => "c16",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
