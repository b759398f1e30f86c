//! How many processes MPI starts for a call: what is asked for, within what the manifest says.

use farcall_base::{Error, ErrorKind, Result};

/// The most where the manifest says nothing.
pub const RANKS_MAX: u32 = 64;

/// The number of which a caller or an interface asks for `asked` (0: none of them does), where the
/// manifest says `usual` for those (0: nothing) and allows `most`.
///
/// # Errors
/// `InvalidArgument` where nobody says a number; `LimitExceeded` for more than `most`.
pub fn ranks(asked: u32, usual: u32, most: u32) -> Result<u32> {
    let refused = |kind, message: String| Error::new(kind, "start an executable", message);
    let ranks = if asked == 0 { usual } else { asked };
    if ranks == 0 {
        let message = "the number of MPI processes is not set".to_owned();
        return Err(refused(ErrorKind::InvalidArgument, message).fix(
            "set it: ranks=4 in Python, options.ranks in C, mpi_runNoOfCPUs in the client's \
             configuration file; or write Processors in the interface file, or limits.ranks in \
             farcall.toml",
        ));
    }
    if ranks > most {
        let error =
            refused(ErrorKind::LimitExceeded, format!("{ranks} MPI processes were requested"));
        return Err(error
            .with("limits.ranks_max", most)
            .fix("request fewer, or raise the limit in farcall.toml"));
    }
    Ok(ranks)
}
