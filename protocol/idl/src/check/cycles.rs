//! Values and sizes must not depend on themselves (spec/idl.md, section 5.2).

use crate::diagnostic::{Problems, shown};
use crate::expression::Expression;
use crate::interface::{Parameter, Shape};
use crate::parse::tree;
use crate::values::DEFAULT_CHAIN_MAX;

/// Reports every parameter whose size, condition or value needs itself, and chains of values that
/// are too long.
pub(super) fn check(parameters: &[Parameter], trees: &[tree::Parameter], problems: &mut Problems) {
    let needs: Vec<Vec<usize>> = parameters.iter().map(needed).collect();
    let mut search =
        Search { needs: &needs, state: vec![State::New; parameters.len()], path: Vec::new() };
    let mut cyclic = false;
    for index in 0..parameters.len() {
        if let Some(cycle) = search.visit(index) {
            cyclic = true;
            report(&cycle, parameters, trees, problems);
        }
        search.path.clear();
    }
    if !cyclic {
        chains(parameters, trees, &needs, problems);
    }
}

/// Shows the circle itself: which of its parameters is to blame, only its author knows.
fn report(
    cycle: &[usize],
    parameters: &[Parameter],
    trees: &[tree::Parameter],
    problems: &mut Problems,
) {
    const NAMES_MAX: usize = 6;
    let mut names: Vec<String> =
        cycle.iter().take(NAMES_MAX).map(|index| shown(&parameters[*index].name)).collect();
    if cycle.len() > NAMES_MAX {
        names.push("…".to_string());
    }
    names.push(names[0].clone());
    let message = format!("'{}' depends on itself: {}", names[0], names.join(" → "));
    problems.add_with_help(
        trees[cycle[0]].name.span,
        message,
        "give one of them a size or value that does not depend on the others",
    );
}

/// All parameters that a parameter's expressions refer to.
fn needed(parameter: &Parameter) -> Vec<usize> {
    let mut list = Vec::new();
    let mut add = |expression: &Expression| {
        expression.refers_to(&mut |index| {
            list.push(usize::from(index));
            false
        });
    };
    if let Shape::Array { dimensions, .. } = &parameter.shape {
        for dimension in dimensions {
            add(&dimension.size);
            [&dimension.start, &dimension.end, &dimension.stride]
                .into_iter()
                .flatten()
                .for_each(&mut add);
        }
    }
    [&parameter.when, &parameter.given, &parameter.default].into_iter().flatten().for_each(add);
    list.sort_unstable();
    list.dedup();
    list
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

/// Depth-first search; as deep as there are parameters, which the parser bounds.
struct Search<'n> {
    needs: &'n [Vec<usize>],
    state: Vec<State>,
    path: Vec<usize>,
}

impl Search<'_> {
    /// A cycle that can be reached from `index` and has not been seen before.
    fn visit(&mut self, index: usize) -> Option<Vec<usize>> {
        match self.state.get(index)? {
            State::Done => return None,
            State::Open => {
                let begin = self.path.iter().position(|open| *open == index)?;
                return Some(self.path[begin..].to_vec());
            }
            State::New => {}
        }
        self.state[index] = State::Open;
        self.path.push(index);
        let needs = self.needs;
        let found = needs[index].iter().find_map(|next| self.visit(*next));
        self.path.pop();
        self.state[index] = State::Done;
        found
    }
}

/// Values that are worked out from values that are worked out …: evaluation bounds how far it
/// follows them.
fn chains(
    parameters: &[Parameter],
    trees: &[tree::Parameter],
    needs: &[Vec<usize>],
    problems: &mut Problems,
) {
    let mut lengths = vec![None; parameters.len()];
    for index in 0..parameters.len() {
        if length(index, parameters, needs, &mut lengths) == DEFAULT_CHAIN_MAX + 1 {
            let message = format!(
                "the value of '{}' depends on other parameters in more than {DEFAULT_CHAIN_MAX} \
                    steps",
                shown(&parameters[index].name)
            );
            problems.add(trees[index].name.span, message);
        }
    }
}

/// Steps to the value of a parameter: 0 if the caller always gives it.
fn length(
    index: usize,
    parameters: &[Parameter],
    needs: &[Vec<usize>],
    known: &mut Vec<Option<usize>>,
) -> usize {
    if parameters[index].default.is_none() {
        return 0;
    }
    if let Some(steps) = known[index] {
        return steps;
    }
    let below =
        needs[index].iter().map(|next| length(*next, parameters, needs, known)).max().unwrap_or(0);
    known[index] = Some(below + 1);
    below + 1
}
