//! The script of a job. Whatever a user wrote stands in it as one quoted word.

use std::fmt::Write;

use crate::job::Job;
use crate::shell::quoted;

/// Ends with what is to run: as many slots as this node has tasks. Slurm says `64(x3),8` of four
/// nodes.
const SLOTS: &str = r#"n=$SLURM_NODEID rest=$1,; shift
while [ -n "$rest" ]; do
part=${rest%%,*} rest=${rest#*,} times=1
case $part in *x*) times=${part##*x} times=${times%)} ;; esac
FARCALL_SLOTS=${part%%(*}
[ "$n" -lt "$times" ] && break
n=$((n - times))
done
export FARCALL_SLOTS
exec "$@""#;

/// Before 20.11, steps shared what they had without being told.
const OVERLAP: &str = "case $(srun --version) in 'slurm 1'* | 'slurm 20.0'*) overlap= ;; \
    *) overlap=--overlap ;; esac\n";

/// Holds the nodes while a step runs on them, and for five minutes without one.
const HOLD: &str = "\
scontrol update JobId=\"$SLURM_JOB_ID\" Comment=\"$1;$SLURM_TASKS_PER_NODE\" || exit 1
idle=0
while [ \"$idle\" -lt 5 ]; do
sleep 60 & wait \"$!\"
steps=$(squeue --noheader --steps --jobs=\"$SLURM_JOB_ID\" --format=%i) || continue
case $steps in *.[0-9]*) idle=0 ;; *) idle=$((idle + 1)) ;; esac
done
";

/// What `sbatch` reads.
pub fn script(job: &Job, number: u64) -> String {
    let mut text = "#!/bin/sh\n# A job of `farcall launch slurm`.\n".to_owned();
    if job.bridge.is_some() {
        let _ = writeln!(text, "set -- {number}");
        return text + HOLD;
    }
    for (name, value) in &job.program.environment {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
    let words = job.program.words().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if job.shape.is_mpi() {
        let _ = writeln!(text, "export FARCALL_SLOTS=1\nexec {words}");
        return text;
    }
    let _ = write!(
        text,
        "if [ \"$SLURM_JOB_NUM_NODES\" = 1 ]; then export FARCALL_SLOTS=\"$SLURM_NTASKS\"; exec \
         {words}; fi\n{OVERLAP}exec srun --nodes=\"$SLURM_JOB_NUM_NODES\" \
         --ntasks=\"$SLURM_JOB_NUM_NODES\" --ntasks-per-node=1 $overlap --no-kill --wait=0 \
         --kill-on-bad-exit=0 --input=none /bin/sh -c {} farcall \"$SLURM_TASKS_PER_NODE\" \
         {words}\n",
        quoted(SLOTS)
    );
    text
}

/// Within a step on the first node of a job, what the job's own script sees of all of them: so
/// `mpirun` finds them. A step's own node is the job's there; what the whole has is called
/// otherwise.
const WHOLE: &str = "export SLURM_JOB_NODELIST=\"$SLURM_NODELIST\" SLURM_TASKS_PER_NODE=\"$1\" \
    SLURM_NTASKS=\"$2\" SLURM_NPROCS=\"$2\" SLURM_NNODES=\"$3\" SLURM_JOB_NUM_NODES=\"$3\"; shift \
    3; for name in $(env | sed -n 's/^\\(SLURM_STEP[A-Z_]*\\)=.*/\\1/p'); do unset \"$name\"; \
    done; exec \"$@\"";

/// One step on one node of a job that holds them; `tasks` are those of each node.
pub fn step(job: &Job, id: &str, node: usize, tasks: &[u32]) -> Vec<String> {
    let mut words: Vec<String> =
        vec!["srun".to_owned(), format!("--jobid={id}"), format!("--relative={node}")];
    words.extend(
        "--overlap --nodes=1 --ntasks=1 --no-kill --unbuffered --quiet"
            .split(' ')
            .map(str::to_owned),
    );
    if job.shape.is_mpi() {
        let each = tasks.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let all = tasks.iter().sum::<u32>().to_string();
        let nodes = tasks.len().to_string();
        words.extend(["/bin/sh", "-c", WHOLE, "farcall", &each, &all, &nodes].map(str::to_owned));
    }
    words.extend(job.program.words());
    words
}
