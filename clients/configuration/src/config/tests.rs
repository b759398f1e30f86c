//! Every attribute with its default and another value; what has no effect.
#![allow(clippy::unwrap_used)]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind};

use super::*;

pub(super) fn surroundings() -> Surroundings {
    Surroundings { hostname: "me.example".into(), log_level: None }
}

/// Reads `files` beginning with the first.
pub(super) fn read_all(files: &[(&str, &str)]) -> Result<Config> {
    let read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    Config::read(Path::new(files[0].0), &surroundings(), &read)
}

fn read(text: &str) -> Config {
    read_all(&[("c.conf", text)]).unwrap_or_else(|error| panic!("{text}\n{}", said(&error)))
}

pub(super) fn said(error: &Error) -> String {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<Mistakes>());
    source.map_or_else(|| error.to_string(), Mistakes::to_string)
}

pub(super) fn refusal(text: &str) -> String {
    let error =
        read_all(&[("c.conf", text)]).err().unwrap_or_else(|| panic!("this is taken:\n{text}"));
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
    said(&error)
}

fn seconds(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(count))
}

#[test]
fn an_empty_file_says_what_holds_by_default() {
    let config = read("# nothing\n\n");
    let log = LogFile { files_max: Some(1), ..LogFile::default() };
    let client = Client {
        hostname: "me.example".into(),
        sessions_kept: Some(256),
        log_level: 2,
        log_level_protocol: 2,
        log_level_internal: 2,
        log_level_grpc: 2,
        log,
        tmp_dir: None,
        fortran_compatible: false,
        handling_signals: vec![1, 2, 15],
    };
    assert_eq!(config.client, client);
    assert!(config.servers.is_empty() && config.functions.is_empty() && config.warnings.is_empty());
    let without = Config::without_file(&surroundings());
    assert_eq!((without.client, without.servers), (config.client, config.servers));
    let louder = Surroundings { log_level: Some(5), ..surroundings() };
    assert_eq!(Config::without_file(&louder).client.log_level_grpc, 5);
}

#[test]
fn every_attribute_of_client() {
    let config = read(
        "<CLIENT>\nhostname here\nsave_sessionInfo -1\nloglevel Debug\nloglevel_ninfgProtocol \
         0\nloglevel_ninfgInternal Fatal\nloglevel_ninfgGrpc 3\nlog_filePath \
         /tmp/log%p\nlog_suffix num\nlog_nFiles 0\nlog_maxFileSize 2 Mega\nlog_overwriteDirectory \
         true\ntmp_dir /scratch\nfortran_compatible true\nhandling_signals SIGUSR1 15\n</CLIENT>\n",
    );
    let log = LogFile {
        path: Some("/tmp/log%p".into()),
        suffix: Some("num".into()),
        files_max: None,
        bytes_max: Some(2 << 20),
        overwrite_directory: true,
    };
    let client = Client {
        hostname: "here".into(),
        sessions_kept: None,
        log_level: 5,
        log_level_protocol: 0,
        log_level_internal: 1,
        log_level_grpc: 3,
        log,
        tmp_dir: Some("/scratch".into()),
        fortran_compatible: true,
        handling_signals: vec![10, 15],
    };
    assert_eq!((config.client, config.warnings), (client, Vec::new()));
    assert_eq!(read("<CLIENT>\nlog_nFiles 3\n</CLIENT>").client.log.bytes_max, Some(1 << 20));
    assert!(read("<CLIENT>\nhandling_signals none\n</CLIENT>").client.handling_signals.is_empty());
    let quoted = read("<CLIENT>\nhandling_signals \"SIGINT SIGTERM\" SIGHUP\n</CLIENT>");
    assert_eq!(quoted.client.handling_signals, [2, 15, 1]);
}

#[test]
fn every_attribute_of_function_info() {
    let required = "hostname a\nfuncname m/f\npath /p/_stub_f\n";
    let config = read(&format!("<FUNCTION_INFO>\n{required}</FUNCTION_INFO>"));
    let bare = config.function("a", "m/f").unwrap();
    assert_eq!(bare.path, PathBuf::from("/p/_stub_f"));
    assert_eq!(
        (bare.session_timeout, bare.argument_timeout, bare.result_timeout),
        (None, None, None)
    );
    let config = read(&format!(
        "<FUNCTION_INFO>\n{required}staging false\nbackend normal\nsession_timeout 1 \
         minute\ntransferTimeout_argument 2s\ntransferTimeout_result \
         3\ntransferTimeout_callbackArgument \"4 seconds\"\ntransferTimeout_callbackResult 1 \
         h\n</FUNCTION_INFO>"
    ));
    let full = &config.functions[0];
    assert_eq!(
        (full.session_timeout, full.argument_timeout, full.result_timeout),
        (seconds(60), seconds(2), seconds(3))
    );
    assert_eq!(
        (full.callback_argument_timeout, full.callback_result_timeout),
        (seconds(4), seconds(3600))
    );
    assert!(
        config.function("b", "m/f").is_none()
            && config.function("a", "f").is_none()
            && config.warnings.is_empty()
    );
}

/// A server that says nothing but its host.
fn plain_server() -> Server {
    read("<SERVER>\nhostname a.example\n</SERVER>").servers.remove(0)
}

#[test]
fn defaults_of_servers() {
    let server = plain_server();
    let expected = Server {
        place: Place { file: Path::new("c.conf").into(), line: 1, column: 1 },
        hostname: "a.example".into(),
        tag: None,
        port: None,
        launch: None,
        foreign_launcher: None,
        environment: Vec::new(),
        ranks: Vec::new(),
        work_directory: None,
        start_timeout: None,
        stop_timeout: None,
        transfer: ArgumentTransfer::Wait,
        compression: None,
        connect_retry: None,
        heartbeat: seconds(60),
        heartbeat_count: 5,
        redirect_output: true,
        information_sources: Vec::new(),
        communication_log: None,
        debug: None,
    };
    assert_eq!(server, expected);
}

/// Every attribute of a server that has an effect, with another value than its default.
pub(super) const SERVER: &str = "tag t\nport 4000\nenvironment A=1\nenvironment \"B=x \
    y\"\nenvironment C\nmpi_runNoOfCPUs pi=4\nmpi_runNoOfCPUs 2\nworkDirectory \
    /w\njob_startTimeout 7\njob_stopTimeout 0\nargument_transfer copy\ncompress \
    zlib\ncompress_threshold 1K\ntcp_connect_retryCount 1\ntcp_connect_retryBaseInterval \
    2\ntcp_connect_retryIncreaseRatio 1.5\ntcp_connect_retryRandom false\nheartbeat \
    1\nheartbeat_timeoutCount 2\nredirect_outerr false\ninformation_source_tag n\ncommLog_enable \
    true\ncommLog_filePath c.log\ncommLog_suffix s\ncommLog_nFiles 2\ncommLog_maxFileSize \
    5\ncommLog_overwriteDirectory true\ndebug true\ndebug_display :1\ndebug_terminal \
    kterm\ndebug_debugger lldb\ndebug_busyLoop true\n";
/// What SERVER refers to.
pub(super) const SOURCE: &str =
    "<INFORMATION_SOURCE>\ntype NRF\ntag n\nsource a.nrf\nsource b.nrf\n</INFORMATION_SOURCE>\n";

fn full_server() -> Server {
    let variable = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    let log = LogFile {
        path: Some("c.log".into()),
        suffix: Some("s".into()),
        files_max: Some(2),
        bytes_max: Some(5),
        overwrite_directory: true,
    };
    let terminal = "kterm".into();
    let debugger = "lldb".into();
    Server {
        tag: Some("t".into()),
        port: Some(4000),
        environment: vec![
            variable("A", Some("1")),
            variable("B", Some("x y")),
            variable("C", None),
        ],
        ranks: vec![(Some("pi".into()), 4), (None, 2)],
        work_directory: Some("/w".into()),
        start_timeout: seconds(7),
        stop_timeout: Some(Duration::ZERO),
        transfer: ArgumentTransfer::Copy,
        compression: Some(Compress::From(1024)),
        connect_retry: Some(ConnectRetry {
            count: 1,
            base: Duration::from_secs(2),
            ratio: 1.5,
            random: false,
        }),
        heartbeat: seconds(1),
        heartbeat_count: 2,
        redirect_output: false,
        information_sources: vec!["n".into()],
        communication_log: Some(log),
        debug: Some(Debug { display: Some(":1".into()), terminal, debugger, busy_loop: true }),
        ..plain_server()
    }
}

#[test]
fn ranks_of_functions() {
    let server =
        |lines: &str| read(&format!("<SERVER>\nhostname a\n{lines}</SERVER>")).servers.remove(0);
    let some = server("mpi_runNoOfCPUs m/pi=4\nmpi_runNoOfCPUs 2\nmpi_runNoOfCPUs heat=8\n");
    let ranks = ["m/pi", "pi", "n/pi", "n/heat", "heat", "other"].map(|name| some.ranks_of(name));
    assert_eq!(ranks, [4, 4, 2, 8, 8, 2]);
    assert_eq!(server("mpi_runNoOfCPUs pi=4\n").ranks_of("heat"), 0);
}

#[test]
fn every_attribute_of_server() {
    let config = read(&format!("<SERVER>\nhostname a.example\n{SERVER}</SERVER>\n{SOURCE}"));
    assert_eq!((config.servers, config.warnings), (vec![full_server()], Vec::new()));
    let files: Vec<_> =
        config.interface_files[0].files.iter().map(|file| file.name.clone()).collect();
    assert_eq!(
        (config.interface_files[0].tag.as_deref(), files),
        (Some("n"), vec!["a.nrf".into(), "b.nrf".into()])
    );
    let never = read(
        "<SERVER>\nhostname a\nheartbeat 0\njob_stopTimeout -1\nargument_transfer \
            nowait\n</SERVER>",
    );
    let server = &never.servers[0];
    assert_eq!(
        (server.heartbeat, server.stop_timeout, server.transfer),
        (None, None, ArgumentTransfer::NoWait)
    );
}

#[test]
fn defaults_may_come_last_and_give_way() {
    let config = read(&format!(
        "<SERVER>\nhostname \
            a.example\n</SERVER>\n<SERVER_DEFAULT>\n{SERVER}</SERVER_DEFAULT>\n{SOURCE}"
    ));
    assert_eq!(config.servers, [full_server()]);
    let config = read(
        "<SERVER>\nhostname a\nport 7\nenvironment X\n</SERVER>\n<SERVER_DEFAULT>\nport \
         8\nenvironment Y\nheartbeat 9\n</SERVER_DEFAULT>",
    );
    let server = &config.servers[0];
    assert_eq!((server.port, server.heartbeat), (Some(7), seconds(9)));
    assert_eq!(server.environment, [("X".to_owned(), None)]);
}

#[test]
fn a_file_that_is_read_later_takes_the_place_of_what_was_known() {
    let function = |time: u32| {
        format!(
            "<FUNCTION_INFO>\nhostname a\nfuncname m/f\npath /x\nsession_timeout \
                {time}\n</FUNCTION_INFO>\n"
        )
    };
    let server = |rest: &str| format!("<SERVER>\nhostname {rest}\n</SERVER>\n");
    let client = "<CLIENT>\nsave_sessionInfo 3\n</CLIENT>\n";
    let mut config = read(
        &[server("a"), server("b\ntag t"), function(1), SOURCE.to_owned(), client.to_owned()]
            .concat(),
    );
    let source = "<INFORMATION_SOURCE>\ntype NRF\ntag n\nsource c.nrf\n</INFORMATION_SOURCE>\n";
    config.join(read(
        &[
            server("c"),
            server("b\ntag t\nport 9"),
            server("a\nheartbeat 2"),
            function(7),
            source.to_owned(),
        ]
        .concat(),
    ));
    let known: Vec<_> = config
        .servers
        .iter()
        .map(|known| (known.hostname.as_str(), known.port, known.heartbeat))
        .collect();
    assert_eq!(
        known,
        [("a", None, seconds(2)), ("b", Some(9), seconds(60)), ("c", None, seconds(60))]
    );
    assert_eq!(
        config.functions.iter().map(|known| known.session_timeout).collect::<Vec<_>>(),
        [seconds(7)]
    );
    assert_eq!((config.interface_files.len(), config.interface_files[0].files.len()), (1, 1));
    assert_eq!(config.client.sessions_kept, Some(3), "a file without CLIENT leaves it as it was");
}

#[test]
fn one_host_has_servers_at_several_ports() {
    let config =
        read("<SERVER>\nhostname a\nport 1\n</SERVER>\n<SERVER>\nhostname a\nport 2\n</SERVER>");
    assert_eq!(
        config.servers.iter().map(|server| server.port).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    assert_eq!(config.server("a").unwrap().port, Some(1));
}

#[test]
fn servers_are_found_by_tag_and_then_by_host() {
    let config = read(
        "<SERVER>\nhostname a b # two\nhostname \"c\"\n</SERVER>\n<SERVER>\nhostname a\ntag \
         other\nport 5\n</SERVER>\n<SERVER>\nhostname d\ntag b\n</SERVER>",
    );
    let hosts: Vec<&str> = config.servers.iter().map(|server| server.hostname.as_str()).collect();
    assert_eq!(hosts, ["a", "b", "c", "a", "d"]);
    assert_eq!(config.server("a").unwrap().port, None);
    assert_eq!(config.server("other").unwrap().port, Some(5));
    assert_eq!(config.server("b").unwrap().hostname, "d");
    assert!(config.server("e").is_none());
}

#[test]
fn a_host_without_a_section_is_as_server_default_says() {
    let config = read(
        "<SERVER>\nhostname a\nheartbeat 7\n</SERVER>\n<SERVER_DEFAULT>\nheartbeat \
            9\n</SERVER_DEFAULT>",
    );
    let unnamed = config.unnamed_server("b");
    assert_eq!(
        (unnamed.hostname.as_str(), unnamed.heartbeat, unnamed.tag),
        ("b", seconds(9), None)
    );
    assert_eq!(read("").unnamed_server("b").heartbeat, seconds(60));
}

#[test]
fn words_quotes_comments_and_line_ends() {
    let config = read(
        "\u{feff}<SERVER>\r\n\thostname\ta#comment\r\n  environment \"A=say \\\"x\\\" # \\\\ y\" \
         # comment\r\n < / SERVER > # end\r\n<SERVER_DEFAULT>\njob_rslExtensions \"one\ntwo # not \
         a comment\nthree\"\n</SERVER_DEFAULT>",
    );
    assert_eq!(config.servers[0].environment[0].1.as_deref(), Some("say \"x\" # \\ y"));
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
}

#[test]
fn launchers_that_have_a_counterpart_are_addresses() {
    let config = read(
        "<SERVER>\nhostname a b\ninvoke_server SSH\ninvoke_server_option \"ssh_user \
         me\"\n</SERVER>\n<SERVER>\nhostname c\ninvoke_server \
         Slurm\n</SERVER>\n<SERVER>\nhostname d\n</SERVER>\n<SERVER>\nhostname e\ninvoke_server \
         GT2c\n</SERVER>\n<INVOKE_SERVER>\ntype Slurm\noption \"ssh_user \
         you\"\n</INVOKE_SERVER>\n<SERVER_DEFAULT>\ninvoke_server SSH\n</SERVER_DEFAULT>",
    );
    let address =
        |server: &Server| server.launch.as_ref().map(|launch| launch.address(&server.hostname));
    let all: Vec<_> = config.servers.iter().map(address).collect();
    let expected = ["ssh://me@a", "ssh://me@b", "ssh://you@c/slurm", "ssh://d"]
        .map(|one| Some(one.to_owned()));
    assert_eq!(all, [&expected[..], &[None]].concat());
    let said: Vec<String> = config.warnings.iter().map(|warning| warning.message.clone()).collect();
    assert!(
        said.len() == 1
            && said[0].contains("the type GT2c")
            && said[0].contains("write invoke_server SSH"),
        "{said:?}"
    );
    let foreign: Vec<Option<&str>> =
        config.servers.iter().map(|server| server.foreign_launcher.as_deref()).collect();
    assert_eq!(foreign, [None, None, None, None, Some("GT2c")]);
    let globus = read("<SERVER>\nhostname a\nport 2119\njobmanager jobmanager-fork\n</SERVER>");
    assert_eq!(globus.servers[0].foreign_launcher.as_deref(), Some("jobmanager-fork"));
    let options = read(
        "<SERVER>\nhostname a\nport 2222\ninvoke_server SSH\ninvoke_server_option \"ssh_command \
         /opt/gate\"\ninvoke_server_option \"ssh_option -i\"\ninvoke_server_option \"ssh_option \
         /keys/mine\"\ninvoke_server_option \"ssh_remoteSh /bin/bash\"\ninvoke_server_option \
         \"ssh_relayNode gate\"\n</SERVER>",
    );
    let launch = options.servers[0].launch.as_ref().unwrap();
    assert_eq!(launch.address("a"), "ssh://a:2222");
    assert_eq!(launch.command.as_deref(), Some("/opt/gate"));
    assert_eq!(launch.options, ["-i", "/keys/mine"]);
    assert_eq!(launch.shell.as_deref(), Some("/bin/bash"));
    let said: Vec<&str> = options.warnings.iter().map(|one| one.message.as_str()).collect();
    assert!(said.len() == 1 && said[0].contains("ssh_relayNode has no effect"), "{said:?}");
}

#[test]
fn sections_without_effect_are_checked_all_the_same() {
    let launcher =
        "type SSH\npath /p\nmax_jobs 3\nlog_filePath l\nstatus_polling 1 m\noption a\noption b\n";
    let own = "type Slurm\npath /p/slurm\n";
    let proxy = "type GT\npath /p\nbuffer_size 1M\nmax_jobs 1\nlog_filePath l\noption a\n";
    let source = "type MDS4\ntag m\npath /p\nlog_filePath l\ntimeout 3\noption a\n";
    let mds = "hostname m\ntag g\ntype MDS2\nport 2135\nprotocol http\npath p\nsubject s\nvo_name \
               v\nclient_timeout 1\nserver_timeout 2\n";
    let config = read(&format!(
        "<INVOKE_SERVER>\n{launcher}</INVOKE_SERVER>\n<INVOKE_SERVER>\n{own}</INVOKE_SERVER>\n\
         <CLIENT_COMMUNICATION_PROXY>\n{proxy}</CLIENT_COMMUNICATION_PROXY>\n\
         <INFORMATION_SOURCE>\n{source}</INFORMATION_SOURCE>\n<MDS_SERVER>\n{mds}</MDS_SERVER>\n\
         <LOCAL_LDIF>\nfilename a.ngdef\nfilename b.ldif\n</LOCAL_LDIF>\n\
         <SERVER>\nhostname a\ninvoke_server Slurm\ninformation_source_tag m\n</SERVER>"
    ));
    let said: Vec<String> = config.warnings.iter().map(|warning| warning.message.clone()).collect();
    for words in ["type SSH", "type Slurm", "option a ", "type GT", "type MDS4", "MDS_SERVER"] {
        assert_eq!(
            said.iter().filter(|message| message.contains(words)).count(),
            1,
            "{words}: {said:#?}"
        );
    }
    assert_eq!(config.interface_files.len(), 1, "only local files are read");
    let candidates = config.interface_files[0].files[0].candidates();
    assert_eq!(candidates, [PathBuf::from("a.ngdef"), PathBuf::from("a.ngdef")]);
    for (section, text) in [
        ("INVOKE_SERVER", "max_jobs 1\n"),
        ("CLIENT_COMMUNICATION_PROXY", "type GTX\n"),
        ("INFORMATION_SOURCE", "type NRF\n"),
        ("MDS_SERVER", "hostname h\nprotocol ftp\n"),
        ("LOCAL_LDIF", ""),
        ("INVOKE_SERVER", "type SSHH\n"),
    ] {
        refusal(&format!("<{section}>\n{text}</{section}>"));
    }
}
