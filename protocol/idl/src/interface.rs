//! The compiled interface of a routine: data that both sides read, and nothing else (spec/idl.md,
//! section 6).
//!
//! `Interface` is what travels to clients. `Implementation` says how a server calls the routine and
//! never leaves it.

use crate::expression::Expression;

/// Where a parameter's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Caller to routine.
    In,
    /// Routine to caller.
    Out,
    /// Both ways.
    InOut,
    /// Exists only on the server: never passed by a caller, never on the wire.
    Work,
}

impl Mode {
    /// Whether the caller sends a value.
    pub fn is_input(self) -> bool {
        matches!(self, Mode::In | Mode::InOut)
    }

    /// Whether the caller gets a value.
    pub fn is_output(self) -> bool {
        matches!(self, Mode::Out | Mode::InOut)
    }
}

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// `char`: one byte; a Fortran CHARACTER.
    Char,
    /// Signed 8-bit integer.
    Int8,
    /// Unsigned 8-bit integer.
    UInt8,
    /// `short`.
    Int16,
    /// `unsigned short`.
    UInt16,
    /// `int`; a Fortran INTEGER; a Fortran LOGICAL.
    Int32,
    /// `unsigned`.
    UInt32,
    /// `long`, `long long`.
    Int64,
    /// `unsigned long`.
    UInt64,
    /// `float`.
    Float32,
    /// `double`.
    Float64,
    /// `scomplex`: two `float`.
    Complex64,
    /// `dcomplex`: two `double`.
    Complex128,
    /// A struct of the interface's own, by index into [`Interface::structs`].
    Struct(u16),
    /// `string`: NUL-terminated text of any length.
    String,
    /// `filename`: the content of a file.
    Filename,
}

/// A struct of scalars and fixed arrays, laid out as C does (natural alignment).
#[derive(Clone, Debug, PartialEq)]
pub struct StructType {
    /// Its name in the IDL.
    pub name: String,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type: a number or `Char`; never a struct, string or filename.
    pub element: ElementType,
    /// Number of elements; 1 for a scalar.
    pub count: u32,
    /// Distance from the struct's begin, in bytes.
    pub offset: u32,
}

/// How a multi-dimensional array lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last index varies fastest (C).
    Row,
    /// The first index varies fastest (Fortran): declared `column`.
    Column,
}

/// One dimension: `[size]` or `[size : start, end, stride]`.
///
/// The routine sees `size` elements; only the elements `start, start+stride, … < end` travel, at
/// their own indexes.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Number of elements in memory.
    pub size: Expression,
    /// First element that travels; 0 when absent.
    pub start: Option<Expression>,
    /// End (exclusive) of what travels; `size` when absent or zero.
    pub end: Option<Expression>,
    /// Distance between elements that travel; 1 when absent or zero.
    pub stride: Option<Expression>,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// One value.
    Scalar,
    /// An array with these dimensions, in declared order. A `String` or `Filename` element makes an
    /// array of them.
    Array {
        /// Dimensions, outermost as declared.
        dimensions: Vec<Dimension>,
        /// Storage order.
        order: Order,
    },
    /// A function of the client that the routine may call.
    Callback {
        /// Its parameters, in order. Sizes refer to these, by index.
        parameters: Vec<Parameter>,
    },
}

/// The values that a routine allows for an IN scalar. Caller and server refuse all others before
/// anything runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// `among "NTC"`: these characters, letters in either case. Upper case, visible, none twice,
    /// never empty.
    Characters(String),
    /// `where k <= n`: the condition must not be zero. It refers to scalars alone.
    Condition(Expression),
}

/// One parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Direction.
    pub mode: Mode,
    /// Type of an element.
    pub element: ElementType,
    /// Scalar, array or callback.
    pub shape: Shape,
    /// `when`: the routine refers to the parameter only if this is not zero; otherwise nothing
    /// travels.
    pub when: Option<Expression>,
    /// `given when`: the routine reads the INOUT array only if this is not zero; otherwise it comes
    /// back alone. A real number, of scalars alone.
    pub given: Option<Expression>,
    /// `= value` of an IN scalar that a caller may leave out; the value of a WORK scalar.
    pub default: Option<Expression>,
    /// `among`, `where`: the values allowed for an IN scalar; any where there is none.
    pub domain: Option<Domain>,
    /// `const`: the routine never writes to this IN array, so the caller's own memory may be lent
    /// to it.
    pub constant: bool,
    /// An integer scalar whose type says 64 bits (`size_t`): of a `long`, Ninf 1 passes 32.
    pub wide: bool,
    /// `filepointer`: a file that C routines and C callers have as an open `FILE *`, and others by
    /// its path.
    pub stream: bool,
    /// `logical`, `bool`: whole numbers that say true or false, of which every one but 0 is true.
    pub logical: bool,
    /// The OUT number of a callback that the function returns: code calls `double f(double)`.
    pub returned: bool,
    /// The routine's integer that a size of a callback names: the executable sends it.
    pub captured: Option<u16>,
    /// One line for people.
    pub doc: String,
    /// Physical unit ("K", "m/s"); empty if none.
    pub unit: String,
}

/// What a client needs to know to call a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Module; empty for none.
    pub module: String,
    /// Name within the module.
    pub name: String,
    /// Other names within the same module.
    pub aliases: Vec<String>,
    /// What it does, for people.
    pub doc: String,
    /// Struct types that parameters use.
    pub structs: Vec<StructType>,
    /// All parameters, WORK ones included, in declared order; callbacks last.
    pub parameters: Vec<Parameter>,
    /// May be run twice with the effect of once.
    pub idempotent: bool,
    /// Floating-point operations of a call (`CalcOrder`); evaluated as a real number.
    pub complexity: Option<Expression>,
    /// Number of processors a call uses.
    pub processors: Option<Expression>,
    /// What each process of a call is given, where its caller does not ask for something else.
    pub resources: farcall_base::Resources,
    /// The class whose method it is; empty for a routine. A method's name is `Class.method`.
    pub class: String,
    /// What that class is, for people.
    pub class_doc: String,
}

/// The backend of what says nothing about it.
pub(crate) const NORMAL: &str = "normal";
/// The method that begins an object.
pub const INITIALIZE: &str = "_initialize";
/// The method that ends one.
pub const FINALIZE: &str = "_finalize";

impl Interface {
    /// `module/name`, or the bare name where there is no module.
    pub fn full_name(&self) -> String {
        if self.module.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.module, self.name)
        }
    }

    /// `method` of a `Class.method`; `None` for a routine.
    pub fn method(&self) -> Option<&str> {
        if self.class.is_empty() {
            None
        } else {
            self.name.strip_prefix(self.class.as_str())?.strip_prefix('.')
        }
    }

    /// `module/Class`, or the class alone where there is no module; `None` for a routine.
    pub fn full_class(&self) -> Option<String> {
        let full = || {
            if self.module.is_empty() {
                self.class.clone()
            } else {
                format!("{}/{}", self.module, self.class)
            }
        };
        self.method().map(|_| full())
    }

    /// Whether it is run with an object, and called by nobody: `_finalize`, and an `_initialize`
    /// that takes nothing.
    pub fn is_hook(&self) -> bool {
        match self.method() {
            Some(INITIALIZE) => self.parameters.is_empty(),
            Some(FINALIZE) => true,
            _ => false,
        }
    }

    /// Index and parameter of everything a caller passes (all but WORK), in order.
    pub fn caller_parameters(&self) -> impl Iterator<Item = (usize, &Parameter)> {
        self.parameters.iter().enumerate().filter(|(_, parameter)| parameter.mode != Mode::Work)
    }
}

/// The language whose calling convention a routine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C; IN scalars by value, arrays and results by pointer.
    C,
    /// C++: as C, but compiled and linked as C++.
    Cpp,
    /// Fortran: everything by reference, string lengths hidden behind the arguments.
    Fortran,
}

/// Where a Fortran compiler expects the hidden lengths of CHARACTER arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringConvention {
    /// After all arguments, as `size_t` values (gfortran, flang, ifort): the default.
    End,
    /// Directly behind each string.
    After,
    /// No hidden lengths.
    None,
}

/// How the call reaches the routine's code.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// `Calls`: an existing symbol.
    Symbol {
        /// Linker name, decoration applied (`dgesv_`).
        symbol: String,
        /// Indexes of the parameters in the order the symbol takes them.
        arguments: Vec<usize>,
        /// Index of the OUT parameter that takes the function's result, if the routine is a
        /// function.
        result: Option<usize>,
    },
    /// `{ … }`: inline C or C++ text with its first line's place in the source.
    Body {
        /// The text between the braces.
        text: String,
        /// File of the first line.
        file: String,
        /// Line of the first line, from 1.
        line: u32,
    },
}

/// How a server calls a routine. Never leaves the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Implementation {
    /// Calling convention.
    pub language: Language,
    /// Hidden string lengths.
    pub strings: StringConvention,
    /// Symbol or inline code.
    pub code: Code,
    /// Objects and archives this routine needs (`Required`).
    pub required: Vec<String>,
    /// `"normal"`, `"MPI"`, `"BLACS"`, as written.
    pub backend: String,
    /// What each parameter is to the ranks but the first, in order; empty where no parameter says
    /// anything.
    pub distribution: Vec<Distribution>,
}

/// What an array is to the ranks of an MPI routine that do not talk to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// NULL.
    #[default]
    Root,
    /// `broadcast`: memory with what the caller sent.
    Broadcast,
    /// `allocate`: zeroed memory.
    Allocate,
}

impl Implementation {
    /// Whether it runs in several processes that MPI starts.
    pub fn is_parallel(&self) -> bool {
        is_parallel(&self.backend)
    }

    /// What a parameter is to the ranks but the first.
    pub fn distribution(&self, parameter: usize) -> Distribution {
        self.distribution.get(parameter).copied().unwrap_or_default()
    }
}

/// Whether what has this backend runs in several processes that MPI starts.
pub fn is_parallel(backend: &str) -> bool {
    !backend.is_empty() && !backend.eq_ignore_ascii_case(NORMAL)
}

/// A compiled routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    /// What clients see.
    pub interface: Interface,
    /// What the server does.
    pub implementation: Implementation,
}

/// `DefClass`: a remote object's class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub doc: String,
    /// `DefState`: raw C declarations, and the place of the first line.
    pub state: Option<(String, String, u32)>,
    /// `DefMethod`s; `_initialize` and `_finalize` among them. Interface names are the bare method
    /// names.
    pub methods: Vec<Routine>,
    /// Objects and archives.
    pub required: Vec<String>,
    /// Backend, as written.
    pub backend: String,
    /// Language of its code.
    pub language: Language,
}

/// A compiled IDL file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// `Module` name; the file's stem where the file names none.
    pub name: String,
    /// Routines in file order.
    pub routines: Vec<Routine>,
    /// Classes in file order.
    pub classes: Vec<Class>,
    /// `Library` strings in file order: shared libraries (`libopenblas.so.0`, a path, `-lfoo`) or
    /// objects and archives.
    pub libraries: Vec<String>,
    /// `Globals`: raw C text with file and line of its first line.
    pub globals: Vec<(String, String, u32)>,
    /// `CompileOptions`, in order.
    pub compile_options: Vec<String>,
    /// `Compiler`, if named.
    pub compiler: Option<String>,
    /// `Linker`, if named.
    pub linker: Option<String>,
    /// `executables_max`: processes that it may have at a time; 0: any number.
    pub executables_max: u32,
}
