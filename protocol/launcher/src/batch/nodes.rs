//! The script of a job, for batch systems that start it once, on its first node: it starts one copy
//! on each. Whatever a user wrote stands in it as one quoted word.

use std::fmt::Write;

use crate::job::Job;
use crate::shell::quoted;

/// What differs between batch systems.
pub struct Nodes {
    /// Prints `HOST SLOTS` for each node of the job.
    pub list: &'static str,
    /// Runs the command line `$2` on the host `$1`.
    pub there: &'static str,
    /// Whether what it lists as slots are processors, of which a slot of the job may have several.
    pub lists_cores: bool,
}

/// What submits a job reads this from its standard input.
pub fn script(job: &Job, nodes: &Nodes) -> String {
    let program = &job.program;
    let output = quoted(program.stdout_file.as_deref().unwrap_or("/dev/null"));
    let errors = quoted(program.stderr_file.as_deref().unwrap_or("/dev/null"));
    let mut text = "#!/bin/sh\n# A job of `farcall launch`.\n".to_owned();
    let _ = writeln!(text, "exec >>{output} 2>>{errors} || exit 1");
    let folder = program.work_directory.iter().map(|folder| format!("cd {} && ", quoted(folder)));
    let folder: String = folder.collect();
    let variables = program.environment.iter();
    let variables: String =
        variables.map(|(name, value)| format!("{name}={} ", quoted(value))).collect();
    let words = program.words().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let begin = format!("{folder}exec env FARCALL_SLOTS=");
    let end = format!(" {variables}{words}");
    let slots = job.shape.slots();
    if !job.shape.is_mpi() && slots > 1 {
        let Nodes { list, there, lists_cores } = nodes;
        let cores = if *lists_cores { job.resources.slot.cores() } else { 1 };
        let whole = match cores {
            1 => String::new(),
            cores => format!("slots=$((slots / {cores})); [ \"$slots\" -gt 0 ] || continue\n"),
        };
        let begin = quoted(&begin);
        let end = quoted(&end);
        let _ = write!(
            text,
            "nodes=$({list})\nif [ \"$(printf '%s\\n' \"$nodes\" | wc -l)\" -gt 1 ]; then\nthere() \
             {{ {there}; }}\npids= status=0\nwhile read -r host slots; do\n{whole}there \"$host\" \
             {begin}\"$slots\"{end} </dev/null & pids=\"$pids $!\"\ndone <<NODES\n$nodes\nNODES\nfor \
             pid in $pids; do wait \"$pid\" || status=$?; done\nexit \"$status\"\nfi\n"
        );
    }
    let _ = writeln!(text, "{begin}{slots}{end}");
    text
}
