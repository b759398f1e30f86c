//! What is said to a shell on another host, reached by `ssh`. Each command is one line; what it answers counts from a random
//! mark on, so that whatever start-up files print goes by.

use crate::job::Job;
use crate::shell::quoted;

/// What `ssh` runs, whatever the user's shell is: one that reads its commands line by line, and no byte beyond a line.
pub const SHELL: &str = "exec /bin/sh -c 'while IFS= read -r line; do eval \"$line\"; done'";

/// See `has_own_errors`, and the end of that in one line.
const OWN_ERRORS: &str = "\"$folder/errors\"";
const OWN_LAST_WORDS: &str = "$(tail -c 1000 \"$folder/errors\" 2>/dev/null | tr '\\n' ' ')";

/// A file that is copied to the other host.
#[derive(Clone, Copy, Debug)]
pub struct Staged<'a> {
    /// Says what is in it.
    pub digest: &'a str,
    /// How long it is.
    pub bytes: usize,
}

/// Finds a copy of the program, under the name that says what is in it, or a folder for it: `have`, or `need`, or `none`
/// with what was tried. Folders whose programs may not run are of no use: a script of one line tells.
pub fn find_program(mark: &str, program: Staged<'_>) -> String {
    let folders = "\"$FARCALL_CACHE\" \"${XDG_CACHE_HOME:-$HOME/.cache}/farcall\" \"$HOME/.farcall\" \
                   \"${TMPDIR:-/tmp}/farcall-$(id -u)\"";
    let name = format!("farcall-{}", program.digest);
    format!(
        "umask 077; program=; for d in {folders}; do case $d in /*) ;; *) continue ;; esac; \
         if [ -x \"$d/{name}\" ] && [ -O \"$d/{name}\" ]; then program=$d/{name}; break; fi; done; \
         if [ -n \"$program\" ]; then echo \"{mark} have\"; else why=; for d in {folders}; do \
         case $d in /*) ;; *) continue ;; esac; \
         if mkdir -p \"$d\" 2>/dev/null && [ -O \"$d\" ] && printf '#!/bin/sh\\nexit 0\\n' 2>/dev/null >\"$d/try-$$\" \
         && chmod 700 \"$d/try-$$\" && \"$d/try-$$\" 2>/dev/null; then program=$d/{name}; fi; rm -f \"$d/try-$$\"; \
         [ -z \"$program\" ] || break; why=\"$why $d\"; done; \
         if [ -n \"$program\" ]; then echo \"{mark} need\"; else \
         echo \"{mark} none no folder can be written to that lets programs run, of:$why\"; fi; fi"
    )
}

/// Takes the bytes that follow the line into `$program`, or into the job's own ticket: `taken`, or `failed`.
pub fn take(mark: &str, file: Staged<'_>, is_program: bool) -> String {
    let (place, mode) = if is_program { ("$program", "700") } else { ("$folder/ticket", "600") };
    let bytes = file.bytes;
    // All of them are read, wherever they go. `dd` reads what is there, which may be less than a block: without `head`,
    // byte by byte.
    format!(
        "umask 077; {{ if head -c 0 </dev/null 2>/dev/null; then head -c {bytes}; else dd bs=1 count={bytes} 2>/dev/null; \
         fi; }} | {{ cat >\"{place}.$$\" 2>/dev/null; cat >/dev/null; }}; \
         if [ \"$(wc -c <\"{place}.$$\")\" -eq {bytes} ] && chmod {mode} \"{place}.$$\" && mv \"{place}.$$\" \"{place}\"; \
         then echo \"{mark} taken\"; else rm -f \"{place}.$$\"; echo \"{mark} failed there is no room at {place}\"; fi"
    )
}

/// Makes the job's own folder: `made`, or `failed`. It goes with the shell, however that ends: one whose connection is lost
/// hears so when it says something.
pub fn make_folder(mark: &str) -> String {
    format!(
        "umask 077; folder=${{TMPDIR:-/tmp}}/{mark}; trap 'rm -rf \"$folder\"' EXIT; trap 'exit 1' HUP TERM PIPE; \
         if mkdir \"$folder\"; then echo \"{mark} made\"; else \
         echo \"{mark} failed no folder can be made in ${{TMPDIR:-/tmp}}\"; fi"
    )
}

/// Enters the job's folder, with its variables; what runs there, and the files that its output is added to.
fn begin(job: &Job) -> (String, String, [String; 2]) {
    let mut line = String::new();
    for (name, value) in &job.environment {
        line += &format!("export {name}={}; ", quoted(value));
    }
    line += &format!("export FARCALL_SLOTS={}; ", job.slots());
    if let Some(folder) = &job.work_directory {
        line += &format!("cd {} && ", quoted(folder));
    }
    let program = if job.staging { "\"$program\"".to_owned() } else { quoted(&job.executable_path) };
    let mut words = vec![program];
    let is_ticket = |at: usize| job.staging && at > 0 && job.arguments[at - 1] == "--ticket";
    let argument =
        |(at, text): (usize, &String)| if is_ticket(at) { "\"$folder/ticket\"".to_owned() } else { quoted(text) };
    words.extend(job.arguments.iter().enumerate().map(argument));
    let file = |name: &Option<String>| quoted(name.as_deref().unwrap_or("/dev/null"));
    let errors = if has_own_errors(job) { OWN_ERRORS.to_owned() } else { file(&job.stderr_file) };
    (line, words.join(" "), [file(&job.stdout_file), errors])
}

/// Whether what the program complains of is kept for the end: it has a folder there, and no other place for it.
fn has_own_errors(job: &Job) -> bool {
    job.staging && job.stderr_file.is_none() && job.arguments.iter().any(|argument| argument == "--ticket")
}

/// Runs the job with the stream to here as its standard input and output: `started`, and behind it its own bytes. It is to
/// end with its input by itself; the shell ends with it, and with its status.
pub fn run_bridged(mark: &str, job: &Job) -> String {
    let (mut line, words, [_, errors]) = begin(job);
    let told = if has_own_errors(job) { format!("echo \"{OWN_LAST_WORDS}\" >&2") } else { ":".to_owned() };
    line += &format!(
        "{{ echo \"{mark} started\"; {words} 2>>{errors}; status=$?; [ $status -eq 0 ] || {told}; exit $status; }}; \
         echo \"{mark} failed the work directory cannot be entered\"; exit 1"
    );
    line
}

/// Runs the job: `started`, and `ended` with its status. It ends with the stream to here, and all it started with it.
pub fn run(mark: &str, job: &Job) -> String {
    let (mut line, words, [output, errors]) = begin(job);
    let told = if has_own_errors(job) { OWN_LAST_WORDS } else { "" };
    // Job control gives the program a process group of its own: all that it starts can be ended with it. `setsid` does,
    // too, where a shell has none without a terminal. Descriptor 3 is the stream to here. A stream that ends at once finds
    // no group yet, but the process that is about to lead it.
    line += &format!(
        "{{ exec 3<&0; own=; ! command -v setsid >/dev/null || own=setsid; \
         $own {words} </dev/null >>{output} 2>>{errors} 3<&- & child=$!; group=${{own:+-}}$child; \
         {{ while read -r line <&3; do :; done; kill -TERM \"$group\" || kill -TERM $child; n=0; \
         while [ $n -lt 5 ] && {{ kill -0 \"$group\" || kill -0 $child; }}; do sleep 1; n=$((n + 1)); done; \
         kill -KILL \"$group\" || kill -KILL $child; \
         }} >/dev/null 2>&1 & watch=$!; echo \"{mark} started\"; wait $child; status=$?; \
         kill -KILL \"$group\" 2>/dev/null; kill $watch 2>/dev/null; \
         if [ $status -eq 0 ]; then echo \"{mark} ended 0\"; else echo \"{mark} ended $status {told}\"; fi; exit 0; }}; \
         echo \"{mark} failed the work directory cannot be entered\"; exit 1"
    );
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_user_wrote_is_one_line_of_words() {
        let mut job = Job::new();
        job.executable_path = "/opt/it's here".to_owned();
        for (name, value) in [("argument", "$(rm -rf /)"), ("environment", "A=`x`"), ("work_directory", "/a;b")] {
            job.take(name, value).unwrap();
        }
        let line = run("m", &job);
        assert!(!line.contains('\n'));
        for word in ["'/opt/it'\\''s here' '$(rm -rf /)'", "export A='`x`'", "cd '/a;b' && "] {
            assert!(line.contains(word), "{word} in {line}");
        }
        job.staging = true;
        job.arguments = vec!["--ticket".to_owned(), "/here/ticket".to_owned()];
        assert!(run("m", &job).contains("\"$program\" '--ticket' \"$folder/ticket\""));
    }
}
