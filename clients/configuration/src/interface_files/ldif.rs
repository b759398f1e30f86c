//! The older form: records of `name: value` lines, `name:: value` in base64, a line that begins
//! with a blank goes on.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farcall_base::Result;

use super::{Class, Description, invalid, xml};

/// Every function of the file.
pub(super) fn records(text: &str) -> Result<Vec<Description>> {
    let mut found = Vec::new();
    let mut record = Record::default();
    for (number, line) in unfolded(text) {
        if line.trim().is_empty() {
            found.extend(std::mem::take(&mut record).description()?);
        } else if !line.starts_with('#') {
            record.add(number, &line)?;
        }
    }
    found.extend(record.description()?);
    if found.is_empty() {
        return Err(invalid(
            "it describes no function: there is no record with GridRPC-Funcname and GridRPC-Path",
        ));
    }
    Ok(found)
}

/// The lines, each with those that continue it, and its number.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(rest), Some((_, before))) if !before.trim().is_empty() => before.push_str(rest),
            _ => lines.push((number, line.to_owned())),
        }
    }
    lines
}

/// The attributes of a record by name in lower case: LDAP makes no difference.
#[derive(Default)]
struct Record {
    line: usize,
    values: BTreeMap<String, String>,
}

impl Record {
    fn add(&mut self, number: usize, line: &str) -> Result<()> {
        let at = |message: &str| invalid(message).with("line", number);
        let Some((name, value)) = line.split_once(':') else {
            return Err(at("a line is not `name: value`"));
        };
        let value = match value.strip_prefix(':') {
            Some(encoded) => decode(encoded).ok_or_else(|| at("a value is not base64 of text"))?,
            None => value.trim().to_owned(),
        };
        if self.values.is_empty() {
            self.line = number;
        }
        // Object classes stand several times; nothing that is asked for does.
        self.values.entry(name.trim().to_ascii_lowercase()).or_insert(value);
        Ok(())
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What the record describes; `None` for one about something else.
    fn description(self) -> Result<Option<Description>> {
        let path = self.value("gridrpc-path");
        let (Some(path), Some(name)) = (path, self.name()) else { return Ok(None) };
        let Some(hostname) = self.value("gridrpc-hostname") else {
            return Err(invalid("a function has no GridRPC-Hostname").with("line", self.line));
        };
        let class = self.value("gridrpc-stub").map(|stub| self.class(stub)).transpose()?;
        Ok(Some(Description { hostname: hostname.to_owned(), name, path: path.into(), class }))
    }

    /// `module/function`, which is also written in two.
    fn name(&self) -> Option<String> {
        let whole = self.value("gridrpc-funcname").map(str::to_owned);
        whole.or_else(|| {
            Some(format!("{}/{}", self.value("gridrpc-module")?, self.value("gridrpc-entry")?))
        })
    }

    fn class(&self, stub: &str) -> Result<Class> {
        xml::class(stub).map_err(|error| error.with("in the record at line", self.line))
    }
}

fn decode(encoded: &str) -> Option<String> {
    let letters: Vec<u8> = encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    String::from_utf8(STANDARD.decode(letters).ok()?).ok()
}
