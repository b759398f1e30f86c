//! Advice for a symbol that no library has: the decoration is wrong, or the name is misspelt.

/// What to do about `symbol`, which is not among `exported`.
pub(crate) fn advice(symbol: &str, exported: &[String], no_library: bool) -> String {
    if no_library {
        return "add the library that has it: `Library \"libfoo.so\";`".into();
    }
    let has = |name: &str| exported.iter().any(|candidate| candidate == name);
    let bare = symbol.trim_end_matches('_');
    if has(&format!("{symbol}_")) {
        return format!(
            "the library has \"{symbol}_\": it is Fortran, write `Calls \"Fortran\" {bare}(…)`"
        );
    }
    if bare != symbol && has(bare) {
        return format!(
            "the library has \"{bare}\": write `Calls \"C\"`, or for Fortran `FortranFormat \
                \"%s\";`"
        );
    }
    if has(&bare.to_ascii_uppercase()) {
        let upper = bare.to_ascii_uppercase();
        return format!("the library has \"{upper}\": write `FortranFormat \"%l\";`");
    }
    // gfortran puts the module's name in front of a module procedure; ifort and nvfortran have
    // spellings of their own.
    if let Some(name) = exported.iter().find(|candidate| is_in_module(candidate, bare)) {
        let module = name.trim_end_matches(bare);
        return format!(
            "the library has \"{name}\", a module procedure: write `FortranFormat \"{module}%s\";`"
        );
    }
    // A C++ compiler writes the length and the name, then the types of the arguments.
    let mangled = format!("_Z{}{symbol}", symbol.len());
    if let Some(name) = exported.iter().find(|candidate| candidate.starts_with(&mangled)) {
        return format!(
            "the library has \"{name}\": declare the function `extern \"C\"` in its C++ source"
        );
    }
    match farcall_idl::nearest(symbol, exported.iter().map(String::as_str)) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => {
            "check the spelling with `nm -D`, or add the library that has it to `Library`".into()
        }
    }
}

/// Whether gfortran made `candidate` of the procedure `name` of some module: `__sums_MOD_add`.
fn is_in_module(candidate: &str, name: &str) -> bool {
    let module =
        candidate.strip_prefix("__").and_then(|rest| rest.strip_suffix(&name.to_ascii_lowercase()));
    module.and_then(|rest| rest.strip_suffix("_MOD_")).is_some_and(|module| !module.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advise(symbol: &str, exported: &[&str]) -> String {
        advice(symbol, &exported.iter().map(|name| name.to_string()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn tells_the_decoration_from_the_spelling() {
        assert!(advise("dgesv", &["dgesv_"]).contains("Calls \"Fortran\" dgesv"));
        assert!(advise("solve_", &["solve"]).contains("Calls \"C\""));
        assert!(advise("solve_", &["SOLVE"]).contains("%l"));
        let advice_for_modules = advise("add_", &["__sums_MOD_pad", "__sums_MOD_add"]);
        assert!(
            advice_for_modules.contains("FortranFormat \"__sums_MOD_%s\""),
            "{advice_for_modules}"
        );
        assert!(advise("solve", &["_Z5solveid"]).contains("extern \"C\""));
        assert_eq!(advise("dgesw_", &["dgesvx_", "dgesv_"]), "did you mean \"dgesv_\"?");
        assert!(advise("dgesv_", &["completely", "different"]).contains("nm -D"));
        assert!(advice("f", &[], true).contains("Library"));
    }
}
