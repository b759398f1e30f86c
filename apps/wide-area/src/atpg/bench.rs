//! The reader of `.bench` files, the format of the ISCAS-85 circuits (Brglez, Fujiwara 1985).

use std::collections::HashMap;

use super::circuit::{Circuit, Kind, Lists};
use crate::input::{InputError, Source, Word};

/// Bytes that a file may have.
const BYTES_MAX: usize = 1 << 25;
/// Nodes that a circuit may have.
const NODES_MAX: usize = 1 << 17;
/// Pins that a gate may have.
const PINS_MAX: usize = 1 << 10;

/// The words of the format for gates.
const KINDS: &[(&str, Kind)] = &[
    ("AND", Kind::And),
    ("NAND", Kind::Nand),
    ("OR", Kind::Or),
    ("NOR", Kind::Nor),
    ("XOR", Kind::Xor),
    ("XNOR", Kind::Xnor),
    ("NOT", Kind::Not),
    ("INV", Kind::Not),
    ("BUF", Kind::Buffer),
    ("BUFF", Kind::Buffer),
];

/// What the lines of a file define, in their order.
#[derive(Default)]
struct Definitions<'a> {
    numbers: HashMap<&'a str, usize>,
    nodes: Vec<Node<'a>>,
    outputs: Vec<Word<'a>>,
}

struct Node<'a> {
    name: Word<'a>,
    kind: Kind,
    reads: Vec<Word<'a>>,
}

impl Circuit {
    /// Reads a circuit: lines `INPUT(a)`, `OUTPUT(b)` and `b = NAND(a, c)`; `#` begins a comment.
    ///
    /// # Errors
    /// What is no such line, an unknown kind of gate, a wrong number of pins, a name that is
    /// defined twice or never, a circle of gates, and a circuit without inputs or outputs.
    pub fn read(source: &Source<'_>) -> Result<Circuit, InputError> {
        source.check_size(BYTES_MAX)?;
        let mut definitions = Definitions::default();
        for (index, line) in source.text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or(line);
            if !code.trim().is_empty() {
                definitions.read_line(source, code, index + 1)?;
            }
        }
        definitions.circuit(source)
    }
}

impl<'a> Definitions<'a> {
    fn read_line(
        &mut self,
        source: &Source<'_>,
        code: &'a str,
        line: usize,
    ) -> Result<(), InputError> {
        let (head, list) = split_call(source, code, line)?;
        if let Some((name, kind)) = head.split_once('=') {
            let name = word_at(code, name, line);
            let kind = word_at(code, kind, line);
            let kind = known_kind(source, &kind)?;
            check_pins(source, &name, kind, list.len())?;
            return self.define(source, Node { name, kind, reads: list });
        }
        let head = word_at(code, head, line);
        let [name] = list[..] else {
            let problem = format!("`{}` names one line, here are {}", head.text, list.len());
            return Err(source.error_at(&head, problem));
        };
        match head.text.to_ascii_uppercase().as_str() {
            "INPUT" => self.define(source, Node { name, kind: Kind::Input, reads: Vec::new() }),
            "OUTPUT" => {
                self.outputs.push(name);
                Ok(())
            }
            _ => {
                let problem = format!(
                    "`{}` is no statement; write `INPUT(a)`, `OUTPUT(b)` or `b = NAND(a, c)`",
                    head.text
                );
                Err(source.error_at(&head, problem))
            }
        }
    }

    fn define(&mut self, source: &Source<'_>, node: Node<'a>) -> Result<(), InputError> {
        let name = node.name;
        if self.nodes.len() == NODES_MAX {
            let problem = format!("more than {NODES_MAX} nodes; give a smaller circuit");
            return Err(source.error_at(&name, problem));
        }
        if let Some(first) = self.numbers.insert(name.text, self.nodes.len()) {
            let line = self.nodes[first].name.line;
            let problem = format!("`{}` is already defined on line {line}; rename one", name.text);
            return Err(source.error_at(&name, problem));
        }
        self.nodes.push(node);
        Ok(())
    }

    fn number(&self, source: &Source<'_>, name: &Word<'_>) -> Result<usize, InputError> {
        let problem = || {
            let name = name.text;
            format!("`{name}` is defined nowhere; write `INPUT({name})` or `{name} = …`")
        };
        self.numbers.get(name.text).copied().ok_or_else(|| source.error_at(name, problem()))
    }

    fn circuit(&self, source: &Source<'_>) -> Result<Circuit, InputError> {
        let mut reads = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let numbers: Result<Vec<usize>, InputError> =
                node.reads.iter().map(|name| self.number(source, name)).collect();
            reads.push(numbers?);
        }
        let order = self.order(source, &reads)?;
        let mut places = vec![0; order.len()];
        for (place, node) in order.iter().enumerate() {
            places[*node] = place as u32;
        }
        let mut circuit = Circuit {
            names: order.iter().map(|node| self.nodes[*node].name.text.to_string()).collect(),
            kinds: order.iter().map(|node| self.nodes[*node].kind).collect(),
            reads: Lists::default(),
            readers: Lists::default(),
            is_output: vec![false; order.len()],
            inputs: self.nodes.iter().filter(|node| node.kind == Kind::Input).count(),
        };
        let mut readers = vec![Vec::new(); order.len()];
        for (place, node) in order.iter().enumerate() {
            let list = reads[*node].iter().map(|read| places[*read]);
            list.clone().for_each(|read| readers[read as usize].push(place as u32));
            circuit.reads.push(list);
        }
        readers.into_iter().for_each(|list| circuit.readers.push(list));
        for name in &self.outputs {
            let place = places[self.number(source, name)?] as usize;
            if std::mem::replace(&mut circuit.is_output[place], true) {
                let problem = format!("`{}` is an output already; remove one line", name.text);
                return Err(source.error_at(name, problem));
            }
        }
        check_ends(source, &circuit)?;
        Ok(circuit)
    }

    /// Inputs, then gates, each behind what it reads; else in the order of the file.
    fn order(&self, source: &Source<'_>, reads: &[Vec<usize>]) -> Result<Vec<usize>, InputError> {
        let mut readers = vec![Vec::new(); reads.len()];
        let mut missing = vec![0; reads.len()];
        for (node, list) in reads.iter().enumerate() {
            missing[node] = list.len();
            list.iter().for_each(|read| readers[*read].push(node));
        }
        let is_input = |node: &usize| self.nodes[*node].kind == Kind::Input;
        let mut order: Vec<usize> = (0..reads.len()).filter(is_input).collect();
        let mut done = 0;
        while let Some(node) = order.get(done).copied() {
            done += 1;
            for reader in &readers[node] {
                missing[*reader] -= 1;
                if missing[*reader] == 0 {
                    order.push(*reader);
                }
            }
        }
        let Some(stuck) = missing.iter().position(|missing| *missing > 0) else { return Ok(order) };
        let name = self.nodes[stuck].name;
        let problem = format!(
            "`{}` depends on itself; a combinational circuit has no circle: cut it",
            name.text
        );
        Err(source.error_at(&name, problem))
    }
}

/// Splits `head(a, b)` into its head and its list.
fn split_call<'a>(
    source: &Source<'_>,
    code: &'a str,
    line: usize,
) -> Result<(&'a str, Vec<Word<'a>>), InputError> {
    let begin = word_at(code, code, line);
    let expected = "expected `INPUT(a)`, `OUTPUT(b)` or `b = NAND(a, c)`";
    let call = code.trim_end().strip_suffix(')').and_then(|code| code.split_once('('));
    let Some((head, list)) = call else {
        return Err(source.error_at(&begin, format!("no list in parentheses; {expected}")));
    };
    let list: Vec<Word<'a>> = list.split(',').map(|name| word_at(code, name, line)).collect();
    let is_odd = |word: &&Word<'_>| {
        word.text.is_empty() || word.text.contains(|c: char| c.is_whitespace() || "()=".contains(c))
    };
    match list.iter().find(is_odd) {
        Some(word) => Err(source.error_at(word, format!("`{}` is no name; {expected}", word.text))),
        None => Ok((head, list)),
    }
}

/// The trimmed `piece` of a line as a word; `piece` is a part of `code` in memory.
fn word_at<'a>(code: &'a str, piece: &'a str, line: usize) -> Word<'a> {
    let text = piece.trim();
    let skipped = (text.as_ptr() as usize).saturating_sub(code.as_ptr() as usize);
    let before = code.get(..skipped).unwrap_or(code);
    Word { text, line, column: before.chars().count() + 1 }
}

fn known_kind(source: &Source<'_>, word: &Word<'_>) -> Result<Kind, InputError> {
    let upper = word.text.to_ascii_uppercase();
    let known = KINDS.iter().find(|(name, _)| *name == upper);
    known.map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let kept = if upper.starts_with("DFF") { " (circuits here keep no state)" } else { "" };
        let problem =
            format!("`{}` is no kind of gate{kept}; write one of {}", word.text, names.join(", "));
        source.error_at(word, problem)
    })
}

fn check_pins(
    source: &Source<'_>,
    name: &Word<'_>,
    kind: Kind,
    pins: usize,
) -> Result<(), InputError> {
    let allowed = if matches!(kind, Kind::Not | Kind::Buffer) { 1..=1 } else { 2..=PINS_MAX };
    if allowed.contains(&pins) {
        return Ok(());
    }
    let range = if *allowed.end() == 1 { "1" } else { "2 or more, 1024 at most" };
    let problem = format!("`{}` has {pins} inputs; its kind has {range}", name.text);
    Err(source.error_at(name, problem))
}

fn check_ends(source: &Source<'_>, circuit: &Circuit) -> Result<(), InputError> {
    if circuit.inputs() == 0 {
        return Err(source.error(1, 1, "no inputs; write a line `INPUT(a)` for each"));
    }
    if circuit.outputs() == 0 {
        return Err(source.error(1, 1, "no outputs; write a line `OUTPUT(b)` for each"));
    }
    Ok(())
}
