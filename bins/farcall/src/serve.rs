//! `farcall serve`: a node with directory, spawner, server and metrics, and the modules it
//! publishes.

mod begin;
mod end;
mod folder;
mod guard;
mod notify;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::{Manifest, Node, PluginDescription};
use farcall_metrics::MetricsHandle;
use farcall_relay::Keeper;
use farcall_rpc_server::RpcHandle;
use farcall_rpc_server::access::Entry;
use farcall_services::directory::{self, DirectoryHandle};
use farcall_spawner_jobs::Launchers;
use farcall_spawner_local::Inspector;
use farcall_system::open_files::open_files_max;
use farcall_system::outlet;
use farcall_system::signals::signals;
use rustix::process::{Resource, Rlimit};

use crate::gate;
use crate::output::{notice, print, speak_as, tell};
use crate::own_files::own_files;
use crate::transports::{TRANSPORTS, given, token_file};
use begin::while_wanted;
use end::End;
use farcall_publishing::check_exposed;
use farcall_publishing::module::publication;
use farcall_publishing::publisher::Publisher;
use farcall_publishing::python::Interpreters;
use farcall_publishing::python::Publisher::{Anybody, Owner};
use farcall_publishing::shipped::{self, default_files};
use farcall_publishing::source::Source;
use folder::PrivateFolder;
use guard::EndGuard;

/// Open files that a server needs for itself and a call or two: some 40.
const DESCRIPTORS_FEWEST: u64 = 64;
/// Time that the reader of the addresses has: a server serves also where nobody wants to know them.
const ADDRESSES_MAX: Duration = Duration::from_secs(2);

/// Publishes routines and serves them.
#[derive(Args)]
pub struct ServeArguments {
    /// Interface files, Python files, or names of libraries that come with Farcall (lapack, fftw)
    /// [default: the default libraries]
    files: Vec<PathBuf>,
    /// Address to listen on: unix:PATH, tls://HOST:PORT or tcp:127.0.0.1:PORT; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// File with the token that TCP clients must show; created if it does not exist
    #[arg(long, value_name = "FILE")]
    token_file: Option<String>,
    /// File with the certificate to show over TLS [default: what `farcall ca init` made]
    #[arg(long, value_name = "FILE")]
    credentials: Option<String>,
    /// Address to serve Prometheus metrics on, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Run routines in jobs of this launcher (slurm, ssh, or one from the configuration file)
    /// instead of on this host; MODULE=LAUNCHER for one module; may be repeated
    #[arg(long, value_name = "LAUNCHER")]
    launcher: Vec<String>,
    /// Interpreter for Python files without a .venv next to them [default: $FARCALL_PYTHON, or
    /// python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    log_format: Option<String>,
    /// Lowest level that is logged
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "warn", "info", "debug"])]
    log_level: Option<String>,
    /// Configuration file with the settings that differ from --print-manifest
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Print the default configuration file with every setting explained, and exit
    #[arg(long, exclusive = true)]
    print_manifest: bool,
    /// Listen on a private socket and stop at the end of standard input: for programs that start
    /// their own server
    #[arg(long)]
    private: bool,
    /// Run in the background, and stop after this many seconds without a client or an open kept
    /// call
    #[arg(long, value_name = "SECONDS", conflicts_with = "private")]
    linger: Option<u64>,
    /// Record this server's host in this file while it runs; relays set this
    #[arg(long, value_name = "FILE", hide = true, requires = "linger")]
    record: Option<PathBuf>,
    /// The file that standard error goes to: keep it short, and remove it at the end; relays set
    /// this
    #[arg(long, value_name = "FILE", hide = true, requires = "linger")]
    own_log: Option<PathBuf>,
}

impl ServeArguments {
    /// Whether this is a server of its owner's own, by how it was started: for a program, or by
    /// `farcall connect`.
    fn is_own(&self) -> bool {
        self.private || self.listen.iter().any(|address| address.starts_with("relay:"))
    }
}

/// The plugins in this binary; the manifest picks among them.
pub fn plugins() -> [PluginDescription; 6] {
    [
        farcall_directory::plugin(),
        farcall_spawner_local::plugin(),
        farcall_spawner_jobs::plugin(|options| {
            farcall_spawner_jobs::construct(options, gate::open)
        }),
        farcall_rpc_server::plugin(|options| farcall_rpc_server::construct(options, TRANSPORTS)),
        farcall_fetcher::plugin(),
        farcall_metrics::plugin(),
    ]
}

/// Serves until a signal comes, or standard input ends for a private server; or prints the
/// manifest.
pub fn serve(arguments: &ServeArguments) -> Result<()> {
    let plugins = plugins();
    if arguments.print_manifest {
        return print(|out| out.write_all(Manifest::default_text(&plugins).as_bytes()));
    }
    if arguments.linger.is_some() {
        // Whoever began it may end, with all that it began: this goes on. It fails for the leader
        // of a group, which a shell makes of what it starts by hand.
        let _ = rustix::process::setsid();
    }
    let (signals, guard) = (signals()?, EndGuard::begin()?);
    raise_descriptors()?;
    let mut manifest = match &arguments.manifest {
        Some(path) => Manifest::load(path)?.completed(&plugins),
        None => Manifest::of(&plugins)?,
    };
    let folder = if arguments.private { Some(PrivateFolder::new()?) } else { None };
    override_options(&mut manifest, arguments, folder.as_ref())?;
    // Before modules are checked under limits that make no sense.
    Node::check(&manifest, &plugins, &given(farcall_rpc_server::Options::default()))?;
    hold_pilots_to_the_same(&mut manifest)?;
    let options = server_options(&manifest)?;
    speak_as(options.log_format);
    let interpreters = interpreters(&manifest, arguments)?;
    let launchers = launchers(&manifest, &arguments.launcher)?;
    need_slurm(&launchers)?;
    let publications = while_wanted(&signals, arguments.private, |giver| {
        compile_all(arguments, &Interpreters { giver, ..interpreters.clone() })
    })?;
    let drain_max = Duration::from_millis(options.drain_ms);
    let plugins_max =
        Duration::from_millis(manifest.limits.stop_timeout_ms.saturating_mul(plugins.len() as u64));
    // Before anybody can connect, who would find nothing.
    let own = own_files(&options, arguments.manifest.as_deref());
    publications
        .iter()
        .try_for_each(|(_, publication)| check_exposed(publication, &interpreters, &own))?;
    let inspector = interpreters.inspector.clone();
    let node = Node::start_with(&manifest, &plugins, given(options.clone()))?;
    let mut publisher = Publisher::new(
        node.service::<DirectoryHandle>(directory::SLOT)?,
        interpreters,
        launchers,
        own,
        notice,
    );
    let published = publish_all(&mut publisher, publications)?;
    let rpc = node.service::<RpcHandle>(farcall_rpc_server::SLOT)?;
    if let Some(path) = &arguments.manifest {
        publisher.follow(
            path,
            &options.access,
            access_of,
            node.service::<RpcHandle>(farcall_rpc_server::SLOT)?,
        )?;
    }
    let unknown = publisher.unknown_modules(&options.access);
    rpc.published();
    let addresses = rpc.addresses.clone();
    let metrics = node.service::<MetricsHandle>(farcall_metrics::SLOT)?.address;
    let _keeper = arguments.linger.map(|_| kept(arguments));
    let end = End::new(node, rpc, publisher.run()?, drain_max)?.guarded(guard, plugins_max);
    announce(&addresses, &published, arguments.private);
    notify::ready();
    // A private server runs what its user would run as well without it.
    if !arguments.private {
        say_what_is_missing(&inspector);
        say_what_was_cut(&options);
    }
    unknown.iter().for_each(|warning| notice(warning));
    if let Some(address) = metrics {
        say_where_metrics_are(address);
    }
    if !arguments.private && addresses.iter().any(|address| address.starts_with("farcall://")) {
        notice(&format!("clients over TCP need the token in {}", token_file(&options).display()));
    }
    arguments.linger.map_or(Ok(()), |seconds| end.linger(Duration::from_secs(seconds)))?;
    end.wait(&signals, arguments.private)
}

/// What a server that `ssh` began does beside serving.
fn kept(arguments: &ServeArguments) -> Keeper {
    let socket = arguments.listen.iter().find_map(|address| address.strip_prefix("relay:"));
    Keeper::new(
        arguments.record.clone(),
        arguments.own_log.clone(),
        socket.unwrap_or_default().into(),
        notice,
    )
}

/// A server may have as many descriptors open as the system lets it: the usual soft limit, 1024, is
/// there for programs that use select(2), and is far below `connections_max`. One that can take no
/// client says so at once.
fn raise_descriptors() -> Result<()> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // It fails only where it is raised already.
    let _ =
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    match limit.maximum {
        Some(files) if files < DESCRIPTORS_FEWEST => Err(Error::new(
            ErrorKind::LimitExceeded,
            "serve",
            format!(
                "a process here may have \
                {files} open files"
            ),
        )
        .fix(format!(
            "raise the hard limit (`ulimit -Hn`) to at least {DESCRIPTORS_FEWEST}, in the \
                    startup file that lowers it or in /etc/security/limits.conf"
        ))),
        _ => Ok(()),
    }
}

/// Limits that would take more descriptors than there are.
fn say_what_was_cut(options: &farcall_rpc_server::Options) {
    let files = open_files_max();
    let crowds = options.crowds_fitting(files);
    if let Some(files) = files.filter(|_| crowds != options.crowds()) {
        notice(&format!(
            "a process here may have {files} open files. This allows at the same time: {crowds}"
        ));
    }
}

fn say_where_metrics_are(address: SocketAddr) {
    notice(&format!("metrics are at http://{address}/metrics"));
    if !address.ip().is_loopback() {
        notice(
            "everybody who can connect to that address sees the names of users and routines: \
             restrict it with a firewall",
        );
    }
}

/// What this host cannot hold modules to, and what a server that is root gives them, once.
fn say_what_is_missing(inspector: &Inspector) {
    if rustix::process::geteuid().is_root() && !inspector.names_user_of_all() {
        notice(
            "this server runs as root, and so do routines of modules without a user of their own: \
            they can read all files that root can read in the system's directories and those that \
            the configuration file grants; set a user in farcall.toml: limits.user = \"nobody\"",
        );
    }
    use farcall_executable::confine::{kernel_means, not_held};
    for missing in not_held(kernel_means()) {
        notice(&format!("{}: this system has no {}", missing.consequence(), missing.needs()));
    }
    if farcall_spawner_local::processes_counted_by().is_none() {
        notice(
            "the server cannot write a cgroup, and root's processes are not counted without one: \
            routines of modules without a user of their own can start any number of processes",
        );
    }
}

fn override_options(
    manifest: &mut Manifest,
    arguments: &ServeArguments,
    folder: Option<&PrivateFolder>,
) -> Result<()> {
    let mut listen = arguments.listen.clone();
    if let Some(folder) = folder.filter(|_| listen.is_empty()) {
        listen.push(format!("unix:{}", folder.socket().display()));
    }
    if !listen.is_empty() {
        manifest.override_options(
            "rpc-server",
            "--listen",
            &format!("listen = {}", toml_list(&listen)),
        )?;
    }
    if let Some(file) = &arguments.token_file {
        manifest.override_options(
            "rpc-server",
            "--token-file",
            &format!("token_file = {}", toml_text(file)),
        )?;
    }
    if let Some(file) = &arguments.credentials {
        manifest.override_options(
            "rpc-server",
            "--credentials",
            &format!("credentials = {}", toml_text(file)),
        )?;
    }
    // Whoever starts a server for itself alone has its errors already.
    let level = arguments.log_level.as_deref().or(arguments.private.then_some("off"));
    if let Some(level) = level {
        manifest.override_options(
            "rpc-server",
            "--log-level",
            &format!("log_level = {}", toml_text(level)),
        )?;
    }
    if let Some(format) = &arguments.log_format {
        manifest.override_options(
            "rpc-server",
            "--log-format",
            &format!("log_format = {}", toml_text(format)),
        )?;
    }
    if let Some(address) = &arguments.metrics {
        manifest.override_options(
            "metrics",
            "--metrics",
            &format!("listen = {}", toml_text(address)),
        )?;
    }
    Ok(())
}

/// What the server itself reads from the manifest.
pub fn server_options(manifest: &Manifest) -> Result<farcall_rpc_server::Options> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_rpc_server::SLOT);
    entry.map_or_else(
        || Ok(farcall_rpc_server::Options::default()),
        |entry| farcall_rpc_server::Options::read(&entry.options),
    )
}

/// Who may do what, as a manifest without mistakes says.
fn access_of(manifest: &Path) -> Result<Vec<Entry>> {
    let plugins = plugins();
    let manifest = Manifest::load(manifest)?.completed(&plugins);
    Node::check(&manifest, &plugins, &given(farcall_rpc_server::Options::default()))?;
    Ok(server_options(&manifest)?.access)
}

/// Which interpreters run Python files, and what the manifest lets these do.
fn interpreters(manifest: &Manifest, arguments: &ServeArguments) -> Result<Interpreters> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_services::spawner::SLOT);
    let inspector =
        entry.map_or_else(|| Ok(Inspector::default()), |entry| Inspector::new(&entry.options))?;
    let is_own = arguments.is_own() && !serves_others(&server_options(manifest)?.listen);
    let publisher = if is_own && !inspector.confines_all() { Owner } else { Anybody };
    Ok(Interpreters {
        inspector,
        python: arguments.python.clone(),
        publisher,
        ..Interpreters::default()
    })
}

/// Whether others than the owner can come: by TLS, whoever has a certificate does.
fn serves_others(listen: &[String]) -> bool {
    listen.iter().any(|address| address.starts_with("tls:"))
}

/// Programs of jobs let modules use and do what this server's own spawner does, unless the manifest
/// says otherwise.
fn hold_pilots_to_the_same(manifest: &mut Manifest) -> Result<()> {
    let options = |slot: &str| {
        manifest.plugins.iter().find(|entry| entry.slot == slot).map(|entry| &entry.options)
    };
    let (Some(own), Some(jobs)) =
        (options(farcall_services::spawner::SLOT), options(farcall_services::spawner::JOBS_SLOT))
    else {
        return Ok(());
    };
    if Launchers::read(jobs)?.have_own_pilot_options() {
        return Ok(());
    }
    let text = format!("pilot_options = {}", toml_text(&own.text()?));
    manifest.override_options("spawner-jobs", "the server's own options", &text)
}

/// Which launcher starts which module's executables: as the manifest says, and then the command
/// line.
fn launchers(manifest: &Manifest, chosen: &[String]) -> Result<Launchers> {
    let entry =
        manifest.plugins.iter().find(|entry| entry.slot == farcall_services::spawner::JOBS_SLOT);
    let mut launchers =
        entry.map_or_else(|| Ok(Launchers::default()), |entry| Launchers::read(&entry.options))?;
    for words in chosen {
        match words.split_once('=') {
            Some((module, launcher)) => launchers.choose(Some(module), launcher)?,
            None => launchers.choose(None, words)?,
        }
    }
    Ok(launchers)
}

/// Where Slurm is not, nothing could ever be called: whoever starts the server is told, and not its
/// first caller.
fn need_slurm(launchers: &Launchers) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = || std::env::split_paths(&path).any(|folder| folder.join("sbatch").is_file());
    if !launchers.use_shipped("slurm") || is_there() {
        return Ok(());
    }
    let message = "routines must run in Slurm jobs, and this host has no sbatch";
    Err(Error::new(ErrorKind::NotFound, "serve", message).with("PATH", path.display()).fix(
        "start the server on a login node of the cluster; if this is one, add the directory of \
        sbatch to the PATH of noninteractive shells (`ssh HOST 'echo $PATH'` shows it)",
    ))
}

fn toml_text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn toml_list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| toml_text(text)).collect::<Vec<_>>().join(", "))
}

/// A module that can be published, and the file that it comes from.
type Compiled = (PathBuf, farcall_services::directory::Publication);

/// All files named must compile. Of the default ones, those whose libraries this machine lacks are
/// left out.
fn compile_all(arguments: &ServeArguments, interpreters: &Interpreters) -> Result<Vec<Compiled>> {
    let named = !arguments.files.is_empty();
    let files = if named {
        arguments.files.iter().map(|file| shipped::named(file)).collect()
    } else {
        default_files()
    };
    let mut publications = Vec::new();
    let mut failed = None;
    for file in files {
        match Source::open(&file).and_then(|source| publication(&source, interpreters)) {
            Ok((publication, warnings)) => {
                if !warnings.trim().is_empty() {
                    tell(warnings.trim_end());
                }
                publications.push((file, publication));
            }
            // Nobody waits for the others either.
            Err(error) if named || error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                notice(&format!("{} is skipped: {error}", file.display()));
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) if publications.is_empty() => Err(error),
        _ if publications.is_empty() => {
            Err(Error::new(ErrorKind::NotFound, "serve", "there is nothing to publish")
                .fix("pass an interface file: farcall serve FILE.idl"))
        }
        _ => Ok(publications),
    }
}

/// Module names with their number of routines.
fn publish_all(
    publisher: &mut Publisher,
    publications: Vec<Compiled>,
) -> Result<Vec<(String, usize)>> {
    let mut published = Vec::new();
    for (file, publication) in publications {
        let (name, count) = (publication.module.clone(), publication.all_routines().count());
        if published.iter().any(|(known, _)| *known == name) {
            return Err(Error::new(
                ErrorKind::InvalidSource,
                "serve",
                format!("two files publish the module \"{name}\""),
            )
            .fix("rename one of them in its Module line"));
        }
        publisher.publish(&file, None, publication)?;
        published.push((name, count));
    }
    Ok(published)
}

/// Addresses go to standard output, for programs; the rest is for people.
fn announce(addresses: &[String], published: &[(String, usize)], private: bool) {
    let text: String = addresses
        .iter()
        .map(|address| format!("{}\n", farcall_base::printable_line(address)))
        .collect();
    // Nobody may be reading: a server serves all the same.
    let _ = outlet::output().write(text.as_bytes(), ADDRESSES_MAX);
    if !private {
        let modules = published
            .iter()
            .map(|(name, count)| format!("{name} ({count})"))
            .collect::<Vec<_>>()
            .join(", ");
        notice(&format!("serving {modules}; end with Ctrl-C"));
    }
}
