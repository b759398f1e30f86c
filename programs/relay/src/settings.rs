//! What a server is begun with: a configuration file and settings that clients gave, which are kept
//! among the user's configuration for every server of that name that is begun later.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use farcall_base::{Error, ErrorKind, Result};

use crate::Wish;

/// Gives the program behind it the standard output of this shell, and nothing else that runs: what
/// a login shell's start-up files print is not the server's.
const APART: &str = "exec 3>&1 1>&2; if command -v bash >/dev/null; then exec bash -lc \"$0\" \
                     farcall \"$@\"; else exec sh -lc \"$0\" farcall \"$@\"; fi";

/// The files that are kept for a server of a name.
struct Places {
    config: PathBuf,
    settings: PathBuf,
}

impl Places {
    fn of(name: &str) -> Places {
        let folder = config_folder();
        Places {
            config: folder.join(format!("for-{name}.toml")),
            settings: folder.join(format!("for-{name}.settings")),
        }
    }
}

/// `farcall` among the user's configuration, as the near side's shell names it
/// (`farcall_launcher::far::take_config`).
fn config_folder() -> PathBuf {
    let named =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || named("HOME").unwrap_or_else(|| "no".into()).join(".config");
    named("XDG_CONFIG_HOME").unwrap_or_else(home).join("farcall")
}

/// What a client wants to be kept from now on, beside what is.
pub struct Change {
    places: Places,
    config: [Option<String>; 2],
    settings: [Vec<String>; 2],
}

/// Before, and from now on.
const WAS: usize = 0;
const IS: usize = 1;

impl Change {
    /// Takes the file that came, if one did.
    pub fn of(wish: &Wish) -> Result<Change> {
        let places = Places::of(&wish.name);
        let kept = fs::read_to_string(&places.config).ok();
        let mut config = kept.clone();
        if wish.config_came {
            let mut came = places.config.clone().into_os_string();
            came.push(format!(".{}", wish.mark));
            config = Some(fs::read_to_string(&came).map_err(|error| cannot(&error))?);
            let _ = fs::remove_file(&came);
        } else if wish.settings.iter().any(|word| word == "config=") {
            config = None;
        }
        let was = lines_of(&places.settings);
        let is = merged(&was, &wish.settings);
        Ok(Change { places, config: [kept, config], settings: [was, is] })
    }

    /// Says no where a server runs that was begun with something else.
    pub fn refuse(&self, wish: &Wish) -> Result<()> {
        let mut differ = Vec::new();
        if self.config[WAS] != self.config[IS] {
            differ.push("another configuration file".to_owned());
        }
        let was: BTreeSet<&String> = self.settings[WAS].iter().collect();
        let is: BTreeSet<&String> = self.settings[IS].iter().collect();
        differ.extend(is.difference(&was).map(|word| (*word).clone()));
        let gone = |word: &&&String| !is.iter().any(|other| name_of(other) == name_of(word));
        differ.extend(was.iter().filter(gone).map(|word| format!("no {}", name_of(word))));
        if differ.is_empty() {
            return Ok(());
        }
        let message = "a server runs there already, and was started with other settings";
        let server = wish.address.as_ref();
        let server = server.map_or(String::new(), |address| format!(" --server {address}"));
        Err(Error::new(ErrorKind::Unavailable, "connect", message)
            .with("wanted", differ.join(", "))
            .with("server", &wish.name)
            .fix(format!(
                "stop it with `farcall drain{server}`, which waits for its calls, and connect \
                 again with the same options, which were not kept"
            )))
    }

    /// Keeps it.
    pub fn keep(&self) -> Result<Told> {
        if self.config[WAS] != self.config[IS] {
            write(&self.places.config, self.config[IS].as_deref())?;
        }
        if self.settings[WAS] != self.settings[IS] {
            write(&self.places.settings, text_of(&self.settings[IS]).as_deref())?;
        }
        let config = self.config[IS].is_some().then(|| self.places.config.clone());
        Ok(Told { config, settings: self.settings[IS].clone() })
    }

    /// What no server came up with is not kept.
    pub fn take_back(&self) {
        if self.config[WAS] != self.config[IS] {
            let _ = write(&self.places.config, self.config[WAS].as_deref());
        }
        if self.settings[WAS] != self.settings[IS] {
            let _ = write(&self.places.settings, text_of(&self.settings[WAS]).as_deref());
        }
    }
}

fn text_of(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.iter().map(|word| format!("{word}\n")).collect())
}

/// A file of the user's own; `None`: none.
fn write(path: &Path, text: Option<&str>) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

    let Some(text) = text else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot(&error)),
            _ => Ok(()),
        };
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let written = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&fresh, path)
    });
    written.map_err(|error| cannot(&error))
}

fn cannot(error: &std::io::Error) -> Error {
    let message = format!("the settings cannot be kept there: {error}");
    Error::new(ErrorKind::Unavailable, "connect", message)
        .with("directory", config_folder().display())
        .fix("free disk space there, and check that ~/.config can be written to")
}

/// `account` of `account=physics`.
fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// What is kept, but for the names that were given again; an empty value takes one back.
fn merged(kept: &[String], given: &[String]) -> Vec<String> {
    let is_given = |word: &&String| given.iter().any(|other| name_of(other) == name_of(word));
    let stays = kept.iter().filter(|word| !is_given(word));
    let mut all: Vec<String> =
        stays.chain(given.iter().filter(|word| !word.ends_with('='))).cloned().collect();
    // In one order, whatever was given first; modules as they are to be loaded.
    all.sort_by(|one, other| name_of(one).cmp(name_of(other)));
    all
}

/// What a server of that name is told that is begun now.
pub fn kept(name: &str) -> Told {
    let Places { config, settings } = Places::of(name);
    Told { config: Some(config).filter(|file| file.exists()), settings: lines_of(&settings) }
}

fn lines_of(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What a server is told.
pub struct Told {
    config: Option<PathBuf>,
    settings: Vec<String>,
}

impl Told {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.settings.iter().filter_map(move |word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// The program; behind a login shell that prepares its environment, where that is wanted.
    pub fn command(&self, program: &Path) -> Command {
        let load = self.values("load").map(|module| {
            let module = quoted(module);
            format!("module load {module} || {{ echo \"module load\" {module} failed; exit 1; }}; ")
        });
        let source = self.values("source").map(|script| {
            let script = quoted(&at_home(script));
            format!(". {script} || {{ echo {script} failed; exit 1; }}; ")
        });
        let prepares: String = load.chain(source).collect();
        if prepares.is_empty() {
            return Command::new(program);
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", APART]).arg(prepares + "exec \"$@\" >&3 3>&-").arg(program);
        command
    }

    /// What a login shell does before the server is started: `load=gcc/12`.
    pub fn preparations(&self) -> impl Iterator<Item = &str> {
        let prepares = |word: &&String| matches!(name_of(word), "load" | "source");
        self.settings.iter().filter(prepares).map(String::as_str)
    }

    /// Arguments of `farcall serve`.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        if let Some(config) = &self.config {
            all.extend(["--manifest".into(), config.into()]);
        }
        for name in ["account", "partition", "time-limit", "memory", "gpus", "python"] {
            for value in self.values(name) {
                let value = if name == "python" { at_home(value) } else { value.to_owned() };
                all.extend([format!("--{name}").into(), value.into()]);
            }
        }
        all
    }
}

/// A path of this host, `~/` being the user's home.
fn at_home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_given_again_replaces_what_is_kept() {
        for (kept, given, all) in [
            ("", "memory=1 account=a", "account=a memory=1"),
            ("account=a memory=1", "account=b", "account=b memory=1"),
            ("account=a memory=1", "account=", "memory=1"),
            ("load=x load=y", "account=a", "account=a load=x load=y"),
            ("load=x load=y", "load=z load=a", "load=z load=a"),
            ("account=a", "", "account=a"),
        ] {
            assert_eq!(merged(&words(kept), &words(given)), words(all), "{kept} + {given}");
        }
    }

    #[test]
    fn a_server_is_told_what_is_kept() {
        let settings = words("account=a gpus=2 load=gcc/12");
        let told = Told { config: Some("/c.toml".into()), settings };
        let arguments: Vec<_> =
            told.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(arguments, words("--manifest /c.toml --account a --gpus 2"));
        let line = format!("{:?}", told.command(Path::new("/bin/farcall")));
        assert!(line.contains("module load 'gcc/12' ||"), "{line}");
        let plain = Told { config: None, settings: Vec::new() };
        assert_eq!(plain.command(Path::new("/bin/farcall")).get_args().count(), 0);
    }
}
