//! The reader of TSPLIB files: a specification of keys and values, then sections of numbers.

use super::table::{DISTANCE_MAX, TABLE_CITIES_MAX, Table};
use super::weights::{Format, WeightType};
use crate::input::{InputError, Source, Word, words_of_line};

/// Characters that a file may have: 4096 x 4096 numbers of seven digits.
const BYTES_MAX: usize = 1 << 27;
/// The largest coordinate: distances stay within [`DISTANCE_MAX`].
const COORDINATE_MAX: f64 = 1e7;

/// Reads a whole file.
pub(super) fn read(source: &Source<'_>) -> Result<Table, InputError> {
    source.check_size(BYTES_MAX)?;
    let lines = source.text.lines().collect();
    let header = Header::default();
    let mut reader = Reader { source, lines, next: 0, header, table: None };
    while let Some(key) = reader.next_key() {
        if key.text == "EOF" {
            break;
        }
        reader.entry(&key)?;
    }
    let end = reader.lines.len().max(1);
    let missing = "the file has no EDGE_WEIGHT_SECTION and no NODE_COORD_SECTION; add one";
    reader.table.ok_or_else(|| source.error(end, 1, missing))
}

/// What the specification said so far.
#[derive(Default)]
struct Header {
    cities: Option<usize>,
    weight_type: Option<WeightType>,
    format: Option<Format>,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    lines: Vec<&'a str>,
    next: usize,
    header: Header,
    table: Option<Table>,
}

impl<'a> Reader<'a> {
    /// The key of the next line that is not empty: what stands before a colon or a space.
    fn next_key(&mut self) -> Option<Word<'a>> {
        while let Some(text) = self.lines.get(self.next) {
            self.next += 1;
            if let Some(word) = words_of_line(text, self.next).next() {
                let key = word.text.split(':').next().unwrap_or_default();
                return Some(Word { text: key, ..word });
            }
        }
        None
    }

    fn entry(&mut self, key: &Word<'a>) -> Result<(), InputError> {
        match key.text {
            "NAME" | "COMMENT" | "DISPLAY_DATA_TYPE" | "NODE_COORD_TYPE" => Ok(()),
            "TYPE" => self.check_type(key),
            "DIMENSION" => self.dimension(key),
            "EDGE_WEIGHT_TYPE" => {
                let value = self.value(key)?;
                let read = WeightType::of_name(value.text);
                self.header.weight_type = Some(self.known(read, &value, WeightType::NAMES)?);
                Ok(())
            }
            "EDGE_WEIGHT_FORMAT" => {
                let value = self.value(key)?;
                let read = Format::of_name(value.text);
                if read.is_none() && value.text == "FUNCTION" {
                    return Ok(());
                }
                self.header.format = Some(self.known(read, &value, Format::NAMES)?);
                Ok(())
            }
            "EDGE_WEIGHT_SECTION" => self.weights(key),
            "NODE_COORD_SECTION" => self.coordinates(key),
            "DISPLAY_DATA_SECTION" => {
                self.next += self.cities(key)?;
                Ok(())
            }
            other => {
                let problem = format!(
                    "unknown key `{other}`; expected one of TSPLIB's keys for a TSP or ATSP"
                );
                Err(self.source.error_at(key, problem))
            }
        }
    }

    /// The first word behind the colon of the line that was read last.
    fn value(&self, key: &Word<'a>) -> Result<Word<'a>, InputError> {
        let line = self.lines[self.next - 1];
        let colon = line.find(':').map_or(line.len(), |colon| colon + 1);
        let before = line[..colon].chars().count();
        let value = words_of_line(&line[colon..], key.line).next();
        let problem = format!("`{}` has no value; write `{}: VALUE`", key.text, key.text);
        let value = value.ok_or_else(|| self.source.error_at(key, problem))?;
        Ok(Word { column: value.column + before, ..value })
    }

    fn known<T>(&self, read: Option<T>, value: &Word<'_>, names: &str) -> Result<T, InputError> {
        let problem = || format!("`{}` is not supported; give {names}", value.text);
        read.ok_or_else(|| self.source.error_at(value, problem()))
    }

    fn check_type(&self, key: &Word<'a>) -> Result<(), InputError> {
        let value = self.value(key)?;
        let read = ["TSP", "ATSP"].contains(&value.text).then_some(());
        self.known(read, &value, "TSP or ATSP")
    }

    fn dimension(&mut self, key: &Word<'a>) -> Result<(), InputError> {
        let value = self.value(key)?;
        let read = value.text.parse().ok().filter(|cities| (1..=TABLE_CITIES_MAX).contains(cities));
        let expected = format!("a whole number of cities from 1 to {TABLE_CITIES_MAX}");
        self.header.cities = Some(self.known(read, &value, &expected)?);
        Ok(())
    }

    fn cities(&self, key: &Word<'_>) -> Result<usize, InputError> {
        let problem = format!("`{}` stands before DIMENSION; move it behind", key.text);
        self.header.cities.ok_or_else(|| self.source.error_at(key, problem))
    }

    fn start_table(&self, key: &Word<'_>) -> Result<(Table, WeightType), InputError> {
        if self.table.is_some() {
            let problem = format!("`{}` gives distances a second time; remove it", key.text);
            return Err(self.source.error_at(key, problem));
        }
        let cities = self.cities(key)?;
        let problem = format!("`{}` stands before EDGE_WEIGHT_TYPE; move it behind", key.text);
        let missing = self.source.error_at(key, problem);
        Ok((Table::new(cities), self.header.weight_type.ok_or(missing)?))
    }

    fn weights(&mut self, key: &Word<'a>) -> Result<(), InputError> {
        let (mut table, weight_type) = self.start_table(key)?;
        if weight_type != WeightType::Explicit {
            let problem = "weights of a file whose EDGE_WEIGHT_TYPE is a function; say EXPLICIT";
            return Err(self.source.error_at(key, problem));
        }
        let missing = || {
            let names = Format::NAMES;
            let problem = format!("EDGE_WEIGHT_FORMAT is missing; write one of {names} before");
            self.source.error_at(key, problem)
        };
        let format = self.header.format.ok_or_else(missing)?;
        let cities = table.cities();
        let places = (0..cities)
            .flat_map(|row| format.columns(row, cities).map(move |column| [row, column]));
        let mut numbers = Numbers::of(self);
        for [row, column] in places {
            let distance = numbers.distance()?;
            if row != column {
                table.set(row, column, distance);
            }
            if row != column && format != Format::FullMatrix {
                table.set(column, row, distance);
            }
        }
        self.next = numbers.end()?;
        self.table = Some(table);
        Ok(())
    }

    fn coordinates(&mut self, key: &Word<'a>) -> Result<(), InputError> {
        if self.header.weight_type == Some(WeightType::Explicit) {
            self.next += self.cities(key)?;
            return Ok(());
        }
        let (mut table, weight_type) = self.start_table(key)?;
        let cities = table.cities();
        let mut places = vec![None; cities];
        let mut numbers = Numbers::of(self);
        for _ in 0..cities {
            let city = numbers.city(&places)?;
            places[city] = Some([numbers.coordinate()?, numbers.coordinate()?]);
        }
        self.next = numbers.end()?;
        let places: Vec<[f64; 2]> = places.into_iter().flatten().collect();
        for (from, place) in places.iter().enumerate() {
            for (to, other) in places.iter().enumerate().filter(|(to, _)| *to != from) {
                table.set(from, to, weight_type.distance(*place, *other));
            }
        }
        self.table = Some(table);
        Ok(())
    }
}

/// The numbers of a section, which may be in lines of any length.
struct Numbers<'a> {
    source: &'a Source<'a>,
    lines: Vec<&'a str>,
    /// Lines before the one that is read.
    line: usize,
    words: std::vec::IntoIter<Word<'a>>,
}

impl<'a> Numbers<'a> {
    fn of(reader: &Reader<'a>) -> Numbers<'a> {
        let words = Vec::new().into_iter();
        Numbers { source: reader.source, lines: reader.lines.clone(), line: reader.next, words }
    }

    fn word(&mut self, expected: &str) -> Result<Word<'a>, InputError> {
        loop {
            if let Some(word) = self.words.next() {
                return Ok(word);
            }
            let Some(text) = self.lines.get(self.line) else {
                let problem = format!("the file ends where {expected} was expected; add it");
                return Err(self.source.error(self.lines.len().max(1), 1, problem));
            };
            self.line += 1;
            self.words = words_of_line(text, self.line).collect::<Vec<_>>().into_iter();
        }
    }

    fn number<T>(
        &mut self,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, InputError> {
        let word = self.word(expected)?;
        let problem = || format!("`{}` where {expected} was expected; mend it", word.text);
        read(word.text).ok_or_else(|| self.source.error_at(&word, problem()))
    }

    fn distance(&mut self) -> Result<u32, InputError> {
        let expected = format!("a whole distance from 0 to {DISTANCE_MAX}");
        self.number(&expected, |text| text.parse().ok().filter(|read| *read <= DISTANCE_MAX))
    }

    fn coordinate(&mut self) -> Result<f64, InputError> {
        let expected = format!("a coordinate within {COORDINATE_MAX}");
        let fits = |read: &f64| read.abs() <= COORDINATE_MAX;
        self.number(&expected, |text| text.parse().ok().filter(fits))
    }

    /// The number of a city whose place is not known yet, from 0.
    fn city(&mut self, places: &[Option<[f64; 2]>]) -> Result<usize, InputError> {
        let expected = format!("the number of a new city from 1 to {}", places.len());
        let is_new = |city: &usize| matches!(places.get(*city), Some(None));
        let read = |text: &str| text.parse::<usize>().ok()?.checked_sub(1).filter(is_new);
        self.number(&expected, read)
    }

    /// The number of lines read; a number too many on the last one is an error.
    fn end(mut self) -> Result<usize, InputError> {
        match self.words.next() {
            None => Ok(self.line),
            Some(word) => {
                let problem = format!("`{}` is more than the section has; remove it", word.text);
                Err(self.source.error_at(&word, problem))
            }
        }
    }
}
