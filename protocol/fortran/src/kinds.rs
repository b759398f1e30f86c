//! Kinds that modules of the language name, and functions that give kinds.

/// Constants of `iso_fortran_env` and `iso_c_binding`: the module, the name, and the kind, which is
/// the bytes of an element, of a complex number those of a half (gfortran, ifx, flang).
const NAMED: [(&str, &str, i64); 37] = [
    ("iso_fortran_env", "int8", 1),
    ("iso_fortran_env", "int16", 2),
    ("iso_fortran_env", "int32", 4),
    ("iso_fortran_env", "int64", 8),
    ("iso_fortran_env", "real32", 4),
    ("iso_fortran_env", "real64", 8),
    ("iso_fortran_env", "real128", 16),
    ("iso_fortran_env", "logical8", 1),
    ("iso_fortran_env", "logical16", 2),
    ("iso_fortran_env", "logical32", 4),
    ("iso_fortran_env", "logical64", 8),
    ("iso_c_binding", "c_signed_char", 1),
    ("iso_c_binding", "c_short", 2),
    ("iso_c_binding", "c_int", 4),
    ("iso_c_binding", "c_long", 8),
    ("iso_c_binding", "c_long_long", 8),
    ("iso_c_binding", "c_size_t", 8),
    ("iso_c_binding", "c_intptr_t", 8),
    ("iso_c_binding", "c_ptrdiff_t", 8),
    ("iso_c_binding", "c_int8_t", 1),
    ("iso_c_binding", "c_int16_t", 2),
    ("iso_c_binding", "c_int32_t", 4),
    ("iso_c_binding", "c_int64_t", 8),
    ("iso_c_binding", "c_int_least8_t", 1),
    ("iso_c_binding", "c_int_least16_t", 2),
    ("iso_c_binding", "c_int_least32_t", 4),
    ("iso_c_binding", "c_int_least64_t", 8),
    ("iso_c_binding", "c_intmax_t", 8),
    ("iso_c_binding", "c_float", 4),
    ("iso_c_binding", "c_double", 8),
    ("iso_c_binding", "c_long_double", 10),
    ("iso_c_binding", "c_float_complex", 4),
    ("iso_c_binding", "c_double_complex", 8),
    ("iso_c_binding", "c_long_double_complex", 10),
    ("iso_c_binding", "c_bool", 1),
    ("iso_c_binding", "c_char", 1),
    ("iso_fortran_env", "character_storage_size", 8),
];

/// What an intrinsic module names; `None` for a module of the program's own.
pub fn intrinsic(module: &str) -> Option<impl Iterator<Item = (&'static str, i64)>> {
    let known =
        ["iso_fortran_env", "iso_c_binding", "ieee_arithmetic", "ieee_exceptions", "omp_lib"]
            .contains(&module);
    let module = module.to_owned();
    known.then(|| {
        NAMED.into_iter().filter(move |(of, ..)| *of == module).map(|(_, name, kind)| (name, kind))
    })
}

/// `selected_int_kind`.
pub fn selected_int(digits: i64) -> Option<i64> {
    [(2, 1), (4, 2), (9, 4), (18, 8)]
        .into_iter()
        .find(|(most, _)| digits <= *most)
        .map(|(_, kind)| kind)
}

/// `selected_real_kind` of decimal digits and an exponent's range.
pub fn selected_real(digits: i64, range: i64) -> Option<i64> {
    [(6, 37, 4), (15, 307, 8)]
        .into_iter()
        .find(|(p, r, _)| digits <= *p && range <= *r)
        .map(|(.., kind)| kind)
}
