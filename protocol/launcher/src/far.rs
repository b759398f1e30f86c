//! What is said to a shell on another host, reached by `ssh`: by launchers, and by clients that
//! begin a server there. Each command is one line. What it answers begins with a random mark, so
//! that whatever start-up files print goes by; no command has the mark in it, so that one that is
//! printed back is no answer.

use crate::job::Job;
use crate::shell::quoted;

/// What may be printed before an answer: more is a far side that talks without end.
pub const NOISE_BYTES_MAX: usize = 4 << 20;
/// What the shell says first.
pub const READY: &str = "ready";
/// Seconds after which one that has said nothing is sent [`shell`] as a line: the user's start-up
/// files may have become another shell, which has forgotten what `ssh` told it to run, or wait for
/// a line themselves.
pub const NUDGE_SECONDS: u64 = 5;
/// How often a program may be sent: each time that fails leaves one folder fewer.
pub const ATTEMPTS_MAX: usize = 5;

/// See `has_own_errors`, and the end of that in one line.
const OWN_ERRORS: &str = "\"$folder/errors\"";
const OWN_LAST_WORDS: &str = "$(tail -c 1000 \"$folder/errors\" 2>/dev/null | tr '\\n' ' ')";

/// The folders in which the program may lie.
const FOLDERS: &str = "\"$FARCALL_CACHE\" \"${XDG_CACHE_HOME:-${HOME:-no}/.cache}/farcall\" \
                       \"${HOME:-no}/.farcall\" \"${TMPDIR:-/tmp}/farcall-$(id -u)\" \
                       \"${XDG_RUNTIME_DIR:-no}/farcall\"";

/// What `ssh` runs, whatever the user's shell is: one that says `ready`, and then reads its
/// commands line by line. `read` takes no byte beyond a line, so that what follows one is for the
/// command itself. `$mark` is there for the commands.
pub fn shell(mark: &str) -> String {
    shell_by(None, mark)
}

/// The same with another shell than `/bin/sh`.
pub fn shell_by(program: Option<&str>, mark: &str) -> String {
    let program = program.map_or_else(|| "/bin/sh".to_owned(), quoted);
    let (front, back) = mark.split_at(mark.len() / 2);
    format!(
        "exec {program} -c 'mark=\"{front}\"\"{back}\"; echo; echo \"$mark {READY}\"; \
         while IFS= read -r line; do eval \"$line\"; done'"
    )
}

/// Finds a copy of the program, under the name that says what is in it, and does `found` with
/// `$program`. Where there is none, finds a folder for it, and says `need` with the machine's name;
/// or `none` with what is wrong with each folder. Folders in `$bad` have failed before. A copy of
/// another size is none: a host that fell over, or a disk that was full after all, leaves such. One
/// that is used is touched: those that are not are removed at last.
pub fn find_program(digest: &str, bytes: usize, found: &str) -> String {
    // Absolute, and not known to be bad.
    let next = "case $d in /*) ;; *) continue ;; esac; case $bad in *\"|$d|\"*) continue ;; esac";
    let name = format!("farcall-{digest}");
    // A folder whose programs may not run is of no use: a script of one line tells.
    format!(
        "umask 077; program=; for d in {FOLDERS}; do {next}; \
         if [ -x \"$d/{name}\" ] && [ -O \"$d/{name}\" ] && [ \"$(wc -c <\"$d/{name}\")\" -eq \
         {bytes} ]; then program=$d/{name}; touch \"$program\" 2>/dev/null; break; fi; done; \
         if [ -n \"$program\" ]; then {found}; else for d in {FOLDERS}; do {next}; w=; \
         if ! mkdir -p \"$d\" 2>/dev/null; then w='cannot be made'; elif ! [ -O \"$d\" ]; then \
         w='is not yours'; elif ! {{ printf '#!/bin/sh\\nexit 0\\n' >\"$d/try-$mark\"; }} \
         2>/dev/null; then w='cannot be written to'; elif ! chmod 700 \"$d/try-$mark\" || ! \
         \"$d/try-$mark\" 2>/dev/null; then w='lets no program run'; fi; rm -f \"$d/try-$mark\"; \
         if [ -z \"$w\" ]; then program=$d/{name}; break; fi; why=\"$why; $d $w\"; \
         bad=\"$bad|$d|\"; done; if [ -n \"$program\" ]; then echo \"$mark need $(uname \
         -s)-$(uname -m)\"; else echo \"$mark none ${{why#; }}\"; fi; fi"
    )
}

/// Says which C library the host has: `glibc` and a line that ends with the version.
pub const GLIBC: &str = "echo \"$mark glibc $(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version \
                         2>&1 | head -n 1)\"";

/// Says that the program is there: what `find_program` may do with it.
pub const HAVE: &str = "echo \"$mark have\"";

/// A condition: that many bytes, which follow the command's line, are in the file now. All of them
/// are read, wherever they go. `dd` reads what is there, which may be less than a block: without
/// `head`, byte by byte.
pub fn received(file: &str, bytes: usize) -> String {
    format!(
        "{{ {{ if head -c 0 </dev/null 2>/dev/null; then head -c {bytes}; else dd bs=1 \
         count={bytes} 2>/dev/null; fi; }} | {{ cat >\"{file}\" 2>/dev/null; cat >/dev/null; }}; \
         [ \"$(wc -c <\"{file}\")\" -eq {bytes} ]; }}"
    )
}

/// Takes the program's bytes, which follow the line: `taken`; or `failed`, and its folder is a bad
/// one. Another may be taking the same. What was left by one that was killed meanwhile, an hour ago
/// or more, goes.
pub fn take_program(bytes: usize) -> String {
    format!(
        "if {} && chmod 700 \"$program.$mark\" && mv \"$program.$mark\" \"$program\"; then echo \
         \"$mark taken\"; find \"${{program%/*}}\" \\( -name 'farcall-*.farcall-*' -o -name \
         'library-*.farcall-*' \\) -prune -mmin +60 -exec rm -rf {{}} + 2>/dev/null; \
         else rm -f \"$program.$mark\"; d=${{program%/*}}; why=\"$why; $d has no room for {bytes} \
         bytes\"; bad=\"$bad|$d|\"; echo \"$mark failed\"; fi",
        received("$program.$mark", bytes)
    )
}

/// Takes a configuration file's bytes, which follow the line, beside the file that is kept for the
/// server of that name: `taken`, or `failed`. The relay with the same mark does the rest
/// (programs/relay/src/settings.rs).
pub fn take_config(name: &str, bytes: usize) -> String {
    format!(
        "umask 077; config=\"${{XDG_CONFIG_HOME:-${{HOME:-no}}/.config}}/farcall/for-{name}.toml.\
         $mark\"; mkdir -p \"${{config%/*}}\" 2>/dev/null; if {}; then echo \"$mark taken\"; else \
         rm -f \"$config\"; echo \"$mark failed\"; fi",
        received("$config", bytes)
    )
}

/// Takes the bytes that follow the line into the job's own ticket: `taken`, or `failed`.
pub fn take_ticket(bytes: usize) -> String {
    format!(
        "umask 077; if {}; then echo \"$mark taken\"; else echo \"$mark failed there is no room \
            in $folder\"; fi",
        received("$folder/ticket", bytes)
    )
}

/// Makes the job's own folder: `made`, or `failed`. It goes with the shell, however that ends: one
/// whose connection is lost hears so when it says something.
pub fn make_folder() -> String {
    "umask 077; trap 'rm -rf \"$folder\"' EXIT; trap 'exit 1' HUP TERM PIPE; \
     if for d in \"${TMPDIR:-/tmp}\" /tmp \"${program%/*}\"; do folder=$d/$mark; mkdir \
     \"$folder\" 2>/dev/null && break; done; then echo \"$mark made\"; \
     else echo \"$mark failed cannot create a directory in ${TMPDIR:-/tmp} or next to $program\"; \
     fi"
    .to_owned()
}

/// How a job is started.
struct Start {
    /// Enters its folder, or nothing.
    enter: String,
    /// Its variables, in front of a command: they are no others'.
    variables: String,
    /// The program and its arguments.
    words: String,
    /// The files that its output and its complaints are added to.
    files: [String; 2],
}

fn start(job: &Job) -> Start {
    let program = &job.program;
    let variables =
        program.environment.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
    let variables = variables.chain([format!("FARCALL_SLOTS={}", job.shape.slots())]).collect();
    let folder = program.work_directory.as_ref();
    let enter = folder.map_or(String::new(), |folder| format!("cd {} && ", quoted(folder)));
    let path = if program.staging { "\"$program\"".to_owned() } else { quoted(&program.path) };
    let mut words = vec![path];
    let argument = |(at, text): (usize, &String)| {
        if program.staging && program.is_ticket(at) {
            "\"$folder/ticket\"".to_owned()
        } else {
            quoted(text)
        }
    };
    words.extend(program.arguments.iter().enumerate().map(argument));
    let file = |name: &Option<String>| quoted(name.as_deref().unwrap_or("/dev/null"));
    let errors =
        if program.has_own_errors() { OWN_ERRORS.to_owned() } else { file(&program.stderr_file) };
    Start { enter, variables, words: words.join(" "), files: [file(&program.stdout_file), errors] }
}

/// Runs the job with the stream to here as its standard input and output: `started`, and behind it
/// its own bytes. It is to end with its input by itself; the shell ends with it, and with its
/// status.
pub fn run_bridged(job: &Job) -> String {
    let Start { enter, variables, words, files: [_, errors] } = start(job);
    let told = if job.program.has_own_errors() {
        format!("echo \"{OWN_LAST_WORDS}\" >&2")
    } else {
        ":".to_owned()
    };
    format!(
        "{enter}{{ echo \"$mark started\"; {variables} {words} 2>>{errors}; status=$?; [ $status \
         -eq 0 ] || {told}; exit $status; }}; echo \"$mark failed the work directory cannot be \
         entered\"; exit 1"
    )
}

/// Runs the job: `started`, and `ended` with its status. It ends with the stream to here, and all
/// it started with it.
pub fn run(job: &Job) -> String {
    let Start { enter, variables, words, files: [output, errors] } = start(job);
    let told = if job.program.has_own_errors() { OWN_LAST_WORDS } else { "" };
    // Job control gives the program a process group of its own: all that it starts can be ended
    // with it. `setsid` does, too, where a shell has none without a terminal. Descriptor 3 is the
    // stream to here. A stream that ends at once finds no group yet, but the process that is about
    // to lead it.
    format!(
        "{enter}{{ exec 3<&0; own=; ! command -v setsid >/dev/null || own=setsid; \
         {variables} $own {words} </dev/null >>{output} 2>>{errors} 3<&- & child=$!; \
         group=${{own:+-}}$child; {{ while read -r line <&3; do :; done; kill -TERM \"$group\" || \
         kill -TERM $child; n=0; while [ $n -lt 5 ] && {{ kill -0 \"$group\" || kill -0 $child; \
         }}; do sleep 1; n=$((n + 1)); done; kill -KILL \"$group\" || kill -KILL $child; \
         }} >/dev/null 2>&1 & watch=$!; echo \"$mark started\"; wait $child; status=$?; \
         kill -KILL \"$group\" 2>/dev/null; kill $watch 2>/dev/null; \
         if [ $status -eq 0 ]; then echo \"$mark ended 0\"; else echo \"$mark ended $status \
         {told}\"; fi; exit 0; }}; echo \"$mark failed the work directory cannot be entered\"; \
         exit 1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_user_wrote_is_one_line_of_words() {
        let mut job = Job::default();
        job.program.path = "/opt/it's here".to_owned();
        for (name, value) in
            [("argument", "$(rm -rf /)"), ("environment", "A=`x`"), ("work_directory", "/a;b")]
        {
            job.take(name, value).unwrap();
        }
        let line = run(&job);
        assert!(!line.contains('\n'));
        for word in
            ["'/opt/it'\\''s here' '$(rm -rf /)'", "A='`x`' FARCALL_SLOTS=1 $own ", "cd '/a;b' && "]
        {
            assert!(line.contains(word), "{word} in {line}");
        }
        job.program.staging = true;
        job.program.arguments = vec!["--ticket".to_owned(), "/here/ticket".to_owned()];
        assert!(run(&job).contains("\"$program\" '--ticket' \"$folder/ticket\""));
    }
}
