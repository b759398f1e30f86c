//! Interfaces of published Python functions: what goes by position, and what signatures hide.

use farcall_idl::interface::Interface;
use farcall_idl::published::{is_beside, is_nullable, ranks};
use farcall_idl::signature::{following, needed, positional, signature};

fn interface(parameters: &str) -> Interface {
    let source = format!("Define two({parameters}, OUT double result) Calls \"C\" two();");
    let module = farcall_idl::compile("two.idl", &source).unwrap();
    module.routines[0].interface.clone()
}

fn names(interface: &Interface, indexes: &[usize]) -> Vec<String> {
    indexes.iter().map(|index| interface.parameters[*index].name.clone()).collect()
}

#[test]
fn the_order_by_position_is_that_of_the_declaration() {
    let two = interface(
        "IN double a, IN double lo = 1.0, IN string tag \"default 't'\", IN double hi = 2.0",
    );
    assert_eq!(names(&two, &positional(&two)), ["a", "lo", "tag", "hi"]);
    assert_eq!(names(&two, &needed(&two)), ["a"]);
    assert_eq!(signature(&two), "two(a, lo=1.0, tag=None, hi=2.0) -> result");
    // All have defaults, the first one a number that may be None.
    let all = interface("const IN double y[1] \"default None\", IN int k = -1, IN char c = 'N'");
    assert_eq!(names(&all, &positional(&all)), ["y", "k", "c"]);
    assert_eq!(signature(&all), "two(y=None, k=-1, c='N') -> result");
    // A field of a class that may be left out.
    let field = interface("IN double p_a \"field p.a\", IN string p_b \"field p.b, default 'x'\"");
    assert_eq!(signature(&field), "two(p_a, p_b=None) -> result");
}

#[test]
fn what_could_be_mistaken_goes_by_name() {
    let between = interface("IN string tag \"default 't'\", IN double a");
    assert!(following(&between).is_empty());
    assert_eq!(signature(&between), "two(a, *, tag=None) -> result");
    let computed = interface("IN int n, IN int m = 2 * n, IN int k = 3");
    assert_eq!(signature(&computed), "two(n, k=3, *, m=None) -> result");
}

#[test]
fn descriptions_that_speak_of_defaults_elsewhere_mean_nothing() {
    let plain = interface("IN string tag \"the default is t\", OUT string end[1] \"default x\"");
    assert!(plain.parameters.iter().all(|parameter| !is_nullable(parameter)));
    assert_eq!(names(&plain, &needed(&plain)), ["tag"]);
}

#[test]
fn what_stands_beside_an_array_is_not_shown() {
    let any = interface(
        "IN int64 _x_rank = 0, IN int64 n, IN int64 m, const IN double x[n][m], \
         IN int64 _y_rank = 0",
    );
    assert_eq!(ranks(&any), [(0, 3)]);
    assert!(is_beside(&any, 0) && !is_beside(&any, 4), "there is no y");
    assert_eq!(signature(&any), "two(x, _y_rank=0, *, n=None, m=None) -> result");
    let page = farcall_idl::help::help_page(&any);
    assert!(page.contains("rank of x (default 0)"), "{page}");
}
