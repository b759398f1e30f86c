//! All-pairs shortest paths by Floyd's algorithm (wide-area paper, section 4.3).
//!
//! Members own bands of rows of the matrix of distances. In step k the owner of row k hands it to
//! everybody ([`Band::copy_row`]), and all relax their rows with it ([`Band::relax`]): is the way
//! over vertex k shorter? Row k does not change in step k. After step n - 1 the members' [`Summary`]s
//! are added up.
//!
//! Distances are sums of whole numbers: no order changes one. Where two bytes hold the longest
//! distance, as at the paper's size, the matrix has two bytes each, else four: [`Graph::width`].

mod band;
mod graph;
mod market;

pub use band::{Band, Distance, Summary};
pub use graph::{Generated, Graph, VERTICES_MAX, Width};

/// The answer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the matrix is.
    pub summary: Summary,
    /// Relaxations: pairs of vertices for which a way over a third one was tried.
    pub relaxed: u64,
}

/// Solves a graph in one band.
pub fn solve(graph: &Graph) -> Answer {
    match graph.width() {
        Width::Two => solve_with::<u16>(graph).0,
        Width::Four => solve_with::<u32>(graph).0,
    }
}

/// The same with distances of type `T`; also returns the band, whose rows are the whole matrix.
pub fn solve_with<T: Distance>(graph: &Graph) -> (Answer, Band<T>) {
    let vertices = graph.vertices();
    let mut band = Band::new(graph, 0..vertices);
    let mut through = vec![T::UNREACHABLE; vertices];
    let mut relaxed = 0;
    for step in 0..vertices {
        band.copy_row(step, &mut through);
        relaxed += band.relax(step, 0..vertices, &through);
    }
    (Answer { summary: band.summary(), relaxed }, band)
}
