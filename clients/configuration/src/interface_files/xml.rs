//! The XML of interface files. Names count without their namespace: versions of Ninf-G put them in
//! different ones.

use farcall_base::{Error, ErrorKind, Result};
use roxmltree::{Document, Node, ParsingOptions};

use super::describe::{Argument, Class, DataType, Method};
use super::{Description, invalid};

/// Elements and texts of one document; the largest library of functions known has a thousandth of
/// it.
const NODES_MAX: u32 = 2_000_000;

/// Every function of an `.nrf` file.
pub(super) fn remote_information(text: &str) -> Result<Vec<Description>> {
    let document = parse(text)?;
    let root = document.root_element();
    if !is(root, "NinfGRemoteInformation") {
        return Err(at(
            root,
            format!("<{}> is not NinfGRemoteInformation", root.tag_name().name()),
        ));
    }
    let found: Vec<Description> =
        children(root, "RemoteExecutableInformation").map(description).collect::<Result<_>>()?;
    if found.is_empty() {
        return Err(at(root, "it describes no function: there is no RemoteExecutableInformation"));
    }
    Ok(found)
}

/// The class that a record in base64 describes.
pub(super) fn class(text: &str) -> Result<Class> {
    class_of(parse(text)?.root_element())
}

/// Without DTDs there are no entities, which would grow, or be fetched from elsewhere.
fn parse(text: &str) -> Result<Document<'_>> {
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => {
            let message = format!("it has more than {NODES_MAX} elements");
            Error::new(ErrorKind::LimitExceeded, "read an interface file", message)
        }
        roxmltree::Error::DtdDetected => {
            invalid("it has a DTD, which is not allowed in interface files")
        }
        other => invalid(other.to_string()),
    })
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn children<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| is(*child, name))
}

fn at(node: Node<'_, '_>, message: impl Into<String>) -> Error {
    let place = node.document().text_pos_at(node.range().start);
    invalid(message).with("at", format!("{}:{}", place.row, place.col))
}

/// The text of a child that must be there.
fn text_of(node: Node<'_, '_>, name: &'static str) -> Result<String> {
    let text =
        children(node, name).next().and_then(|child| child.text()).map(str::trim).unwrap_or("");
    if text.is_empty() {
        return Err(at(node, format!("<{}> has no {name}", node.tag_name().name())));
    }
    Ok(text.to_owned())
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str> {
    // Namespaces of attributes differ as those of elements do.
    let found = node
        .attributes()
        .find(|attribute| attribute.name() == name)
        .map(|attribute| attribute.value());
    found.ok_or_else(|| at(node, format!("<{}> has no {name}", node.tag_name().name())))
}

fn description(node: Node<'_, '_>) -> Result<Description> {
    let Some(described) = children(node, "class").next() else {
        return Err(at(node, "it has no class"));
    };
    let class = class_of(described)?;
    Ok(Description {
        hostname: text_of(node, "hostName")?,
        name: class.name.clone(),
        path: text_of(node, "path")?.into(),
        class: Some(class),
    })
}

fn class_of(node: Node<'_, '_>) -> Result<Class> {
    if !is(node, "class") {
        return Err(at(node, format!("<{}> is not a class", node.tag_name().name())));
    }
    let methods = children(node, "method").map(method).collect::<Result<Vec<_>>>()?;
    if methods.is_empty() {
        return Err(at(node, "the class has no method"));
    }
    let said = children(node, "classAttribute").next();
    let word = |name: &str| {
        said.and_then(|said| attribute(said, name).ok()).unwrap_or_default().to_owned()
    };
    Ok(Class {
        name: attribute(node, "name")?.to_owned(),
        methods,
        backend: word("backend"),
        language: word("language"),
    })
}

fn method(node: Node<'_, '_>) -> Result<Method> {
    let arguments = children(node, "arg").map(argument).collect::<Result<Vec<_>>>()?;
    Ok(Method { name: attribute(node, "name")?.to_owned(), arguments })
}

fn argument(node: Node<'_, '_>) -> Result<Argument> {
    let word = attribute(node, "dataType")?;
    let data_type =
        DataType::named(word).ok_or_else(|| at(node, format!("there is no dataType {word:?}")))?;
    let mode = attribute(node, "ioMode").unwrap_or("in");
    let mode = super::describe::mode_named(mode)
        .ok_or_else(|| at(node, format!("there is no ioMode {mode:?}")))?;
    let sizes = children(node, "subscript").map(constant_size).collect();
    Ok(Argument { mode, data_type, sizes })
}

/// The size of a dimension, where it is a constant.
fn constant_size(subscript: Node<'_, '_>) -> Option<i64> {
    let size = children(subscript, "size").next()?;
    let expression = children(size, "expression").next()?;
    let mut elements = expression.children().filter(Node::is_element);
    match (elements.next(), elements.next()) {
        (Some(only), None) if is(only, "immediate") => {
            attribute(only, "val").ok()?.trim().parse().ok()
        }
        _ => None,
    }
}
