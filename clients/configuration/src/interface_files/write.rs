//! Writes interface files of both forms, as `ng_gen_nrf` and the tools of Ninf-G 2 did.

use std::fmt::Write;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, Interface, Module, Parameter, Shape};

use super::DataType;

/// Namespaces of Ninf-G 5.
const NRF: &str = "http://ninf.apgrid.org/2006/12/NinfGRemoteInformation";
const REI: &str = "http://ninf.apgrid.org/2006/12/RemoteExecutableInformation";
/// Letters of base64 in a line.
const LINE: usize = 76;

/// A stub executable and where it is.
#[derive(Clone, Debug)]
pub struct Stub {
    /// Its host.
    pub hostname: String,
    /// Its absolute path.
    pub path: PathBuf,
    /// The prefix of the tools that made it.
    pub prefix: PathBuf,
    /// What it carries: one routine, or the methods of one class.
    pub module: Module,
}

impl Stub {
    /// The function or class that it is: `module/name`.
    pub fn name(&self) -> String {
        let first = self.module.routines.first().map(|routine| &routine.interface);
        let name = first.map_or("", |interface| {
            if interface.class.is_empty() {
                interface.name.as_str()
            } else {
                interface.class.as_str()
            }
        });
        if self.module.name.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.module.name)
        }
    }

    fn class(&self) -> String {
        let routines = &self.module.routines;
        let mut text = format!(
            "<class name=\"{}\" version=\"1.0\" numMethods=\"{}\">\n",
            escaped(&self.name()),
            routines.len()
        );
        for (index, routine) in routines.iter().enumerate() {
            method(&mut text, index, &routine.interface);
        }
        let backend =
            routines.first().map_or("", |routine| routine.implementation.backend.as_str());
        let backend = if backend.is_empty() { "normal" } else { backend };
        let _ = writeln!(
            text,
            "  <classAttribute backend=\"{}\" language=\"C\"/>\n</class>",
            escaped(backend)
        );
        text
    }
}

/// The text of an `.nrf` file.
pub fn nrf(stubs: &[Stub]) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<nrf:NinfGRemoteInformation \
            xmlns:nrf=\"{NRF}\" xmlns:rei=\"{REI}\">\n"
    );
    for stub in stubs {
        let _ = write!(
            text,
            "<rei:RemoteExecutableInformation>\n<rei:hostName>{}</rei:hostName>\n<rei:path>{}</rei:path>\n\
             <rei:ngdir>{}</rei:ngdir>\n{}</rei:RemoteExecutableInformation>\n",
            escaped(&stub.hostname),
            escaped(&stub.path.display().to_string()),
            escaped(&stub.prefix.display().to_string()),
            stub.class(),
        );
    }
    text + "</nrf:NinfGRemoteInformation>\n"
}

/// The text of an `.ngdef` file.
pub fn ldif(stubs: &[Stub]) -> String {
    let mut text = String::new();
    for stub in stubs {
        let name = stub.name();
        let entry = name.rsplit('/').next().unwrap_or_default();
        let encoded = STANDARD.encode(stub.class());
        let lines: Vec<&str> = encoded
            .as_bytes()
            .chunks(LINE)
            .filter_map(|line| std::str::from_utf8(line).ok())
            .collect();
        let _ = write!(
            text,
            "dn: GridRPC-Funcname={name}, Mds-Host-hn={host}\nobjectClass: \
             GridRPCEntry\nGridRPC-Hostname: {host}\nGridRPC-Funcname: {name}\nGridRPC-Module: \
             {module}\nGridRPC-Entry: {entry}\nGridRPC-Path: {path}\nGridRPC-Stub:: {stub}\n\n",
            host = stub.hostname,
            module = stub.module.name,
            path = stub.path.display(),
            stub = lines.join("\n "),
        );
    }
    text
}

/// Text as XML has it, between quotes, too. What no XML may hold becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\r' | '\t' => escaped.push(' '),
            letter if letter.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&letter) => {
                escaped.push('?')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn method(text: &mut String, index: usize, interface: &Interface) {
    let name = if interface.class.is_empty() {
        "__default__"
    } else {
        interface.method().unwrap_or(&interface.name)
    };
    let _ = writeln!(text, "  <method name=\"{}\" id=\"{index}\">", escaped(name));
    for parameter in &interface.parameters {
        argument(text, parameter);
    }
    let order = interface
        .complexity
        .as_ref()
        .map(|order| interface.expression_text(order))
        .unwrap_or_default();
    let _ = writeln!(
        text,
        "    <methodAttribute shrink=\"no\"><calculationOrder>{}</calculationOrder>\
         <description>{}</description></methodAttribute>\n  </method>",
        escaped(&order),
        escaped(&interface.doc),
    );
}

fn argument(text: &mut String, parameter: &Parameter) {
    let (data_type, dimensions) = match &parameter.shape {
        Shape::Callback { .. } => (DataType::Callback, &[][..]),
        Shape::Scalar => (DataType::Element(parameter.element), &[][..]),
        Shape::Array { dimensions, .. } => {
            (DataType::Element(parameter.element), dimensions.as_slice())
        }
    };
    // Types of ours alone: the nearest that readers of these files know.
    let data_type = data_type.name().unwrap_or("char");
    let mode = parameter.mode.word().to_lowercase();
    let _ = write!(text, "    <arg ioMode=\"{mode}\" dataType=\"{data_type}\">");
    for dimension in dimensions {
        let _ = write!(text, "<subscript>{}<start/><end/><skip/></subscript>", size(dimension));
    }
    text.push_str("</arg>\n");
}

/// The size where it is a constant; what it depends on is the server's to say.
fn size(dimension: &Dimension) -> String {
    match dimension.size {
        Expression::Integer(size) => {
            format!("<size><expression><immediate val=\"{size}\"/></expression></size>")
        }
        _ => "<size/>".to_owned(),
    }
}
