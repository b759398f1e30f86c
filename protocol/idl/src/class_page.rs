//! A class as a page that a person reads.

use std::fmt::Write as _;

use crate::help::{example, write_table};
use crate::interface::{INITIALIZE, Interface};
use crate::signature::signature;

/// What the class is, how an object of it begins, and its methods, of which there is at least one.
pub fn class_page(methods: &[&Interface]) -> String {
    let Some(first) = methods.first() else { return String::new() };
    let (begin, rest): (Vec<&Interface>, Vec<&Interface>) =
        methods.iter().partition(|method| method.method() == Some(INITIALIZE));
    let made = begin.first().copied();
    let mut page = first.full_class().unwrap_or_default() + "\n\n";
    let _ = writeln!(page, "    {}\n", making(first, made));
    if !first.class_doc.is_empty() {
        let _ = writeln!(page, "{}\n", first.class_doc.trim_end());
    }
    if let Some(made) = made {
        if !made.doc.is_empty() {
            let _ = writeln!(page, "{}\n", made.doc.trim_end());
        }
        write_table(&mut page, made);
        page.push('\n');
    }
    write_methods(&mut page, &rest);
    let object = made.map_or_else(|| alone(first), example);
    let call = rest.first().map(|method| format!("\n    {}", example(method))).unwrap_or_default();
    let _ = writeln!(page, "\nExample\n    {object}{call}");
    page
}

/// `Spectrum(lines)`.
fn making(first: &Interface, made: Option<&Interface>) -> String {
    let taken = made.map_or_else(|| "()".to_owned(), head);
    let taken = taken.split(" -> ").next().unwrap_or_default();
    first.class.clone() + taken.strip_prefix(INITIALIZE).unwrap_or(taken)
}

fn alone(first: &Interface) -> String {
    format!("{} = server.{}()", first.class.to_lowercase(), first.class)
}

fn write_methods(page: &mut String, methods: &[&Interface]) {
    if methods.is_empty() {
        return;
    }
    let heads: Vec<String> = methods.iter().map(|method| head(method)).collect();
    let width = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
    page.push_str("Methods\n");
    for (method, head) in methods.iter().zip(&heads) {
        let line = format!("    {head:width$}  {}", method.doc.lines().next().unwrap_or_default());
        let _ = writeln!(page, "{}", line.trim_end());
    }
}

/// A method's signature without its class.
fn head(method: &Interface) -> String {
    let signature = signature(method);
    let class = format!("{}.", method.class);
    signature.strip_prefix(class.as_str()).unwrap_or(&signature).to_owned()
}
