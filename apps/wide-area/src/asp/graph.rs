//! Weighted directed graphs: generated, or read from a file.

use super::market;
use crate::input::{InputError, Source};
use crate::random::Random;
use crate::tsp::Table;

/// Vertices that a graph may have: a matrix of four bytes each has one GiB then.
pub const VERTICES_MAX: usize = 1 << 14;
/// The longest distance in two bytes.
const TWO_BYTES_MAX: u64 = u16::MAX as u64 - 1;
/// The longest distance in four bytes.
pub(super) const FOUR_BYTES_MAX: u64 = u32::MAX as u64 / 2 - 1;

/// Bytes of a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// `u16`.
    Two,
    /// `u32`.
    Four,
}

/// A random graph: each edge depends on these numbers and its two vertices alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Where the numbers come from.
    pub seed: u64,
    /// Vertices.
    pub vertices: usize,
    /// Edges have lengths from 1 to this.
    pub length_max: u32,
    /// Of each 65,536 pairs of vertices, how many have no edge.
    pub absent: u16,
}

impl Default for Generated {
    /// The paper's size: 3000 vertices with all edges. Distances fit in two bytes, and in ten bits.
    fn default() -> Self {
        Generated { seed: 1, vertices: 3000, length_max: 1000, absent: 0 }
    }
}

/// A directed graph whose edges have lengths of 0 or more.
#[derive(Clone, Debug)]
pub struct Graph {
    vertices: usize,
    edges: Edges,
    width: Width,
}

#[derive(Clone, Debug)]
enum Edges {
    Generated(Generated),
    /// The edges in order of their first vertex, and where each vertex's begin.
    Listed {
        begins: Vec<usize>,
        edges: Vec<(u32, u32)>,
    },
    Table(Table),
}

impl Graph {
    /// A random graph.
    ///
    /// # Errors
    /// No vertices, or more than [`VERTICES_MAX`]; or lengths whose sums do not fit in 31 bits.
    pub fn generated(generated: Generated) -> Result<Graph, String> {
        let Generated { vertices, length_max, absent, .. } = generated;
        if !(1..=VERTICES_MAX).contains(&vertices) {
            return Err(format!("a graph of {vertices} vertices; give 1 to {VERTICES_MAX}"));
        }
        let most = length_most(vertices);
        if length_max < 1 || length_max > most {
            return Err(format!("edges of lengths up to {length_max}; give 1 to {most}"));
        }
        let width = width(vertices, length_max, absent == 0);
        Ok(Graph { vertices, edges: Edges::Generated(generated), width })
    }

    /// Reads a Matrix Market file, which begins with `%%MatrixMarket`: an entry is an edge from its
    /// row to its column. Else a TSPLIB file: an edge between each two cities.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn read(source: &Source<'_>) -> Result<Graph, InputError> {
        if source.text.trim_start().starts_with('%') {
            return market::read(source);
        }
        Ok(Graph::of_table(Table::read(source)?))
    }

    /// The graph of a table of distances.
    pub fn of_table(table: Table) -> Graph {
        let vertices = table.cities();
        let longest = (0..vertices).flat_map(|row| table.row(row)).max().copied().unwrap_or(0);
        Graph { vertices, edges: Edges::Table(table), width: width(vertices, longest, true) }
    }

    /// The graph of these edges, each `[from, to, length]` with vertices that exist.
    pub(super) fn of_edges(vertices: usize, mut listed: Vec<[u32; 3]>) -> Graph {
        listed.sort_unstable();
        let begin = |vertex| listed.partition_point(|edge| (edge[0] as usize) < vertex);
        let begins = (0..vertices + 1).map(begin).collect();
        let longest = listed.iter().map(|edge| edge[2]).max().unwrap_or(0);
        let has_all = listed.len() == vertices * (vertices - 1);
        let edges = listed.iter().map(|edge| (edge[1], edge[2])).collect();
        let width = width(vertices, longest, has_all);
        Graph { vertices, edges: Edges::Listed { begins, edges }, width }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// How many bytes hold each distance, and each sum that is tried.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Hands each edge from a vertex to another one to `edge`, as its end and its length. A vertex
    /// that is not there has none.
    pub fn edges_from(&self, from: usize, edge: &mut dyn FnMut(usize, u32)) {
        if from >= self.vertices {
            return;
        }
        let others = (0..self.vertices).filter(|to| *to != from);
        match &self.edges {
            Edges::Generated(generated) => {
                for to in others {
                    if let Some(length) = generated.length(from, to) {
                        edge(to, length);
                    }
                }
            }
            Edges::Listed { begins, edges } => {
                for (to, length) in &edges[begins[from]..begins[from + 1]] {
                    edge(*to as usize, *length);
                }
            }
            Edges::Table(table) => others.for_each(|to| edge(to, table.row(from)[to])),
        }
    }
}

impl Generated {
    fn length(&self, from: usize, to: usize) -> Option<u32> {
        let index = (from as u64) << 32 | to as u64;
        let mut random = Random::of_part(self.seed, index);
        let is_absent = random.below(1 << 16) < u64::from(self.absent);
        let length = 1 + random.below(self.length_max.into()) as u32;
        (!is_absent).then_some(length)
    }
}

/// The longest edge with which a path over all vertices fits in four bytes.
pub(super) fn length_most(vertices: usize) -> u32 {
    (FOUR_BYTES_MAX / vertices.saturating_sub(1).max(1) as u64) as u32
}

/// With an edge between each two vertices no distance is longer than the longest edge; else a path
/// may have all vertices.
fn width(vertices: usize, longest: u32, has_all: bool) -> Width {
    let edges = if has_all { 1 } else { vertices.saturating_sub(1).max(1) as u64 };
    if u64::from(longest) * edges <= TWO_BYTES_MAX { Width::Two } else { Width::Four }
}
