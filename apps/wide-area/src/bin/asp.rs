//! All-pairs shortest paths: each member has rows of the matrix, and every row is handed to all (wide-area
//! paper, section 4.3).
//!
//! Usage: asp [VERTICES [SEED] | FILE]; without arguments the paper's size, 3000 vertices. The file is
//! of the Matrix Market or of TSPLIB.

use std::collections::BTreeMap;
use std::process::ExitCode;

use farcall_wide::{Error, ErrorKind, Fold, Member, Order, Result};
use farcall_wide_area::asp::{Band, Distance, Generated, Graph, Width};
use farcall_wide_area::input::Source;
use farcall_wide_area::split::part;

fn main() -> ExitCode {
    farcall_wide::main(program)
}

fn program(me: &Member) -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let graph = graph(&arguments)?;
    match graph.width() {
        Width::Two => solve::<u16>(me, &graph),
        Width::Four => solve::<u32>(me, &graph),
    }
}

fn solve<T: Distance + Cells>(me: &Member, graph: &Graph) -> Result<()> {
    let vertices = graph.vertices();
    let own = part(vertices, me.members() as usize, me.rank() as usize);
    let mut band = Band::<T>::new(graph, own.clone());
    let own_rank = me.rank();
    // Rows that others have handed over, by the step that they are for.
    let rows = me.replica("rows", Order::Total, BTreeMap::new(), move |rows, from, row| {
        if from != own_rank {
            let (step, cells) = row.split_first_chunk().ok_or_else(|| wrong("a row is cut off"))?;
            rows.insert(u64::from_le_bytes(*step) as usize, cells.to_vec());
        }
        Ok(())
    })?;
    let mut through = vec![T::UNREACHABLE; vertices];
    for step in 0..vertices {
        if band.copy_row(step, &mut through) {
            let cells = through.iter().flat_map(|cell| cell.bytes());
            let row: Vec<u8> = (step as u64).to_le_bytes().into_iter().chain(cells).collect();
            rows.change(&row)?;
        } else {
            let row: Vec<u8> = rows.wait(&format!("row {step}"), |rows| rows.remove(&step))?;
            T::read(&row, &mut through);
        }
        me.work("asp", band.relax(step, own.clone(), &through))?;
    }
    let summary = band.summary();
    let sums = [summary.checksum, summary.sum, summary.unreachable];
    let sums = me.all_reduce(Fold::Sum, &sums)?;
    me.answer(&format!(
        "{vertices} vertices, sum {}, unreachable {}, checksum {:016x}",
        sums[1], sums[2], sums[0]
    ))
}

/// Distances as bytes of a message, little-endian.
trait Cells: Copy {
    fn bytes(self) -> impl Iterator<Item = u8>;
    fn read(bytes: &[u8], into: &mut [Self]);
}

macro_rules! cells {
    ($($cell:ident)*) => {
        $(impl Cells for $cell {
            fn bytes(self) -> impl Iterator<Item = u8> {
                self.to_le_bytes().into_iter()
            }

            fn read(bytes: &[u8], into: &mut [$cell]) {
                for (cell, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
                    *cell = $cell::from_le_bytes(*bytes);
                }
            }
        })*
    };
}

cells! { u16 u32 }

fn graph(arguments: &[String]) -> Result<Graph> {
    let number = |text: &String| {
        text.parse::<u64>().map_err(|_| wrong("an argument is no number").with("argument", text))
    };
    let generated = match arguments {
        [] => Generated::default(),
        [file] if file.parse::<u64>().is_err() => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Error::system("read a graph", error).with("file", file))?;
            let source = Source { file, text: &text };
            return Graph::read(&source).map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, "read a graph", error.to_string())
            });
        }
        [vertices] => Generated { vertices: number(vertices)? as usize, ..Generated::default() },
        [vertices, seed] => Generated {
            vertices: number(vertices)? as usize,
            seed: number(seed)?,
            ..Generated::default()
        },
        _ => return Err(wrong("it takes two arguments at most")),
    };
    Graph::generated(generated).map_err(|message| wrong("no such graph").with("because", message))
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read a graph", message)
        .fix("asp [VERTICES [SEED] | FILE]")
}
