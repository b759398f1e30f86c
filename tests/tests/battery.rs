//! The happy paths: one battery, run over each transport, with the generic host and with linked
//! executables.

mod arrays;
mod files;
mod given;
mod shapes;
mod traffic;
mod values;

use std::path::PathBuf;
use std::sync::OnceLock;

use farcall_client::{Client, Compression};
use farcall_tests::{Directory, Server, Transport, battery as battery_file};

/// How a call travels, and who runs it.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// Shared memory, the generic host.
    Unix,
    /// Shared memory, an executable with the code linked in.
    UnixLinked,
    /// TCP, the generic host.
    Tcp,
    /// TCP, an executable with the code linked in.
    TcpLinked,
    /// TCP from the client to the server, and from there to the executable.
    TcpAllTheWay,
    /// TLS, the generic host.
    Tls,
    /// TCP, and everything compressed that gets shorter.
    TcpCompressed,
    /// TLS, and everything compressed that gets shorter.
    TlsCompressed,
}

/// One server for all tests of a setting, so that they also disturb one another. It ends with this
/// program.
pub fn server(setting: Setting) -> &'static Server {
    static SERVERS: [OnceLock<Server>; 8] = [const { OnceLock::new() }; 8];
    let (transport, linked) = match setting {
        Setting::Unix => (Transport::Unix, false),
        Setting::UnixLinked => (Transport::Unix, true),
        Setting::Tcp => (Transport::Tcp, false),
        Setting::TcpLinked => (Transport::Tcp, true),
        Setting::TcpAllTheWay => (Transport::Tcp, false),
        Setting::Tls | Setting::TlsCompressed => (Transport::Tls, false),
        Setting::TcpCompressed => (Transport::Tcp, false),
    };
    SERVERS[setting as usize].get_or_init(|| start(setting, transport, &[battery_file(linked)]))
}

fn start(setting: Setting, transport: Transport, files: &[PathBuf]) -> Server {
    let name = format!("battery-{}", setting as usize);
    let (changed, options) = match setting {
        Setting::TcpAllTheWay => ("spawner", "connection = \"tcp\"\n"),
        Setting::TcpCompressed | Setting::TlsCompressed => ("rpc", "compression = \"always\"\n"),
        _ => return Server::start_for_all(&name, transport, files, &[]),
    };
    let directory = Directory::new();
    let slots = [("directory", "directory"), ("spawner-local", "spawner"), ("rpc-server", "rpc")];
    let section = |(name, slot): (&str, &str)| {
        let options = if slot == changed { options } else { "" };
        format!("[[plugin]]\nname = \"{name}\"\nslot = \"{slot}\"\n[plugin.options]\n{options}\n")
    };
    let manifest = directory.write("farcall.toml", &slots.map(section).concat());
    Server::start_for_all(&name, transport, files, &["--manifest", manifest.to_str().unwrap()])
}

/// A client of the setting's server.
pub fn client(setting: Setting) -> Client {
    let client = server(setting).client();
    if matches!(setting, Setting::TcpCompressed | Setting::TlsCompressed) {
        client.set_compression(Compression::Always);
    }
    client
}

/// Each test in each setting.
macro_rules! in_all_settings {
    ($($room:ident::$test:ident,)*) => {
        in_all_settings!(@ unix Unix $($room::$test)*);
        in_all_settings!(@ unix_linked UnixLinked $($room::$test)*);
        in_all_settings!(@ tcp Tcp $($room::$test)*);
        in_all_settings!(@ tcp_linked TcpLinked $($room::$test)*);
        in_all_settings!(@ tcp_all_the_way TcpAllTheWay $($room::$test)*);
        in_all_settings!(@ tls Tls $($room::$test)*);
        in_all_settings!(@ tcp_compressed TcpCompressed $($room::$test)*);
        in_all_settings!(@ tls_compressed TlsCompressed $($room::$test)*);
    };
    (@ $name:ident $setting:ident $($room:ident::$test:ident)*) => {
        mod $name {
            use super::Setting;
            $(
                #[test]
                fn $test() {
                    super::$room::$test(Setting::$setting);
                }
            )*
        }
    };
}

in_all_settings! {
    values::all_element_types,
    values::function_results,
    values::defaults_and_characters,
    values::strings,
    values::structs,
    values::aliases_and_permuted_arguments,
    arrays::rows_and_columns_with_leading_dimensions,
    arrays::ranges_and_strides,
    arrays::arguments_that_are_not_referenced,
    arrays::results_sized_by_the_routine,
    arrays::null_and_bare_pointers,
    given::arrays_that_are_not_read_stay_where_they_are,
    given::what_the_routine_leaves_is_zero_and_nobody_s,
    given::gaps_of_what_is_not_read_stay_the_caller_s,
    files::files_there_and_back,
    files::contents_there_and_back,
    files::files_that_are_null,
    shapes::sizes_around_every_border,
    shapes::views_that_are_not_contiguous,
    shapes::results_in_place_and_elsewhere,
    shapes::sixty_four_megabytes,
    traffic::two_clients,
    traffic::eight_threads_on_one_client,
    traffic::a_thousand_small_calls,
    traffic::two_hundred_calls_in_flight,
}

/// The setting is what it says: the executable's connection is one of TCP, and it shares no memory.
#[test]
fn tcp_goes_all_the_way() {
    let snooze = client(Setting::TcpAllTheWay).routine("snooze").unwrap();
    let pid: i32 = snooze.call([("milliseconds", 0.into())]).unwrap().scalar("pid").unwrap();
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let inodes: Vec<&str> =
        connections.lines().filter_map(|line| line.split_whitespace().nth(9)).collect();
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let sockets: Vec<String> =
        targets.filter_map(|to| Some(to.to_str()?.strip_prefix("socket:")?.to_owned())).collect();
    assert!(!sockets.is_empty());
    assert!(
        sockets.iter().all(|socket| inodes.contains(&socket.trim_matches(['[', ']']))),
        "{sockets:?}"
    );
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("memfd:"), "{maps}");
}
