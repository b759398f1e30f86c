//! The fetcher alone: rules, bookkeeping, files, and a page server of a few lines.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use farcall_base::ErrorKind;
use farcall_formats::{Data, mtx, npy};
use farcall_idl::interface::{ElementType, Order};
use farcall_services::fetcher::{Fetched, Wanted};

use crate::fetch::{World, agent};
use crate::source::{Location, Rules};
use crate::state::{Allowed, Job, Limits, State};
use crate::step::{Action, Event, step};

fn limits(allow: &[(&str, &str)]) -> Limits {
    let entry = |(from, who): &(&str, &str)| Allowed {
        from: vec![(*from).into()],
        who: vec![(*who).into()],
    };
    Limits {
        allow: allow.iter().map(entry).collect(),
        bytes_max: 1 << 20,
        at_once_max: 1,
        waiting_max: 1,
        timeout_ms: 1000,
        certificates: String::new(),
    }
}

fn rules(allow: &[(&str, &str)]) -> Rules {
    Rules::new(&limits(allow).allow).unwrap()
}

fn wanted(url: &str, shape: &[u64], element: ElementType, order: Order) -> Wanted {
    Wanted { url: url.into(), principal: "anna".into(), element, shape: shape.to_vec(), order }
}

fn fetch(allow: &[(&str, &str)], wanted: Wanted) -> farcall_base::Result<Vec<u8>> {
    let limits = limits(allow);
    let rules = Rules::new(&limits.allow).unwrap();
    let location = rules.locate(&wanted.url, &wanted.principal)?;
    let world = World {
        agent: agent(&limits).unwrap(),
        bytes_max: limits.bytes_max,
        timeout_ms: limits.timeout_ms,
    };
    let Fetched { memory, bytes } = world.fetch(&Job { number: 1, location, wanted }, &rules)?;
    let mut content = vec![0; bytes as usize];
    std::fs::File::from(memory).read_exact_at(&mut content, 0).unwrap();
    Ok(content)
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn matrix() -> Data {
    let bytes = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    Data {
        element: ElementType::Float64,
        shape: vec![2, 3],
        order: Order::Row,
        bytes,
        decimal: false,
    }
}

/// A folder of this test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("farcall-fetcher-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("open")).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    fn put(&self, name: &str, write: impl Fn(&mut dyn Write)) -> String {
        let path = self.0.join(name);
        write(&mut std::fs::File::create(&path).unwrap());
        format!("file:{}", path.display())
    }

    fn open(&self) -> String {
        format!("file:{}/open", self.0.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Answers one request after the other with these, and returns where.
fn pages(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut request = Vec::new();
            let mut one = [0; 1];
            while !request.ends_with(b"\r\n\r\n")
                && stream.read(&mut one).is_ok_and(|count| count > 0)
            {
                request.push(one[0]);
            }
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

fn page(content: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content].concat()
}

fn redirection(to: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

fn npy_of(data: &Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, data).unwrap();
    bytes
}

#[test]
fn urls_that_seem_to_be_elsewhere_are_refused() {
    for url in [
        "https://data.org/../secret.npy",
        "https://data.org/a/%2e%2e/secret.npy",
        "https://data.org/a/%2E./secret.npy",
        "https://data.org/a//b.npy",
        "https://data.org/a%2fb.npy",
        "https://data.org@evil.org/a.npy",
        "https://user:password@data.org/a.npy",
        "https:data.org/a.npy",
        "https://data.org:99999/a.npy",
        "https:///a.npy",
        "https://data.org/a b.npy",
        "https://data.org\\@evil.org/a.npy",
        "ftp://data.org/a.npy",
        "a.npy",
        "file:a.npy",
        "file:/srv/../etc/passwd",
        "file:/srv/%00.npy",
        "https://data.org/%zz",
    ] {
        assert!(Location::parse(url).is_err(), "{url}");
    }
}

#[test]
fn places_are_compared_by_scheme_host_port_and_whole_folders() {
    let place = Location::parse("https://Data.org/public").unwrap();
    for (url, is_below) in [
        ("https://data.org/public/a.npy", true),
        ("HTTPS://DATA.ORG:443/public/deep/a.npy?version=2#part", true),
        ("https://data.org/public", true),
        ("https://data.org/publicity/a.npy", false),
        ("https://data.org/a.npy", false),
        ("http://data.org/public/a.npy", false),
        ("https://data.org:8443/public/a.npy", false),
        ("https://data.org.evil.org/public/a.npy", false),
    ] {
        assert_eq!(Location::parse(url).unwrap().is_below(&place), is_below, "{url}");
    }
}

#[test]
fn sources_are_for_those_who_are_named() {
    let rules = rules(&[("https://data.org/", "anna"), ("https://open.org/", "*")]);
    assert!(rules.locate("https://data.org/a.npy", "anna").is_ok());
    assert_eq!(
        rules.locate("https://data.org/a.npy", "bert").unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert!(rules.locate("https://open.org/a.npy", "bert").is_ok());
    assert_eq!(
        rules.locate("https://other.org/a.npy", "anna").unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert!(Rules::new(&limits(&[("data.org", "*")]).allow).unwrap_err().contains("is not a URL"));
}

#[test]
fn so_many_are_fetched_so_many_wait_and_more_are_refused() {
    let mut state =
        State::new(limits(&[("https://data.org/", "*")]), rules(&[("https://data.org/", "*")]));
    let ask = |number| {
        let wanted = wanted("https://data.org/a.npy", &[1], ElementType::Float64, Order::Row);
        Event::Asked { number, wanted }
    };
    assert!(matches!(step(&mut state, ask(1)), Some(Action::Fetch(job)) if job.number == 1));
    assert!(step(&mut state, ask(2)).is_none());
    let Some(Action::Refuse { number: 3, error }) = step(&mut state, ask(3)) else {
        panic!("it was taken")
    };
    assert!(error.is_retryable() && error.kind() == ErrorKind::LimitExceeded);
    assert!(matches!(step(&mut state, Event::Ended), Some(Action::Fetch(job)) if job.number == 2));
    assert!(step(&mut state, Event::Ended).is_none());
    assert_eq!(state.fetching, 0);
}

#[test]
fn files_come_in_the_type_and_order_that_are_wanted() {
    let folder = Folder::new("order");
    let numpy = folder.put("open/a.npy", |mut out| npy::write(&mut out, &matrix()).unwrap());
    let market = folder.put("open/a.mtx", |mut out| mtx::write(&mut out, &matrix()).unwrap());
    let allow = [(folder.open(), "*".to_owned())];
    let allow: Vec<(&str, &str)> =
        allow.iter().map(|(from, who)| (from.as_str(), who.as_str())).collect();
    for url in [&numpy, &market] {
        let row = fetch(&allow, wanted(url, &[2, 3], ElementType::Float64, Order::Row)).unwrap();
        assert_eq!(row, matrix().bytes);
        let column =
            fetch(&allow, wanted(url, &[2, 3], ElementType::Float64, Order::Column)).unwrap();
        assert_eq!(column, doubles(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
        let wrong =
            fetch(&allow, wanted(url, &[3, 2], ElementType::Float64, Order::Row)).unwrap_err();
        assert!(wrong.to_string().contains("shape"), "{wrong}");
        assert!(fetch(&allow, wanted(url, &[2, 3], ElementType::Int32, Order::Row)).is_err());
    }
}

#[test]
fn files_outside_and_odd_ones_are_refused() {
    let folder = Folder::new("outside");
    let secret = folder.put("secret.npy", |mut out| npy::write(&mut out, &matrix()).unwrap());
    std::os::unix::fs::symlink(folder.0.join("secret.npy"), folder.0.join("open/link.npy"))
        .unwrap();
    std::fs::create_dir(folder.0.join("open/folder.npy")).unwrap();
    let text = folder.put("open/a.txt", |out| out.write_all(b"1 2 3").unwrap());
    let short = folder.put("open/short.npy", |out| out.write_all(b"\x93NUMPY\x01\x00").unwrap());
    let long = folder.put("open/long.npy", |out| out.write_all(&vec![0; 2 << 20]).unwrap());
    let open = folder.open();
    let allow = [(open.as_str(), "*")];
    let kind = |url: &str| {
        fetch(&allow, wanted(url, &[2, 3], ElementType::Float64, Order::Row)).unwrap_err().kind()
    };
    assert_eq!(kind(&secret), ErrorKind::PermissionDenied);
    assert_eq!(kind(&format!("{open}/link.npy")), ErrorKind::PermissionDenied);
    assert_eq!(kind(&format!("{open}/folder.npy")), ErrorKind::InvalidArgument);
    assert_eq!(kind(&format!("{open}/nothing.npy")), ErrorKind::NotFound);
    assert_eq!(kind(&text), ErrorKind::InvalidArgument);
    assert_eq!(kind(&short), ErrorKind::InvalidArgument);
    assert_eq!(kind(&long), ErrorKind::LimitExceeded);
}

#[test]
fn pages_come_over_http() {
    let host =
        pages(vec![page(&npy_of(&matrix())), redirection("/data/b.npy"), page(&npy_of(&matrix()))]);
    let allow = [(format!("{host}/data"), "*")];
    let allow: Vec<(&str, &str)> = allow.iter().map(|(from, who)| (from.as_str(), *who)).collect();
    for name in ["a.npy", "moved.npy"] {
        let url = format!("{host}/data/{name}?version=1");
        let got = fetch(&allow, wanted(&url, &[2, 3], ElementType::Float64, Order::Row)).unwrap();
        assert_eq!(got, matrix().bytes, "{name}");
    }
}

#[test]
fn pages_that_lead_astray_fail_or_are_too_long() {
    let elsewhere = pages(vec![page(&npy_of(&matrix()))]);
    let endless: Vec<Vec<u8>> = (0..7).map(|_| redirection("/data/a.npy")).collect();
    for (answers, wanted_kind) in [
        (vec![redirection(&format!("{elsewhere}/data/a.npy"))], ErrorKind::PermissionDenied),
        (vec![redirection("file:/etc/passwd")], ErrorKind::PermissionDenied),
        (vec![redirection("/private/a.npy")], ErrorKind::PermissionDenied),
        (endless, ErrorKind::Unreachable),
        (
            vec![b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()],
            ErrorKind::NotFound,
        ),
        (vec![b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_vec()], ErrorKind::Unreachable),
        (
            vec![b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()],
            ErrorKind::LimitExceeded,
        ),
        // What is not an array is not read to its end.
        (vec![endless_page(b"<html>")], ErrorKind::InvalidArgument),
        (vec![endless_page(&npy_of(&matrix()))], ErrorKind::InvalidArgument),
        (vec![page(&npy_of(&matrix()))[..120].to_vec()], ErrorKind::Unreachable),
        (vec![page(b"<html>log in first</html>")], ErrorKind::InvalidArgument),
        (vec![b"garbage\r\n\r\n".to_vec()], ErrorKind::Unreachable),
    ] {
        let host = pages(answers);
        let place = format!("{host}/data");
        let url = format!("{host}/data/a.npy");
        let error =
            fetch(&[(&place, "*")], wanted(&url, &[2, 3], ElementType::Float64, Order::Row))
                .unwrap_err();
        assert_eq!(error.kind(), wanted_kind, "{error}");
    }
}

/// A page of unknown length that goes on for longer than is fetched.
fn endless_page(begin: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", begin, &[b' '; 3 << 20]].concat()
}

#[test]
fn comments_without_end_are_read_as_far_as_the_limit() {
    let host = pages(vec![endless_page(b"%%MatrixMarket matrix array real general\n%")]);
    let place = format!("{host}/data");
    let wanted = wanted(&format!("{place}/a.mtx"), &[2, 3], ElementType::Float64, Order::Row);
    let error = fetch(&[(&place, "*")], wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn another_shape_than_is_wanted_is_found_before_the_numbers_are_read() {
    let folder = Folder::new("shapes");
    // All that it announces would be there, if anybody read it.
    let url = folder.put("open/a.npy", |file| {
        let mut header = npy_of(&matrix());
        let at = header.windows(6).position(|bytes| bytes == b"(2, 3)").unwrap();
        header[at..at + 6].copy_from_slice(b"(7,99)");
        file.write_all(&header).unwrap();
    });
    let error =
        fetch(&[(&folder.open(), "*")], wanted(&url, &[2, 3], ElementType::Float64, Order::Row))
            .unwrap_err();
    assert!(
        error.to_string().contains("its shape differs") && error.to_string().contains("[7, 99]"),
        "{error}"
    );
}

#[test]
fn a_page_that_never_comes_or_never_ends_costs_its_time_and_no_more() {
    for begun in [b"".as_slice(), b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("http://{}/", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(begun).unwrap();
            stream
        });
        let url = format!("{place}a.npy");
        let begin = std::time::Instant::now();
        let error = fetch(&[(&place, "*")], wanted(&url, &[1], ElementType::Float64, Order::Row))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("timeout_ms: 1000"), "{error}");
        assert!(begin.elapsed().as_secs() < 10);
        drop(answering.join());
    }
}

#[test]
fn the_options_text_says_the_defaults() {
    let options =
        farcall_kernel::Options::from_text("farcall.toml", include_str!("options.toml")).unwrap();
    assert_eq!(options.read::<Limits>().unwrap(), Limits::default());
}
