//! All that a build will do, known before it begins: files, commands and the key they give.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::interface::Module;
use farcall_services::spawner::system_files::shared_objects;
use farcall_system::plain_file;
use sha2::{Digest, Sha256};

use super::command::{Confined, Giver, Run};
use super::confined::{Confinement, Reads};
use super::generate::{self, Source};
use super::toolchain::{self, Inputs, Toolchain};
use super::workspace::Workspace;
use super::{BuildOptions, absolute, headers};

/// Changes whenever the same inputs would give another executable.
const FORMAT: &str = "farcall executable 1";
/// Name of what the linker makes.
const EXECUTABLE: &str = "executable";
/// An object or archive larger than this is a mistake.
const OBJECT_BYTES_MAX: u64 = 1 << 30;
/// A list of headers longer than this is none.
const RULE_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of standard output of a compiler: it has nothing to say there.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// The hungriest C++ wants two or three gigabytes. What wants more than this will not stop there,
/// and would take the memory of everybody on the machine.
const ADDRESS_SPACE_MAX: Bytes = Bytes(8 << 30);

/// Identity of a build's inputs, but for the headers that only the compiler finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub [u8; 32]);

/// A build to be made.
pub(crate) struct Plan {
    sources: Vec<Source>,
    toolchain: Toolchain,
    inputs: Inputs,
    /// Options that make the linker take copies of `Globals` in several files.
    duplicates: Vec<String>,
    /// Run-time libraries of other compilers.
    run_times: Vec<&'static str>,
    /// `-I` options.
    include: Vec<String>,
    /// Where `libfarcall.so` is.
    library_directory: PathBuf,
    base: PathBuf,
    time_max: std::time::Duration,
    giver: Giver,
    confinement: Option<Confinement>,
    key: Key,
}

/// What a build made, still in its workspace.
pub(crate) struct Made {
    pub executable: File,
    pub headers: Vec<PathBuf>,
    pub warnings: String,
}

impl Plan {
    /// Plans the build of `module`; reads its objects and archives, runs nothing.
    pub fn of(module: &Module, options: &BuildOptions) -> Result<Plan> {
        let base = absolute(&options.source_directory)?;
        let inputs = Inputs::of(module, &base)?;
        let include = [&base].into_iter().chain(&options.include_directories);
        let include = include.map(|directory| Ok(format!("-I{}", absolute(directory)?.display())));
        // Several files hold the same `Globals`: whatever they define is one thing, the first.
        let copies = generate::copies_of_globals(module);
        let duplicates = (copies > 1).then(|| "-Wl,--allow-multiple-definition".to_string());
        let mut plan = Plan {
            sources: generate::sources(module),
            toolchain: Toolchain::of(module)?,
            duplicates: duplicates.into_iter().collect(),
            run_times: Vec::new(),
            include: include.collect::<Result<_>>()?,
            library_directory: absolute(&options.library_directory)?,
            inputs,
            base,
            time_max: options.time_max,
            giver: options.giver.clone(),
            confinement: options.confinement.clone(),
            key: Key([0; 32]),
        };
        if plan.confinement.is_some() {
            plan.toolchain.check(&plan.inputs.arguments)?;
        }
        plan.read_objects()?;
        Ok(plan)
    }

    /// Completes the key, and notes the run-time libraries, from the bytes of the objects.
    fn read_objects(&mut self) -> Result<()> {
        let mut hash = Sha256::new();
        add_text(&mut hash, FORMAT);
        for source in &self.sources {
            add_text(&mut hash, &source.name);
            add_text(&mut hash, &source.text);
        }
        let places = format!(
            "{:?} {:?} {:?} {:?}",
            self.include, self.library_directory, self.base, self.inputs
        );
        add_text(&mut hash, &places);
        add_text(&mut hash, &self.toolchain.identity());
        for file in &self.inputs.files {
            let bytes = read_object(file)?;
            self.run_times.extend(toolchain::run_times(&bytes));
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
        self.key = Key(hash.finalize().into());
        Ok(())
    }

    /// Identity of the inputs.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Where it is made: in a folder of the confinement's, whose user may enter it, or else in
    /// `directory`.
    pub fn workspace(&self, directory: &Path) -> Result<Workspace> {
        match &self.confinement {
            Some(by) => Workspace::new(by.folder.as_deref().unwrap_or(directory), by.limits.user),
            None => Workspace::new(directory, None),
        }
    }

    /// Compiles and links in `workspace`. All that we write is written before a compiler runs.
    pub fn make(&self, workspace: &Workspace) -> Result<Made> {
        let write = |source: &Source| workspace.write(&source.name, &mut source.text.as_bytes());
        let files = self.sources.iter().map(write).collect::<Result<Vec<_>>>()?;
        let mut objects = Vec::new();
        let mut rules = Vec::new();
        let mut warnings = String::new();
        let made = workspace.made();
        let confined = self.confined(workspace, &made);
        let confined = confined.as_ref();
        for (source, file) in self.sources.iter().zip(&files) {
            let name =
                |ending| Path::new(&source.name).with_extension(ending).display().to_string();
            let object = name("o");
            let rule = name("d");
            let command =
                self.compile_command(source, file, &made.join(&object), &made.join(&rule));
            warnings += &self.run(&command, confined, "compile the module")?;
            if !source.visible.is_empty() {
                self.run(
                    &hide_command(source, &made.join(&object)),
                    confined,
                    "separate the state of a class",
                )?;
            }
            rules.push(made_text(workspace, &rule));
            objects.push(object);
        }
        // The table comes first: its `main` is the one that counts, whatever `Globals` may define.
        objects.rotate_right(1);
        let run_times = self.run_times_of(workspace, &objects)?;
        let objects: Vec<PathBuf> = objects.iter().map(|object| made.join(object)).collect();
        warnings += &self
            .link(&Linked { objects, run_times, executable: made.join(EXECUTABLE) }, confined)?;
        let executable = workspace
            .open(EXECUTABLE)
            .map_err(|error| Error::system("open what the linker made", error))?;
        Ok(Made {
            executable,
            headers: headers::headers(&rules, &self.base, workspace.path()),
            warnings,
        })
    }

    /// The run-time libraries of other compilers that objects ask for, those that the module names
    /// among them.
    fn run_times_of(&self, workspace: &Workspace, objects: &[String]) -> Result<Vec<&'static str>> {
        let mut run_times = self.run_times.clone();
        for object in objects {
            let bytes = workspace
                .read(object, OBJECT_BYTES_MAX)
                .map_err(|error| unread_object(&error, &workspace.made().join(object)))?;
            run_times.extend(toolchain::run_times(&bytes));
        }
        run_times.sort_unstable();
        run_times.dedup();
        Ok(run_times)
    }

    /// What compiler and linker may read: headers and libraries that their commands name.
    fn confined<'a>(&'a self, workspace: &Workspace, scratch: &'a Path) -> Option<Confined<'a>> {
        let by = self.confinement.as_ref()?;
        let mut reads = Reads::beside(&self.base);
        reads.headers(&self.base);
        // Farcall's own come behind the module's folder, and what was generated.
        let own = self.include.iter().skip(1).filter_map(|option| option.strip_prefix("-I"));
        own.for_each(|folder| reads.folder(Path::new(folder)));
        reads.folder(&workspace.sources());
        let words = self.toolchain.words();
        reads.options(&words, &self.base);
        reads.options(&self.inputs.arguments, &self.base);
        self.toolchain.programs().for_each(|program| reads.compiler(program));
        self.inputs.files.iter().for_each(|file| reads.object(file));
        self.inputs.arguments.iter().filter(|word| word.starts_with('/')).for_each(|word| {
            reads.object(Path::new(word));
            Path::new(word).parent().into_iter().for_each(|folder| reads.libraries(folder));
        });
        shared_objects(&self.library_directory).iter().for_each(|file| reads.object(file));
        Some(Confined { by, rules: reads.rules(&by.limits, &self.base, scratch), scratch })
    }

    fn compile_command(
        &self,
        source: &Source,
        file: &Path,
        object: &Path,
        rule: &Path,
    ) -> Vec<String> {
        let mut words = self.toolchain.compile(source.language);
        words.extend_from_slice(&self.include);
        let [file, object, rule] = [file, object, rule].map(|path| path.display().to_string());
        if !source.visible.is_empty() {
            // What is common to files cannot be made one file's own.
            words.push("-fno-common".into());
        }
        words.extend(["-MMD".into(), "-MF".into(), rule, "-c".into(), file, "-o".into(), object]);
        words
    }

    /// Links; an old compiler that never made position-independent executables does not know how to
    /// be asked not to.
    fn link(&self, linked: &Linked, confined: Option<&Confined<'_>>) -> Result<String> {
        let words = self.link_command(linked, &["-no-pie"]);
        match self.run(&words, confined, "link the module") {
            Err(error)
                if error.message().contains("unrecognized")
                    && error.message().contains("-no-pie") =>
            {
                self.run(&self.link_command(linked, &[]), confined, "link the module")
            }
            result => result,
        }
    }

    fn link_command(&self, linked: &Linked, options: &[&str]) -> Vec<String> {
        let shown = |path: &Path| path.display().to_string();
        let mut words = self.toolchain.linker().to_vec();
        words.extend(options.iter().map(|option| option.to_string()));
        words.extend_from_slice(&self.duplicates);
        words.extend(["-o".into(), shown(&linked.executable)]);
        words.extend(linked.objects.iter().map(|object| shown(object)));
        // In a group archives may need one another in any order.
        words.push("-Wl,--start-group".into());
        words.extend_from_slice(&self.inputs.arguments);
        words.push("-Wl,--end-group".into());
        words.extend_from_slice(self.toolchain.link_options());
        words.extend(linked.run_times.iter().map(|library| library.to_string()));
        let directory = shown(&self.library_directory);
        words.extend([format!("-L{directory}"), "-lfarcall".into(), "-lm".into()]);
        words.extend(["-Xlinker", "-rpath", "-Xlinker"].map(String::from));
        words.push(directory);
        words
    }

    /// Runs one command; its messages are warnings if it succeeds, the error if not.
    fn run(
        &self,
        words: &[String],
        confined: Option<&Confined<'_>>,
        operation: &'static str,
    ) -> Result<String> {
        let run = Run {
            words,
            directory: &self.base,
            input: None,
            output_bytes_max: OUTPUT_BYTES_MAX,
            time_max: self.time_max,
            address_space_max: ADDRESS_SPACE_MAX,
            giver: &self.giver,
            confined: confined.cloned(),
        };
        let finished = run.finish()?;
        if finished.status.success() {
            return Ok(finished.messages);
        }
        let message = format!(
            "\"{}\" refuses the code ({})\n{}",
            words[0], finished.status, finished.messages
        );
        Err(Error::new(ErrorKind::InvalidSource, operation, message)
            .with("command", run.shown())
            .fix(advice(&finished.messages)))
    }
}

/// What a link takes and makes.
struct Linked {
    objects: Vec<PathBuf>,
    run_times: Vec<&'static str>,
    executable: PathBuf,
}

/// Hides the state of a class: another class, or a library, may have something of the same name.
fn hide_command(source: &Source, object: &Path) -> Vec<String> {
    let visible = source.visible.iter().map(|symbol| format!("--keep-global-symbol={symbol}"));
    std::iter::once("objcopy".to_owned())
        .chain(visible)
        .chain([object.display().to_string()])
        .collect()
}

/// What to do about the commonest refusals.
fn advice(messages: &str) -> &'static str {
    let advices = [
        (
            "No space left on device",
            "free disk space in the temporary directory and in the server's cache directory",
        ),
        (
            "mpi.h: No such file",
            "compile the code with MPI's compilers: remove Compiler, or set it to mpicc; or \
            install them (Debian: libopenmpi-dev)",
        ),
        (
            "Permission denied",
            "give a file that is included the ending of a header (.h, .inc, .cmn and their like), \
             let its folder be named, and everybody read it (or lay it beside the interface file, \
             where the module's user may read it): on a server for others a compiler reads \
             headers and libraries alone; a server of your own (farcall serve --private) takes \
             everything",
        ),
        ("is not installed", "install the package that the message names, and publish again"),
        (
            "cannot find -lgfortran",
            "an object is Fortran: install gfortran, or set `Linker \"gfortran\"`",
        ),
        ("cannot find -lfarcall", "the server does not find libfarcall.so: install all of Farcall"),
        (
            "cannot find -l",
            "install the library's development package, or add its directory: `Library \"-L…\"`",
        ),
        (
            "undefined reference",
            "add the object or library that has the symbol to `Required` or `Library`",
        ),
        ("No such file or directory", "add the header's directory: `CompileOptions \"-I…\"`"),
    ];
    let found = advices.iter().find(|(mark, _)| messages.contains(mark));
    found.map_or("correct the lines that the compiler names", |(_, advice)| advice)
}

/// The text of a file that a compiler has made: what it left there may be anything, a pipe that
/// nobody writes to among it.
fn made_text(workspace: &Workspace, name: &str) -> String {
    let bytes = workspace.read(name, RULE_BYTES_MAX).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn read_object(file: &Path) -> Result<Vec<u8>> {
    plain_file::read(file, OBJECT_BYTES_MAX).map_err(|error| unread_object(&error, file))
}

fn unread_object(error: &io::Error, file: &Path) -> Error {
    let failed = |kind| Error::new(kind, "read an object", error.to_string());
    let failed = match error.kind() {
        io::ErrorKind::FileTooLarge => failed(ErrorKind::LimitExceeded)
            .fix("publish it as a shared library, which is loaded instead of linked"),
        io::ErrorKind::InvalidInput => failed(ErrorKind::InvalidArgument),
        _ => failed(ErrorKind::System),
    };
    failed.with("path", file.display())
}

/// Adds a text so that no two sequences of texts give the same bytes.
fn add_text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}
