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
