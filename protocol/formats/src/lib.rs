//! Arrays in files, as data: NumPy's format and Matrix Market's. Pure: reads what it is given,
//! opens nothing.

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
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "name a file",
                "its name must end in .npy or .mtx",
            )
            .with("file", name)
            .fix("save the array with numpy.save or scipy.io.mmwrite")),
        }
    }

    /// Judges a file by its first [`BEGINNING_BYTES`] (or all that it has), before the rest is
    /// read: how long the whole is, where its beginning tells.
    fn begin(self, beginning: &[u8], fits: Fits<'_>) -> Result<Option<u64>> {
        match self {
            Format::NumPy => npy::length(&mut &*beginning, fits).map(Some),
            Format::MatrixMarket => mtx::begin(beginning, fits).map(|()| None),
        }
    }

    /// Reads an array from a source of at most `bytes_max` bytes; `failed` says in words what goes
    /// wrong with it. `fits` judges its shape before the elements are read and before there is any
    /// memory for them: a file of a few bytes may name any shape. No more is read than the
    /// beginning announces.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are not of this format; `LimitExceeded`; what `fits` says,
    /// and what `failed` makes of the source's errors. `None` for more than `bytes_max` bytes.
    pub fn read(
        self,
        source: &mut dyn Read,
        bytes_max: u64,
        failed: &dyn Fn(std::io::Error) -> Error,
        fits: Fits<'_>,
    ) -> Result<Option<Data>> {
        let mut bytes = Vec::new();
        source
            .take(BEGINNING_BYTES.min(bytes_max.saturating_add(1)))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let announced = self.begin(&bytes, fits)?;
        let limit = announced.map_or(bytes_max, |announced| announced.min(bytes_max));
        // One more tells whether there is more.
        let left = limit.saturating_add(1).saturating_sub(bytes.len() as u64);
        source.take(left).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > bytes_max {
            return Ok(None);
        }
        match self {
            Format::NumPy => npy::take(bytes, fits).map(Some),
            Format::MatrixMarket => mtx::read(text(&bytes)?, fits).map(Some),
        }
    }
}

/// Judges the shape that a file says it has.
pub type Fits<'a> = &'a dyn Fn(&[u64]) -> Result<()>;

/// What a file's beginning is judged by; the headers of NumPy's files are shorter.
pub const BEGINNING_BYTES: u64 = 128 << 10;

/// Takes any shape.
///
/// # Errors
/// None.
pub fn any_shape(_: &[u64]) -> Result<()> {
    Ok(())
}

/// Matrix Market files are text.
fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, "read a Matrix Market file", "it is not text")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A source that counts what is taken of it, and never ends.
    struct Endless<'a> {
        beginning: &'a [u8],
        taken: u64,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let count = if self.beginning.is_empty() {
                room.fill(b' ');
                room.len()
            } else {
                self.beginning.read(room)?
            };
            self.taken += count as u64;
            Ok(count)
        }
    }

    fn four(shape: &[u64]) -> Result<()> {
        if shape.iter().product::<u64>() == 4 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidArgument, "judge a shape", "four numbers are required"))
    }

    #[test]
    fn a_shape_that_does_not_fit_costs_its_beginning_alone() {
        let npy = Format::NumPy;
        let mtx = Format::MatrixMarket;
        let numpy = |shape: &str| {
            let header =
                format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape})}}\n");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(header.as_bytes());
            bytes
        };
        let market = |rest: &str| format!("%%MatrixMarket matrix {rest}\n").into_bytes();
        let cases = [
            (npy, numpy("1000000000,"), "four numbers"),
            (npy, numpy("1000, 1000, 1000"), "four numbers"),
            // It has what it says, and goes on and on.
            (npy, numpy("4,"), "length"),
            (mtx, market("coordinate real general\n8000 8000 1"), "four numbers"),
            (mtx, market("coordinate pattern symmetric\n60000 60000 1\n1 1"), "four numbers"),
            (mtx, market("array complex general\n% much\n\n60000000 1"), "four numbers"),
        ];
        for (format, beginning, reason) in cases {
            let mut source = Endless { beginning: &beginning, taken: 0 };
            let failed = |error: std::io::Error| Error::system("read", error);
            let error = format.read(&mut source, 1 << 30, &failed, &four).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            assert!(
                source.taken <= BEGINNING_BYTES + 32,
                "{} bytes were read of {beginning:?}",
                source.taken
            );
        }
        // Comments hide the sizes: then the file is read as far as it may be, and no further.
        let comments = market("array real general\n%");
        let mut source = Endless { beginning: &comments, taken: 0 };
        let failed = |error: std::io::Error| Error::system("read", error);
        assert!(mtx.read(&mut source, 1 << 20, &failed, &four).unwrap().is_none());
        assert_eq!(source.taken, (1 << 20) + 1);
    }

    #[test]
    fn room_is_made_for_a_shape_that_fits_alone() {
        let judged = std::cell::RefCell::new(Vec::new());
        let fits = |shape: &[u64]| {
            judged.borrow_mut().push(shape.to_vec());
            four(shape)
        };
        let huge = b"%%MatrixMarket matrix coordinate real general\n20000 20000 1\n1 1 1\n";
        assert!(
            mtx::read(std::str::from_utf8(huge).unwrap(), &fits)
                .unwrap_err()
                .to_string()
                .contains("four numbers")
        );
        assert_eq!(judged.take(), [[20000, 20000]]);
    }
}
