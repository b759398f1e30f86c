//! Structs and numbers that a header lays out in its own way: an interface has no words for that.

#![allow(clippy::unwrap_used)]

use farcall_header::{Draft, Source, draft, plain};

fn drafted(text: &str) -> Draft {
    draft(&[Source { name: "a.h", text }], "./lib.so", None)
}

/// The only message, of a function that is drafted as a comment.
fn refused(text: &str) -> String {
    let draft = drafted(text);
    assert_eq!((draft.routines, draft.problems.len()), (0, 1), "{text}: {:?}", draft.problems);
    assert!(draft.interface.contains("// Not published."), "{}", draft.interface);
    draft.problems[0].message.clone()
}

#[test]
fn packed_structs_are_refused() {
    for text in [
        "#pragma pack(push, 1)\nstruct s { char a; double b; };\n#pragma pack(pop)\n",
        "#pragma pack(1)\ntypedef struct s { char a; double b; } s;\n#pragma pack()\n",
        "struct __attribute__((packed)) s { char a; double b; };\n",
        "struct s { char a; double b; } __attribute__((__packed__));\n",
        "struct [[gnu::packed]] s { char a; double b; };\n",
        // As the preprocessor leaves an included header that forgets to pop.
        "# 1 \"a.h\"\n# 1 \"b.h\" 1\n#pragma pack(1)\n# 2 \"a.h\" 2\nstruct s { char a; double b; \
         };\n",
    ] {
        let message = refused(&format!("{text}double f(struct s x);\n"));
        assert!(message.contains("is packed to 1 byte (line "), "{message}");
        let message = refused(&format!("{text}struct s f(void);\n"));
        assert!(message.contains("cannot be passed: it is packed"), "{message}");
        assert!(refused(&format!("{text}double f(const struct s *x);\n")).contains("is packed"));
    }
    let two =
        "#pragma pack(2)\nstruct s { short a; int b; };\n#pragma pack()\nint f(struct s x);\n";
    assert!(refused(two).contains("is packed to 2 bytes"));
    let field = "struct s { char a; int b __attribute__((packed)); };\nint f(struct s x);\n";
    assert!(refused(field).contains("its field b (line 1) is packed to 1 byte"));
}

#[test]
fn aligned_structs_are_refused() {
    for text in [
        "struct s { char c; double v __attribute__((aligned(32))); };\n",
        "struct s { char c; _Alignas(32) double v; };\n",
        "struct s { char c; __declspec(align(32)) double v; };\n",
        "struct s { char c; alignas(32) double v, w; };\n",
        "struct s { char c; double v; } __attribute__((aligned(32)));\n",
        "struct __declspec(align(32)) s { char c; double v; };\n",
        "__declspec(align(32)) struct s { char c; double v; };\n",
        "typedef double wide __attribute__((aligned(32)));\nstruct s { char c; wide v; };\n",
    ] {
        let message = refused(&format!("{text}double f(struct s x);\n"));
        let is_named = message.contains("aligned to 32 bytes") || message.contains("its field v");
        assert!(is_named, "{text}: {message}");
    }
    let text = "typedef struct { double v; } s __attribute__((aligned(64)));\ndouble f(s x);\n";
    assert!(refused(text).contains("has the type s, which is aligned to 64 bytes (line 1)"));
}

#[test]
fn numbers_of_other_sizes_are_refused() {
    let text = "typedef int wide __attribute__((mode(DI)));\nwide f(void);\n";
    assert!(refused(text).contains("which has the attribute mode (line 1)"));
    let text = "typedef double v4 __attribute__((vector_size(32)));\ndouble f(v4 x);\n";
    assert!(refused(text).contains("has the attribute vector_size"));
}

#[test]
fn layouts_of_c_are_drafted() {
    for text in [
        // Pushed, popped, and none of it holds for the struct.
        "#pragma pack(push, 1)\n#pragma pack(pop)\nstruct s { char a; double b; };\n",
        "#pragma pack(8)\nstruct s { char a; double b; };\n",
        "#pragma pack(4)\nstruct s { char a; float b; };\n",
        "struct __attribute__((packed)) s { char a; unsigned char b; };\n",
        "struct s { char a; double b __attribute__((aligned(8))); };\n",
        "struct s { _Alignas(double) double b; } __attribute__((deprecated));\n",
    ] {
        let draft = drafted(&format!("{text}int f(struct s x);\n"));
        assert!(draft.problems.is_empty() && draft.routines == 1, "{text}: {:?}", draft.problems);
    }
    let text =
        "void *f(int n) __attribute__((malloc, assume_aligned(64), aligned(16)));\nint g(void);";
    assert_eq!(drafted(text).routines, 1);
}

/// Only a preprocessor knows which pragmas hold.
#[test]
fn pragmas_need_a_preprocessor() {
    assert_eq!(plain("#pragma pack(1)\nint f(void);\n"), None);
}
