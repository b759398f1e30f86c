//! Renderings: IDL text that compiles back, JSON, help pages; golden files in tests/golden/render.

use std::path::Path;

use crate::fixture::*;
use farcall_idl::class_page::class_page;
use farcall_idl::compile;
use farcall_idl::expression::{BinaryOperator, Expression};
use farcall_idl::help::help_page;
use farcall_idl::idl::to_idl;
use farcall_idl::interface::Interface;
use farcall_idl::json::to_json;

/// Compares with a golden file, or writes it if FARCALL_REWRITE is set.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/render").join(name);
    if std::env::var_os("FARCALL_REWRITE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path)
        .expect("a golden file; run with FARCALL_REWRITE=1 to make it");
    assert_eq!(text, expected, "{name}: run with FARCALL_REWRITE=1 if the change is meant");
}

fn compiled(text: &str) -> Interface {
    let module = compile("x.idl", text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    module.routines.into_iter().next().unwrap().interface
}

#[test]
fn idl_text_compiles_to_the_same_interface() {
    for interface in all() {
        let text = to_idl(&interface);
        assert_eq!(compiled(&text), interface, "{text}");
    }
}

#[test]
fn a_method_is_shown_in_its_class() {
    let source = "Module heat;\nDefClass Heat \"A rod\" { \
        DefMethod step(IN int n, OUT double t[n]) \"Some steps.\" Calls \"C\" step(n, t); }";
    let module = compile("x.idl", source).unwrap().with_methods();
    let interface = &module.routines[0].interface;
    assert_eq!(
        (interface.full_name().as_str(), interface.method()),
        ("heat/Heat.step", Some("step"))
    );
    assert_eq!(interface.full_class().as_deref(), Some("heat/Heat"));
    let text = to_idl(interface);
    let again = compile("x.idl", &text)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .with_methods();
    assert_eq!(again.routines[0].interface, *interface, "{text}");
    assert_eq!(to_json(interface)["class"], "Heat");
    assert_eq!(to_json(interface)["class_doc"], "A rod");
    let decoded =
        farcall_idl::decode::decode_interface(&farcall_idl::encode::encode_interface(interface))
            .unwrap();
    assert_eq!(decoded, *interface);
    let routine = Interface { class: String::new(), class_doc: String::new(), ..interface.clone() };
    let hash = farcall_idl::encode::contract_hash;
    assert_eq!(hash(&routine), hash(interface), "a class is no part of the contract");
}

#[test]
fn a_class_has_a_page() {
    let source = "Module heat;\nDefClass Heat \"A rod.\" {
        DefMethod _initialize(IN int n \"cells\") {}
        DefMethod step(IN double dt, OUT double t) \"One step.\" {}
        DefMethod _finalize() {} }
        DefClass Alone { DefMethod f() {} }";
    let module = compile("x.idl", source).unwrap().with_methods();
    let page = |class: &str| {
        let told = |interface: &&Interface| interface.class == class && !interface.is_hook();
        let all: Vec<&Interface> =
            module.routines.iter().map(|routine| &routine.interface).filter(told).collect();
        class_page(&all)
    };
    assert_eq!(
        page("Heat"),
        "heat/Heat\n\n    Heat(n)\n\nA rod.\n\nArguments\n    n  in  int  cells\n\nMethods\n    \
         step(dt) -> t  One step.\n\nExample\n    heat = server.Heat(n)\n    \
         r = heat.step(dt)    # r.t\n"
    );
    assert_eq!(
        page("Alone"),
        "heat/Alone\n\n    Alone()\n\nMethods\n    f() -> None\n\nExample\n    \
         alone = server.Alone()\n    r = alone.f()\n"
    );
}

#[test]
fn hooks_are_what_nobody_calls() {
    let source =
        "DefClass A { DefMethod _initialize() {} DefMethod _finalize() {} DefMethod f() {} }
        DefClass B { DefMethod _initialize(IN int n) {} }";
    let module = compile("x.idl", source).unwrap().with_methods();
    let hooks: Vec<bool> =
        module.routines.iter().map(|routine| routine.interface.is_hook()).collect();
    assert_eq!(hooks, [true, true, false, false]);
}

/// Random expressions over two integer parameters.
fn random_expression(random: &mut farcall_base::SeededRandom, depth: usize) -> Expression {
    use farcall_base::Random;
    const OPERATORS: [BinaryOperator; 17] = [
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Remainder,
        BinaryOperator::Power,
        BinaryOperator::Less,
        BinaryOperator::LessEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterEqual,
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::And,
        BinaryOperator::Or,
        BinaryOperator::ShiftLeft,
        BinaryOperator::ShiftRight,
        BinaryOperator::BitAnd,
    ];
    let kind = if depth == 0 { random.next() % 2 } else { random.next() % 8 };
    match kind {
        0 => p((random.next() % 2) as u16),
        // No constant stands alone: the checker computes constant parts and refuses 1 / 0.
        1 => subtract(i((random.next() % 5) as i64), p(0)),
        2 => negate(p(1)),
        3 => not(random_expression(random, depth - 1)),
        4 => max(random_expression(random, depth - 1), random_expression(random, depth - 1)),
        5 => {
            let condition = random_expression(random, depth - 1);
            select(
                condition,
                random_expression(random, depth - 1),
                random_expression(random, depth - 1),
            )
        }
        _ => {
            let operator = OPERATORS[(random.next() % 17) as usize];
            binary(
                operator,
                random_expression(random, depth - 1),
                random_expression(random, depth - 1),
            )
        }
    }
}

#[test]
fn expression_text_keeps_the_tree() {
    let mut random = farcall_base::SeededRandom::new(7);
    for _ in 0..2000 {
        let size = random_expression(&mut random, 4);
        let with =
            interface("f", vec![int("n"), int("m"), array(In, Float64, "x", vec![dim(size)])]);
        let text = to_idl(&with);
        assert_eq!(compiled(&text), with, "{text}");
    }
}

#[test]
fn characters_behind_a_mask_read_as_characters() {
    let upper = binary(BinaryOperator::BitAnd, p(0), i(95));
    let parameters = vec![
        scalar(In, Char, "job"),
        int("n"),
        array(
            In,
            Float64,
            "x",
            vec![dim(select(equal(upper, 'V'), p(1), binary(BinaryOperator::BitAnd, p(1), i(78))))],
        ),
    ];
    let with = interface("f", parameters);
    let text = to_idl(&with);
    assert!(text.contains("x[(job & 95) == 'V' ? n : n & 78]"), "{text}");
    assert_eq!(compiled(&text), with);
}

#[test]
fn help_pages_read_as_agreed() {
    for interface in [dgesv(), dgemm(), dgesdd(), medley(), limited()] {
        golden(&format!("{}.txt", interface.name), &help_page(&interface));
    }
}

#[test]
fn idl_text_reads_as_agreed() {
    golden("medley.idl", &to_idl(&medley()));
    golden("dgemm.idl", &to_idl(&dgemm()));
    golden("limited.idl", &to_idl(&limited()));
}

#[test]
fn json_has_the_documented_keys() {
    let json = serde_json::to_string_pretty(&to_json(&medley())).unwrap() + "\n";
    golden("medley.json", &json);
    let limited = to_json(&limited());
    assert_eq!(limited["parameters"][0]["among"], "NTC");
    assert_eq!(limited["parameters"][2]["where"], "1 <= k && k <= n");
}
