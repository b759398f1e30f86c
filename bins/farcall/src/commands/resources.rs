//! What a call asks to be given, on the command line.

use clap::Args;
use farcall_base::{Resources, Result};

/// Options of every command that makes a call.
#[derive(Args, Clone, Debug, Default)]
pub struct ResourceArguments {
    /// Cores of each process of the call: limits its threads, and is what a batch system is asked
    /// for
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    cores: Option<String>,
    /// Memory of each process: 500MB, 2GB
    #[arg(long, value_name = "MEMORY")]
    memory: Option<String>,
    /// GPUs of each process
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    gpus: Option<String>,
    /// Time that the routine may take at most: 90s, 30min, 2h, 1-12:00:00
    #[arg(long, value_name = "TIME")]
    wall_time: Option<String>,
}

impl ResourceArguments {
    /// What they say.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no such value.
    pub fn read(&self) -> Result<Resources> {
        let mut asked = Resources::default();
        let given = [
            ("cores", &self.cores),
            ("memory", &self.memory),
            ("gpus", &self.gpus),
            ("wall_time", &self.wall_time),
        ];
        for (name, text) in given {
            text.iter().try_for_each(|text| asked.set(name, text))?;
        }
        Ok(asked)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_those_of_every_client() {
        let text = |text: &str| Some(text.to_owned());
        let given = ResourceArguments {
            cores: text("4"),
            memory: text("2GB"),
            gpus: None,
            wall_time: text("1-12:00:00"),
        };
        assert_eq!(given.read().unwrap().to_string(), "cores=4, memory=2 GB, wall_time=36 h");
        let wrong = ResourceArguments { gpus: text("-1"), ..given };
        assert!(wrong.read().unwrap_err().to_string().contains("gpus is \"-1\""));
    }
}
