//! What the command line of `farcall serve` takes.

use std::path::PathBuf;

use clap::Args;

use super::jobs::JobArguments;

/// Publishes routines and serves them.
#[derive(Args)]
pub struct ServeArguments {
    /// Interface files, Python files, or names of libraries that come with Farcall (lapack, fftw)
    /// [default: the default libraries]
    pub(super) files: Vec<PathBuf>,
    /// Address to listen on: unix:PATH, tls://HOST:PORT or tcp:127.0.0.1:PORT; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Vec<String>,
    /// Metaserver to join: report to it, and take the calls that it sends; tls://HOST:PORT or unix:PATH; may be
    /// repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) join: Vec<String>,
    /// File with the token that TCP clients must show; created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<String>,
    /// File with the certificate to show over TLS [default: what `farcall ca init` made]
    #[arg(long, value_name = "FILE")]
    pub(super) credentials: Option<String>,
    /// Address to serve Prometheus metrics on, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics: Option<String>,
    /// Run routines in jobs of this launcher (slurm, gridengine, pbs, lsf, ssh, or one from the configuration file)
    /// instead of on this host; MODULE=LAUNCHER for one module; may be repeated
    #[arg(long, value_name = "LAUNCHER")]
    pub(super) launcher: Vec<String>,
    #[command(flatten)]
    pub(super) jobs: JobArguments,
    /// Interpreter for Python files without a .venv next to them, or the directory of its virtual
    /// environment [default: $FARCALL_PYTHON, or python3]
    #[arg(long, value_name = "PATH")]
    pub(super) python: Option<PathBuf>,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub(super) log_format: Option<String>,
    /// Lowest level that is logged
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "warn", "info", "debug"])]
    pub(super) log_level: Option<String>,
    /// Read settings from this configuration file; --print-manifest prints the defaults
    #[arg(long, value_name = "FILE")]
    pub(super) manifest: Option<PathBuf>,
    /// Print the default configuration file with every setting explained, and exit
    #[arg(long, exclusive = true)]
    pub(super) print_manifest: bool,
    /// Listen on a private socket and stop when standard input ends; for programs that start a
    /// server
    #[arg(long)]
    pub(super) private: bool,
    /// Be the private server of a list of servers, of which this host is one (here) or is not
    /// (nowhere); clients set this
    #[arg(long, value_name = "WHERE", hide = true, value_parser = [HERE, NOWHERE])]
    pub(super) of_list: Option<String>,
    /// Run in the background and stop after this many seconds without clients, open kept calls and
    /// leased data
    #[arg(long, value_name = "SECONDS", conflicts_with = "private")]
    pub(super) linger: Option<u64>,
    /// Record this server's host in this file while it runs; relays set this
    #[arg(long, value_name = "FILE", hide = true, requires = "linger")]
    pub(super) record: Option<PathBuf>,
    /// Keep this log file short and remove it at the end; relays redirect standard error to it
    #[arg(long, value_name = "FILE", hide = true, requires = "linger")]
    pub(super) own_log: Option<PathBuf>,
}

/// Whether this host is one of a list's servers.
const HERE: &str = "here";
const NOWHERE: &str = "nowhere";

impl ServeArguments {
    /// What a list calls this server, if it is one's.
    pub(super) fn name_in_list(&self) -> Option<&str> {
        self.of_list.as_deref()
    }

    /// Whether it runs no calls, and only says where they run.
    pub(super) fn only_places(&self) -> bool {
        self.of_list.as_deref() == Some(NOWHERE)
    }

    /// The interpreter for Python files, where one was named.
    pub fn python(&self) -> Option<&PathBuf> {
        self.python.as_ref()
    }

    /// Whether this is a server of its owner's own, by how it was started: for a program, or by
    /// `farcall connect`.
    pub(super) fn is_own(&self) -> bool {
        self.private || self.is_relayed()
    }

    /// Whether `farcall connect` began it.
    fn is_relayed(&self) -> bool {
        self.listen.iter().any(|address| address.starts_with("relay:"))
    }

    /// The configuration file: the one that was named, or the user's own on a host that
    /// `farcall connect` reaches, where nobody can name one.
    pub(super) fn manifest_file(&self) -> Option<PathBuf> {
        let own = || farcall_authority::config_folder().join("farcall.toml");
        let of_relayed = || Some(own()).filter(|file| self.is_relayed() && file.exists());
        self.manifest.clone().or_else(of_relayed)
    }
}
