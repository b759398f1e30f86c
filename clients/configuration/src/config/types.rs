//! Types of launchers, proxies and information sources: which there are, and which have an effect.

use super::check::Values;
use super::launch;
use super::mistake::{Remarks, meant, shown};
use super::table;

/// The types that a kind of section may have.
pub(super) struct Types {
    names: Vec<String>,
}

impl Types {
    /// Those of Ninf-G, and those that a section of the file gives a program.
    pub(super) fn of(sections: &[Values], known: &[&str]) -> Types {
        let own = sections.iter().filter(|section| section.text("path").is_some());
        let own = own.filter_map(|section| section.text("type"));
        Types { names: known.iter().map(|name| (*name).to_owned()).chain(own).collect() }
    }

    /// Whether sections have types that exist; says of each type once that it has no effect.
    pub(super) fn check_sections(&self, sections: &[Values], reason: &str, remarks: &mut Remarks) {
        sections.iter().for_each(|section| self.check_use(section, "type", reason, remarks));
    }

    /// The same of a launcher's type. What has a counterpart has an effect, and not every option of
    /// it.
    pub(super) fn check_launcher(
        &self,
        section: &Values,
        attribute: &'static str,
        options: &'static str,
        remarks: &mut Remarks,
    ) {
        launch::check(section, attribute, options, remarks);
        if !launch::is_known(section, attribute) {
            self.check_use(section, attribute, table::INVOKE_SERVER.unused, remarks);
        }
    }

    /// Whether the type exists, which is a mistake otherwise.
    pub(super) fn check_name(
        &self,
        section: &Values,
        attribute: &'static str,
        remarks: &mut Remarks,
    ) -> bool {
        let Some((name, place)) = section.texts(attribute).into_iter().next() else { return true };
        let none = attribute == "communication_proxy" && name == "none";
        if self.names.contains(&name) || none {
            return true;
        }
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let message = format!("{attribute}: there is no type {}", shown(&name));
        remarks.mistake(&place, message, meant(&name, &names));
        false
    }

    fn check_use(
        &self,
        section: &Values,
        attribute: &'static str,
        reason: &str,
        remarks: &mut Remarks,
    ) {
        let Some((name, place)) = section.texts(attribute).into_iter().next() else { return };
        if !self.check_name(section, attribute, remarks) {
            return;
        }
        if name != "NRF" {
            let message = format!("the type {} has no effect: {reason}", shown(&name));
            remarks.warn_once(&format!("type {name} {reason}"), &place, message);
        }
    }
}
