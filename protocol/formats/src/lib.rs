//! Arrays in files, as data: NumPy's format and Matrix Market's. Pure: reads what it is given, opens nothing.

pub mod data;
pub mod mtx;
pub mod npy;

use std::io::Read;

use farcall_base::{Error, ErrorKind, Result};

pub use data::Data;

/// The formats that a name's ending tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.npy`, of `numpy.save`.
    NumPy,
    /// `.mtx`, of `scipy.io.mmwrite`.
    MatrixMarket,
}

impl Format {
    /// The format of a file, by the ending of its name in either case.
    ///
    /// # Errors
    /// `InvalidArgument` for another ending.
    pub fn of(name: &str) -> Result<Format> {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        match ending.as_str() {
            "npy" => Ok(Format::NumPy),
            "mtx" => Ok(Format::MatrixMarket),
            _ => {
                Err(Error::new(ErrorKind::InvalidArgument, "name a file", "its name ends neither in .npy nor in .mtx")
                    .with("file", name)
                    .fix("save the array with numpy.save or scipy.io.mmwrite"))
            }
        }
    }

    /// Reads an array from what a file holds.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are not of this format; `LimitExceeded`.
    pub fn parse(self, bytes: &[u8]) -> Result<Data> {
        match self {
            Format::NumPy => npy::read(&mut &*bytes, bytes.len() as u64),
            Format::MatrixMarket => mtx::read(text(bytes)?),
        }
    }
}

/// Matrix Market files are text.
fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, "read a Matrix Market file", "it is not text"))
}

/// All that a source has, if it is not too much.
///
/// # Errors
/// The source's own; `None` for more than `limit` bytes.
pub fn bounded(source: &mut dyn Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
