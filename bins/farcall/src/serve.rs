//! `farcall serve`: a node with directory, spawner, server and metrics, and the modules it
//! publishes.

mod arguments;
mod begin;
mod end;
mod folder;
mod guard;
mod jobs;
mod modules;
mod notices;
mod notify;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::{Manifest, Node, PluginDescription};
use farcall_metrics::MetricsHandle;
use farcall_relay::Keeper;
use farcall_rpc_server::{Options, RpcHandle};
use farcall_services::directory::{self, DirectoryHandle};
use farcall_system::signals::signals;
use rustix::process::{Resource, Rlimit};

use crate::gate;
use crate::output::{notice, print, speak_as};
use crate::own_files::own_files;
use crate::transports::{TRANSPORTS, given};
pub use arguments::ServeArguments;
use begin::while_wanted;
use end::End;
use farcall_publishing::publisher::{Publisher, remade};
use farcall_publishing::python::Interpreters;
use farcall_publishing::python::Publisher::Owner;
use folder::PrivateFolder;
use guard::EndGuard;
pub use jobs::JobArguments;
use modules::{check_all, compile_all, publish_all};
use notices::Opening;
pub use settings::server_options;
use settings::{
    access_of, completed_manifest, interpreters, launchers, need_batch_system, serving_manifest,
};

/// Open files that a server needs for itself and a call or two: some 40.
const DESCRIPTORS_FEWEST: u64 = 64;

/// The plugins in this binary; the manifest picks among them.
pub fn plugins() -> [PluginDescription; 10] {
    [
        farcall_directory::plugin(),
        farcall_spawner_local::plugin(),
        farcall_spawner_jobs::plugin(|options| {
            farcall_spawner_jobs::construct(options, gate::open)
        }),
        farcall_rpc_server::plugin(|options| farcall_rpc_server::construct(options, TRANSPORTS)),
        farcall_fetcher::plugin(),
        farcall_store_file::plugin(|options| farcall_store_file::construct(options, notice)),
        farcall_store_etcd::plugin(|options| farcall_store_etcd::construct(options, notice)),
        farcall_metrics::plugin(),
        farcall_metaserver::plugin(),
        farcall_transactions::plugin(),
    ]
}

/// All settings of a server with these arguments, as far as the configuration file and the command
/// line say them.
///
/// # Errors
/// What is wrong in either.
pub fn settings_of(arguments: &ServeArguments) -> Result<Manifest> {
    completed_manifest(arguments, &plugins(), None)
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
    let signals = signals()?;
    let guard = EndGuard::begin()?;
    raise_descriptors()?;
    let folder = if arguments.private { Some(PrivateFolder::new()?) } else { None };
    let manifest = serving_manifest(arguments, &plugins, folder.as_ref())?;
    let options = server_options(&manifest)?;
    speak_as(options.log_format);
    let interpreters = interpreters(&manifest, arguments)?;
    let is_own = interpreters.publisher == Owner;
    let launchers = launchers(&manifest, &arguments.launcher)?;
    need_batch_system(&launchers)?;
    let manifest_file = arguments.manifest_file();
    let own = own_files(&options, manifest_file.as_deref());
    let sent = published_folder(folder.as_ref(), &options);
    let (publications, again) = while_wanted(&signals, arguments.private, |giver| {
        let interpreters = Interpreters { giver, ..interpreters.clone() };
        Ok((compile_all(arguments, &interpreters)?, remade(sent.clone(), &interpreters, &own)))
    })?;
    let drain_max = Duration::from_millis(options.drain_ms);
    let plugins_max =
        Duration::from_millis(manifest.limits.stop_timeout_ms.saturating_mul(plugins.len() as u64));
    // Before anybody can connect, who would find nothing.
    check_all(&publications, &interpreters, &own)?;
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
    follow(&mut publisher, manifest_file.as_deref(), &options, &node)?;
    publisher.keep_in(sent, again)?;
    let unknown = publisher.unknown_modules(&options.access);
    rpc.is_own(is_own);
    rpc.published();
    let addresses = rpc.addresses.clone();
    let metrics = node.service::<MetricsHandle>(farcall_metrics::SLOT)?.address;
    let _keeper = arguments.linger.map(|_| kept(arguments));
    let end = End::new(node, rpc, publisher.run()?, drain_max)?.guarded(guard, plugins_max);
    let opening = Opening {
        addresses: &addresses,
        published: &published,
        inspector: &inspector,
        options: &options,
        unknown: &unknown,
        metrics,
        is_private: arguments.private,
    };
    opening.announce();
    notify::ready();
    opening.say_all();
    arguments.linger.map_or(Ok(()), |seconds| end.linger(Duration::from_secs(seconds)))?;
    end.wait(&signals, arguments.private)
}

/// Has the rights follow the configuration file when all is reloaded.
fn follow(
    publisher: &mut Publisher,
    manifest: Option<&Path>,
    options: &Options,
    node: &Node,
) -> Result<()> {
    let Some(path) = manifest else { return Ok(()) };
    let rights = node.service::<RpcHandle>(farcall_rpc_server::SLOT)?;
    publisher.follow(path, &options.access, access_of, rights)
}

/// Where files lie that are sent to a server: with its other state, but those of a private one go
/// with it.
fn published_folder(private: Option<&PrivateFolder>, options: &Options) -> Option<PathBuf> {
    let of_private = private.map(PrivateFolder::published);
    of_private.or_else(|| farcall_rpc_server::state_folder("published", options))
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
