//! Matrix Market files (math.nist.gov/MatrixMarket/formats.html): dense and sparse matrices as
//! text. Sparse ones become dense.

use std::io::Write;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Order};
use farcall_idl::scalar::ScalarValue;

use crate::Fits;
use crate::data::{Data, bytes_of, element_bytes, real, zeros};

/// Bytes of a dense matrix at most: a few lines of a sparse file may ask for any number.
const DENSE_BYTES_MAX: u64 = 4 << 30;

/// A mistake of the file, at a line from 1.
fn wrong(line: usize, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read a Matrix Market file", message).with("line", line)
}

/// Which entries are left out because others imply them.
#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// What an entry's value is.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    Real,
    Complex,
    Integer,
    /// No values: each entry is 1.
    Pattern,
}

/// The first line.
struct Banner {
    sparse: bool,
    field: Field,
    symmetry: Symmetry,
}

/// Judges the shape in the first lines of a file. Where they are all comments, it is judged when
/// the file is read.
///
/// # Errors
/// As [`read`].
pub fn begin(beginning: &[u8], fits: Fits<'_>) -> Result<()> {
    // The last line may go on.
    let whole = beginning.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let Ok(text) = std::str::from_utf8(&beginning[..whole]) else { return Ok(()) };
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let Some((_, first)) = lines.next() else { return Ok(()) };
    let banner = banner(first)?;
    let Some((line, sizes)) = lines.find(|(_, line)| !line.is_empty() && !line.starts_with('%'))
    else {
        return Ok(());
    };
    let (rows, columns, _) = sizes_of(line, sizes, &banner)?;
    fits(&[rows, columns])
}

/// Reads a matrix, if it has a shape that fits; it comes by columns.
///
/// # Errors
/// `InvalidArgument` with the line for anything malformed; `LimitExceeded`; what `fits` says.
pub fn read(text: &str, fits: Fits<'_>) -> Result<Data> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let banner = banner(lines.next().map_or("", |(_, line)| line))?;
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let (line, sizes) =
        lines.next().ok_or_else(|| wrong(1, "the file ends before the line with the sizes"))?;
    let (rows, columns, entries) = sizes_of(line, sizes, &banner)?;
    fits(&[rows, columns])?;
    let mut matrix =
        Dense::new(rows, columns, &banner).map_err(|error| error.with("line", line))?;
    let mut last = line;
    let mut count = 0;
    let mut place = Place::first(&banner);
    for (line, text) in lines {
        count += 1;
        if count > entries {
            return Err(wrong(line, format!("more than the {entries} entries that it announces")));
        }
        matrix.entry(line, text, &banner, &mut place)?;
        last = line;
    }
    if count < entries {
        return Err(wrong(last, format!("the file ends after {count} of {entries} entries"))
            .fix("it is truncated: copy it again"));
    }
    Ok(Data {
        element: matrix.element,
        shape: vec![rows, columns],
        order: Order::Column,
        bytes: matrix.bytes,
        decimal: true,
    })
}

/// `%%MatrixMarket matrix coordinate real general`.
fn banner(line: &str) -> Result<Banner> {
    let line = line.trim_start_matches('\u{feff}').to_ascii_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["%%matrixmarket", "matrix", format, field, symmetry] = words.as_slice() else {
        return Err(wrong(1, "it does not start like a Matrix Market file")
            .fix("the first line must look like %%MatrixMarket matrix array real general"));
    };
    let unknown = |what: &str, word: &str| {
        wrong(1, format!("an unknown {what}: \"{}\"", word.escape_debug()))
    };
    let sparse = match *format {
        "coordinate" => true,
        "array" => false,
        other => return Err(unknown("format", other)),
    };
    let field = match *field {
        "real" | "double" => Field::Real,
        "complex" => Field::Complex,
        "integer" => Field::Integer,
        "pattern" if sparse => Field::Pattern,
        other => return Err(unknown("type of numbers", other)),
    };
    let symmetry = match *symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" if field != Field::Pattern => Symmetry::Skew,
        "hermitian" if field == Field::Complex => Symmetry::Hermitian,
        other => return Err(unknown("symmetry of such a matrix", other)),
    };
    Ok(Banner { sparse, field, symmetry })
}

/// Rows, columns and the number of entries that follow.
fn sizes_of(line: usize, text: &str, banner: &Banner) -> Result<(u64, u64, u64)> {
    let sizes: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let (rows, columns, entries) = match (sizes.as_deref(), banner.sparse) {
        (Some([rows, columns, entries]), true) => (*rows, *columns, Some(*entries)),
        (Some([rows, columns]), false) => (*rows, *columns, None),
        (_, true) => {
            return Err(wrong(
                line,
                "the sizes of a sparse matrix are three numbers: rows columns entries",
            ));
        }
        (_, false) => {
            return Err(wrong(line, "the sizes of a dense matrix are two numbers: rows columns"));
        }
    };
    if banner.symmetry != Symmetry::General && rows != columns {
        return Err(wrong(
            line,
            format!("a symmetric matrix of {rows} rows and {columns} columns"),
        ));
    }
    let all = rows.checked_mul(columns).ok_or_else(|| wrong(line, "the matrix is too large"))?;
    // Of a symmetric matrix the lower triangle is stored, of a skew one without its diagonal.
    let stored = match banner.symmetry {
        Symmetry::General => all,
        Symmetry::Skew => (all - rows) / 2,
        Symmetry::Symmetric | Symmetry::Hermitian => (all - rows) / 2 + rows,
    };
    Ok((rows, columns, entries.unwrap_or(stored)))
}

/// Where the next entry of a dense matrix goes.
struct Place {
    row: u64,
    column: u64,
}

impl Place {
    fn first(banner: &Banner) -> Place {
        Place { row: u64::from(banner.symmetry == Symmetry::Skew), column: 0 }
    }

    /// Goes on by one: down the column, then to the first stored row of the next.
    fn take(&mut self, rows: u64, symmetry: Symmetry) -> (u64, u64) {
        let taken = (self.row, self.column);
        self.row += 1;
        if self.row == rows {
            self.column += 1;
            self.row = match symmetry {
                Symmetry::General => 0,
                Symmetry::Skew => self.column + 1,
                Symmetry::Symmetric | Symmetry::Hermitian => self.column,
            };
        }
        taken
    }
}

/// The matrix as it fills up, by columns.
struct Dense {
    rows: u64,
    columns: u64,
    element: ElementType,
    bytes: Vec<u8>,
}

impl Dense {
    /// All zero. Its size is judged first: it costs the file nothing to ask for much.
    fn new(rows: u64, columns: u64, banner: &Banner) -> Result<Dense> {
        let element = match banner.field {
            Field::Real => ElementType::Float64,
            Field::Complex => ElementType::Complex128,
            Field::Integer | Field::Pattern => ElementType::Int64,
        };
        let bytes =
            bytes_of(&[rows, columns], element).ok().filter(|bytes| *bytes <= DENSE_BYTES_MAX);
        let bytes = bytes.ok_or_else(|| {
            let message = "as a dense matrix, it has more than 4 GiB";
            Error::new(ErrorKind::LimitExceeded, "read a Matrix Market file", message)
                .with("rows", rows)
                .with("columns", columns)
        })?;
        Ok(Dense { rows, columns, element, bytes: zeros(bytes)? })
    }

    /// Takes a line with one entry, and mirrors it where the matrix is symmetric.
    fn entry(&mut self, line: usize, text: &str, banner: &Banner, place: &mut Place) -> Result<()> {
        let mut words = text.split_whitespace();
        let (row, column) = match banner.sparse {
            true => self.indexes(line, &mut words)?,
            false => place.take(self.rows, banner.symmetry),
        };
        let value = value_of(line, &mut words, banner.field)?;
        if words.next().is_some() {
            return Err(wrong(line, "the line has more than one entry"));
        }
        self.check_triangle(line, row, column, value, banner.symmetry)?;
        self.add(line, row, column, value)?;
        if row != column && banner.symmetry != Symmetry::General {
            let mirrored = mirrored(value, banner.symmetry);
            self.add(
                line,
                column,
                row,
                mirrored.ok_or_else(|| wrong(line, "its negative does not fit 64 bits"))?,
            )?;
        }
        Ok(())
    }

    /// Row and column, counted from 0; the file counts from 1.
    fn indexes<'a>(
        &self,
        line: usize,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(u64, u64)> {
        let mut index = |limit: u64, what: &str| {
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            number
                .filter(|number| (1..=limit).contains(number))
                .map(|number| number - 1)
                .ok_or_else(|| {
                    wrong(line, format!("the entry's {what} is not a number from 1 to {limit}"))
                })
        };
        Ok((index(self.rows, "row")?, index(self.columns, "column")?))
    }

    /// Fails for entries that a symmetry forbids: adding them would give another matrix than was
    /// meant.
    fn check_triangle(
        &self,
        line: usize,
        row: u64,
        column: u64,
        value: ScalarValue,
        symmetry: Symmetry,
    ) -> Result<()> {
        let diagonal = row == column;
        match symmetry {
            Symmetry::General => Ok(()),
            _ if row < column => {
                Err(wrong(line, "a symmetric matrix has an entry above the diagonal")
                    .fix("store only the lower triangle, or declare the matrix general"))
            }
            Symmetry::Skew if diagonal => {
                Err(wrong(line, "a skew-symmetric matrix has an entry on the diagonal"))
            }
            Symmetry::Hermitian
                if diagonal && matches!(value, ScalarValue::Complex(_, im) if im != 0.0) =>
            {
                Err(wrong(line, "the diagonal of a Hermitian matrix must be real"))
            }
            _ => Ok(()),
        }
    }

    /// Adds to an element: entries of the same place add up, as finite-element programs write them.
    fn add(&mut self, line: usize, row: u64, column: u64, value: ScalarValue) -> Result<()> {
        let index = column * self.rows + row;
        let width = element_bytes(self.element) as usize;
        let old = ScalarValue::read(self.element, &self.bytes, index);
        let sum = match (old, value) {
            (Some(ScalarValue::Real(old)), ScalarValue::Real(new)) => ScalarValue::Real(old + new),
            (Some(ScalarValue::Complex(a, b)), ScalarValue::Complex(re, im)) => {
                ScalarValue::Complex(a + re, b + im)
            }
            (Some(ScalarValue::Integer(old)), ScalarValue::Integer(new)) => ScalarValue::Integer(
                old.checked_add(new)
                    .ok_or_else(|| wrong(line, "duplicate entries add up to more than 64 bits"))?,
            ),
            _ => return Err(wrong(line, "an entry outside the matrix")),
        };
        let start = index as usize * width;
        sum.write(self.element, &mut self.bytes[start..start + width])
    }
}

/// The element on the other side of the diagonal.
fn mirrored(value: ScalarValue, symmetry: Symmetry) -> Option<ScalarValue> {
    Some(match (symmetry, value) {
        (Symmetry::Hermitian, ScalarValue::Complex(re, im)) => ScalarValue::Complex(re, -im),
        (Symmetry::Skew, ScalarValue::Complex(re, im)) => ScalarValue::Complex(-re, -im),
        (Symmetry::Skew, ScalarValue::Real(value)) => ScalarValue::Real(-value),
        (Symmetry::Skew, ScalarValue::Integer(value)) => ScalarValue::Integer(value.checked_neg()?),
        (_, value) => value,
    })
}

/// The value behind the indexes.
fn value_of<'a>(
    line: usize,
    words: &mut impl Iterator<Item = &'a str>,
    field: Field,
) -> Result<ScalarValue> {
    let mut part = || {
        let word = words.next().ok_or_else(|| wrong(line, "the entry has no value"))?;
        real(word).map_err(|error| wrong(line, error.message()))
    };
    match field {
        Field::Real => part().map(ScalarValue::Real),
        Field::Complex => Ok(ScalarValue::Complex(part()?, part()?)),
        Field::Pattern => Ok(ScalarValue::Integer(1)),
        Field::Integer => {
            let value = words.next().and_then(|word| word.parse().ok());
            value
                .map(ScalarValue::Integer)
                .ok_or_else(|| wrong(line, "the entry's value is not a 64-bit integer"))
        }
    }
}

/// Writes a vector (as one column) or matrix as a dense, general one.
///
/// # Errors
/// `InvalidArgument` for more dimensions; `System`.
pub fn write(out: &mut dyn Write, data: &Data) -> Result<()> {
    let field = match data.element {
        ElementType::Float32 | ElementType::Float64 => "real",
        ElementType::Complex64 | ElementType::Complex128 => "complex",
        _ => "integer",
    };
    let (rows, columns) = match data.shape.as_slice() {
        [] => (1, 1),
        [rows] => (*rows, 1),
        [rows, columns] => (*rows, *columns),
        more => {
            let message =
                format!("the format holds matrices, not arrays of {} dimensions", more.len());
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "write a Matrix Market file",
                message,
            )
            .fix("write a .npy file"));
        }
    };
    let system = |error| Error::system("write a Matrix Market file", error);
    writeln!(out, "%%MatrixMarket matrix array {field} general\n{rows} {columns}")
        .map_err(system)?;
    for (row, column) in (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column))) {
        let index =
            if data.order == Order::Column { column * rows + row } else { row * columns + column };
        let value = ScalarValue::read(data.element, &data.bytes, index);
        match value
            .ok_or_else(|| Error::internal("write a Matrix Market file", "an element is missing"))?
        {
            ScalarValue::Integer(value) => writeln!(out, "{value}"),
            ScalarValue::Unsigned(value) => writeln!(out, "{value}"),
            ScalarValue::Real(value) => writeln!(out, "{value:?}"),
            ScalarValue::Complex(re, im) => writeln!(out, "{re:?} {im:?}"),
        }
        .map_err(system)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "mtx_tests.rs"]
mod tests;
