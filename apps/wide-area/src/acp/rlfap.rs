//! Radio link frequency assignment (CELAR): networks of the JSON files that the XCSP3 models read.
//!
//! Variables are frequencies; a constraint says that two of them are a distance apart, or more.

use std::collections::BTreeSet;

use super::json::{Node, Value, parse};
use super::network::{Network, VALUES_MAX};
use crate::input::{InputError, Source};

/// Bytes that a file may have.
const BYTES_MAX: usize = 1 << 26;
/// Variables that a network may have.
const VARIABLES_MAX: usize = 1 << 17;

/// Which part of a file makes the network. The default is what every solution must satisfy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Constraints up to this weight are taken: 0 is hard, higher ones may be violated at a cost.
    pub weight_max: i64,
    /// So many of the highest frequencies of the file are taken from all domains.
    pub highest_dropped: usize,
}

/// Reads a network: an object with `domains` (lists of frequencies), `vars` (`domain`, and `value`
/// with `mobility` 0 where the frequency is fixed) and `ctrs` (`x`, `y`, `operator` `=` or `>`,
/// `limit`, `weight`). Other members are left out.
///
/// # Errors
/// What is no JSON, a member that is missing or of another kind, and numbers of domains or
/// variables that are not there.
pub fn read_rlfap(source: &Source<'_>, selection: Selection) -> Result<Network, InputError> {
    source.check_size(BYTES_MAX)?;
    let root = parse(source)?;
    let reader = Reader { source };
    let domains = reader.domains(&root, selection)?;
    let variables = reader.variables(&root, &domains)?;
    let values = domains.iter().map(Vec::len).max().unwrap_or(0);
    let mut network = Network::new(variables.len(), values);
    for (variable, (domain, fixed)) in variables.iter().enumerate() {
        let values = domains[*domain].iter().enumerate();
        let kept = values.filter(|(_, frequency)| fixed.is_none_or(|fixed| fixed == **frequency));
        kept.for_each(|(value, _)| network.add_value(variable, value));
    }
    for constraint in reader.list(&root, "ctrs")? {
        if reader.number_or(constraint, "weight", 0)? <= selection.weight_max {
            reader.constrain(&mut network, constraint, &domains, &variables)?;
        }
    }
    Ok(network)
}

/// A variable: its domain, and its frequency where that is fixed.
type Variable = (usize, Option<i64>);

struct Reader<'a> {
    source: &'a Source<'a>,
}

impl Reader<'_> {
    fn error(&self, node: &Node, problem: impl Into<String>) -> InputError {
        self.source.error_at_byte(node.at, problem)
    }

    fn member<'n>(&self, node: &'n Node, name: &str) -> Result<&'n Node, InputError> {
        let problem = || format!("{} without `{name}`; add this member", node.kind());
        node.member(name).ok_or_else(|| self.error(node, problem()))
    }

    fn list<'n>(&self, node: &'n Node, name: &str) -> Result<&'n [Node], InputError> {
        let member = self.member(node, name)?;
        match &member.value {
            Value::List(list) => Ok(list),
            _ => Err(self.error(member, format!("{}, expected a list: `{name}`", member.kind()))),
        }
    }

    fn number(&self, node: &Node) -> Result<i64, InputError> {
        match node.value {
            Value::Number(number) if number.unsigned_abs() <= i32::MAX as u64 => Ok(number),
            Value::Number(_) => Err(self.error(node, "the number is beyond ±2147483647")),
            _ => Err(self.error(node, format!("{}, expected a whole number", node.kind()))),
        }
    }

    /// A number that may be missing or null.
    fn number_or(&self, node: &Node, name: &str, other: i64) -> Result<i64, InputError> {
        match node.member(name) {
            None | Some(Node { value: Value::Null, .. }) => Ok(other),
            Some(member) => self.number(member),
        }
    }

    /// A number that counts something of which there are `count`.
    fn number_below(&self, node: &Node, name: &str, count: usize) -> Result<usize, InputError> {
        let member = self.member(node, name)?;
        let number = self.number(member)?;
        let problem = || format!("`{name}` is {number}, but there are {count}, from 0 on");
        let number = usize::try_from(number).ok().filter(|number| *number < count);
        number.ok_or_else(|| self.error(member, problem()))
    }

    fn domains(&self, root: &Node, selection: Selection) -> Result<Vec<Vec<i64>>, InputError> {
        let mut domains: Vec<Vec<i64>> = Vec::new();
        for node in self.list(root, "domains")? {
            let list = match &node.value {
                Value::Null => &[][..],
                Value::List(list) if list.len() <= VALUES_MAX => list,
                Value::List(_) => {
                    return Err(self.error(node, "a domain has 1024 frequencies at most"));
                }
                _ => {
                    let problem = format!("{}, expected a list of frequencies", node.kind());
                    return Err(self.error(node, problem));
                }
            };
            let mut domain = Vec::with_capacity(list.len());
            for node in list {
                let frequency = self.number(node)?;
                if domain.contains(&frequency) {
                    let problem = format!("frequency {frequency} is there twice; remove one");
                    return Err(self.error(node, problem));
                }
                domain.push(frequency);
            }
            domains.push(domain);
        }
        let all: BTreeSet<i64> = domains.iter().flatten().copied().collect();
        let dropped: BTreeSet<i64> =
            all.into_iter().rev().take(selection.highest_dropped).collect();
        domains.iter_mut().for_each(|domain| domain.retain(|value| !dropped.contains(value)));
        Ok(domains)
    }

    fn variables(&self, root: &Node, domains: &[Vec<i64>]) -> Result<Vec<Variable>, InputError> {
        let list = self.list(root, "vars")?;
        if list.len() > VARIABLES_MAX {
            return Err(self.error(root, format!("more than {VARIABLES_MAX} variables")));
        }
        let read = |node: &Node| {
            let domain = self.number_below(node, "domain", domains.len())?;
            let mobility = self.number_or(node, "mobility", 0)?;
            let value = self.number_or(node, "value", i64::MAX)?;
            let is_fixed = value != i64::MAX && mobility == 0;
            Ok((domain, is_fixed.then_some(value)))
        };
        list.iter().map(read).collect()
    }

    fn constrain(
        &self,
        network: &mut Network,
        node: &Node,
        domains: &[Vec<i64>],
        variables: &[Variable],
    ) -> Result<(), InputError> {
        let x = self.number_below(node, "x", variables.len())?;
        let y = self.number_below(node, "y", variables.len())?;
        if x == y {
            return Err(self.error(node, "`x` and `y` are the same variable; name two"));
        }
        let limit = self.number(self.member(node, "limit")?)?;
        let operator = self.member(node, "operator")?;
        let is_equal = match &operator.value {
            Value::Text(text) if text == "=" => true,
            Value::Text(text) if text == ">" => false,
            _ => return Err(self.error(operator, "`operator` is \"=\" or \">\"")),
        };
        let x_values = &domains[variables[x].0];
        let y_values = &domains[variables[y].0];
        let allows = |a: usize, b: usize| {
            let distance = (x_values[a] - y_values[b]).abs();
            if is_equal { distance == limit } else { distance > limit }
        };
        // Domains, limits and operators are few: constraints with the same share their table.
        let name = [variables[x].0 as i64, variables[y].0 as i64, limit, i64::from(is_equal)];
        let sizes = (x_values.len(), y_values.len());
        let made = network.constrain((x, y), sizes, name, allows);
        made.map_err(|problem| self.error(node, problem))
    }
}
