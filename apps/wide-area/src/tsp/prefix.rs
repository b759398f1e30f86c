//! The jobs: all paths of a number of cities.

use super::table::Table;

/// Jobs that a run may have.
pub const JOBS_MAX: u64 = 1 << 20;

/// All prefixes of one depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Each begins with city 0, in lexicographic order.
    pub jobs: Vec<Vec<u8>>,
    /// The shorter paths above them: nodes that no job counts.
    pub visited: u64,
}

impl Prefixes {
    /// Puts short paths first, which have most below them: members end at the same time if long
    /// jobs come first.
    pub fn shortest_first(mut self, table: &Table) -> Prefixes {
        let distance = |pair: &[u8]| table.row(pair[0].into()).get(usize::from(pair[1])).copied();
        let length =
            |path: &Vec<u8>| -> u64 { path.windows(2).filter_map(distance).map(u64::from).sum() };
        self.jobs.sort_by_cached_key(length);
        self
    }
}

/// All paths of `depth` cities that begin at city 0, of a table of `cities`.
///
/// # Errors
/// A depth outside 1 to the number of cities, or more than [`JOBS_MAX`] jobs.
pub fn prefixes(cities: usize, depth: usize) -> Result<Prefixes, String> {
    if depth < 1 || depth > cities || cities > super::CITIES_MAX {
        return Err(format!("prefixes of {depth} of {cities} cities; give 1 to {cities}"));
    }
    let mut made = Prefixes { jobs: vec![vec![0]], visited: 0 };
    for length in 1..depth {
        let count = made.jobs.len() as u64;
        let longer = count * (cities - length) as u64;
        if longer > JOBS_MAX {
            return Err(format!(
                "prefixes of {depth} of {cities} cities are more than {JOBS_MAX} jobs; \
                 give a smaller depth"
            ));
        }
        made.visited += count;
        made.jobs = made.jobs.iter().flat_map(|path| longer_paths(path, cities)).collect();
    }
    Ok(made)
}

fn longer_paths(path: &[u8], cities: usize) -> impl Iterator<Item = Vec<u8>> {
    let next = (0..cities as u8).filter(|city| !path.contains(city));
    next.map(move |city| [path, &[city]].concat())
}
