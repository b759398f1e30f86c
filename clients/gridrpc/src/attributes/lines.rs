//! Attributes of a handle as clients of other languages give them: NAME=VALUE in each line, by the
//! names that the configuration file has for the same.

use super::HandleAttributes;
use crate::code::{Failure, Outcome};

impl HandleAttributes {
    /// Those of a handle of this function or class.
    pub fn of_lines(lines: &str, name: &str) -> Outcome<HandleAttributes> {
        let mut all = HandleAttributes::of(None, name);
        for line in lines.lines() {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            all.take(name, value)?;
        }
        Ok(all)
    }

    fn take(&mut self, name: &str, value: &str) -> Outcome<()> {
        let number = || {
            let read = value.trim().parse::<i32>();
            read.map_err(|_| {
                Failure::other(format!("{name} is {value:?}, not a whole number; give a number"))
            })
        };
        let text = Some(value.to_owned());
        match name {
            "hostname" => self.host = text.filter(|text| !text.is_empty()),
            "port" => self.port = number()?,
            "job_startTimeout" => self.start_timeout = number()?,
            "job_stopTimeout" => self.stop_timeout = number()?,
            "mpi_runNoOfCPUs" => self.processors = number()?,
            "job_queue" => self.queue = text,
            "jobmanager" => self.job_manager = text,
            "subject" => self.subject = text,
            _ => return Err(Failure::other(format!("a handle has no attribute {name:?}"))),
        }
        Ok(())
    }

    /// What a client of another language is to know of them, as JSON members.
    pub fn json_members(&self) -> String {
        let [session, transfers @ ..] = self.seconds;
        let start = self.start_timeout;
        let stop = self.stop_timeout;
        let ranks = self.ranks();
        format!(
            "\"start_timeout\":{start},\"stop_timeout\":{stop},\"ranks\":{ranks},\
             \"session_timeout\":{session},\"transfer_timeouts\":{transfers:?}"
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_attributes() {
        let read = |lines| HandleAttributes::of_lines(lines, "m/f");
        let all = read(
            "hostname=here\nport=7001\njob_startTimeout= 5\njob_stopTimeout=0\n\
                        mpi_runNoOfCPUs=2\njob_queue=q\njobmanager=j\nsubject=s=t\n",
        )
        .unwrap();
        assert_eq!((all.host.as_deref(), all.port), (Some("here"), 7001));
        let members = "\"start_timeout\":5,\"stop_timeout\":0,\"ranks\":2,\
             \"session_timeout\":0,\"transfer_timeouts\":[0, 0, 0, 0]";
        assert_eq!(all.json_members(), members);
        assert_eq!(all.subject.as_deref(), Some("s=t"));
        assert!(read("port=one").unwrap_err().words.contains("port is \"one\""));
        assert!(read("ports=1").unwrap_err().words.contains("no attribute \"ports\""));
    }
}
