//! TSPLIB's ways to give distances: formats of matrices, and functions of coordinates.

use std::ops::Range;

/// Pi as TSPLIB has it for distances on the globe, to six places.
const PI: f64 = 3_141_592.0 / 1e6;
/// TSPLIB's radius of the earth in kilometers.
const EARTH: f64 = 6378.388;

/// What `EDGE_WEIGHT_TYPE` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WeightType {
    Explicit,
    Euclidean,
    Ceiling,
    Manhattan,
    Maximum,
    Att,
    Geo,
}

impl WeightType {
    pub(super) const NAMES: &str = "EXPLICIT, EUC_2D, CEIL_2D, MAN_2D, MAX_2D, ATT or GEO";

    pub(super) fn of_name(name: &str) -> Option<WeightType> {
        Some(match name {
            "EXPLICIT" => WeightType::Explicit,
            "EUC_2D" => WeightType::Euclidean,
            "CEIL_2D" => WeightType::Ceiling,
            "MAN_2D" => WeightType::Manhattan,
            "MAX_2D" => WeightType::Maximum,
            "ATT" => WeightType::Att,
            "GEO" => WeightType::Geo,
            _ => return None,
        })
    }

    /// The distance between two points, as TSPLIB rounds it.
    pub(super) fn distance(self, from: [f64; 2], to: [f64; 2]) -> u32 {
        let aside = (from[0] - to[0]).abs();
        let along = (from[1] - to[1]).abs();
        let squares = aside * aside + along * along;
        let distance = match self {
            WeightType::Explicit => 0.0,
            WeightType::Euclidean => nearest(squares.sqrt()),
            WeightType::Ceiling => squares.sqrt().ceil(),
            WeightType::Manhattan => nearest(aside + along),
            WeightType::Maximum => nearest(aside).max(nearest(along)),
            WeightType::Att => (squares / 10.0).sqrt().ceil(),
            WeightType::Geo => on_the_globe(from, to),
        };
        distance as u32
    }
}

fn nearest(distance: f64) -> f64 {
    (distance + 0.5).floor()
}

/// Kilometers between points whose coordinates are degrees and, behind the point, minutes.
fn on_the_globe(from: [f64; 2], to: [f64; 2]) -> f64 {
    let radians = |place: f64| PI * (place.trunc() + 5.0 * place.fract() / 3.0) / 180.0;
    let [latitude, longitude] = from.map(radians);
    let [other_latitude, other_longitude] = to.map(radians);
    let turned = (longitude - other_longitude).cos();
    let lower = (latitude - other_latitude).cos();
    let upper = (latitude + other_latitude).cos();
    let cosine = 0.5 * ((1.0 + turned) * lower - (1.0 - turned) * upper);
    (EARTH * cosine.clamp(-1.0, 1.0).acos() + 1.0).floor()
}

/// What `EDGE_WEIGHT_FORMAT` says: which part of the matrix stands in the file, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    FullMatrix,
    UpperRow,
    LowerRow,
    UpperDiagRow,
    LowerDiagRow,
}

impl Format {
    pub(super) const NAMES: &str =
        "FULL_MATRIX, UPPER_ROW, LOWER_ROW, UPPER_DIAG_ROW or LOWER_DIAG_ROW";

    /// A format by columns is the other one by rows: such tables are symmetric.
    pub(super) fn of_name(name: &str) -> Option<Format> {
        Some(match name {
            "FULL_MATRIX" => Format::FullMatrix,
            "UPPER_ROW" | "LOWER_COL" => Format::UpperRow,
            "LOWER_ROW" | "UPPER_COL" => Format::LowerRow,
            "UPPER_DIAG_ROW" | "LOWER_DIAG_COL" => Format::UpperDiagRow,
            "LOWER_DIAG_ROW" | "UPPER_DIAG_COL" => Format::LowerDiagRow,
            _ => return None,
        })
    }

    /// The columns of a row that stand in the file.
    pub(super) fn columns(self, row: usize, cities: usize) -> Range<usize> {
        match self {
            Format::FullMatrix => 0..cities,
            Format::UpperRow => row + 1..cities,
            Format::LowerRow => 0..row,
            Format::UpperDiagRow => row..cities,
            Format::LowerDiagRow => 0..row + 1,
        }
    }
}
