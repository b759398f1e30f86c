//! Connections of a pilot that pass standard streams of its launcher: the pilot opens them,
//! `farcall bridge` leads each to its server (spec/pilot.md, section 5).

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::mailbox::{NoMessage, Receiver};
use farcall_wire::{STREAM_FRAME_BYTES_MAX, StreamNumber, Streams, StreamsNews, StreamsSide};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;

/// Read of the stream that carries the others, at a time; and what its pipe is to hold, where it is
/// one.
const PIECE_BYTES: usize = 256 << 10;
/// Time that a server of this host has to take a connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Time that the other side's last words have.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// Where streams lead.
pub enum Ends {
    /// To sockets that somebody in this process hands over.
    Opened(Receiver<OwnedFd>),
    /// To new connections to this address.
    Connected(SocketAddr),
}

/// One stream's socket here.
struct Near {
    socket: OwnedFd,
    /// It says no more.
    is_mute: bool,
    /// It hears no more: what comes for it is dropped.
    is_deaf: bool,
    was_told_end: bool,
}

struct Junction {
    streams: Streams,
    near: BTreeMap<StreamNumber, Near>,
    /// Whose turn it is to send: there may not be room for all.
    turn: StreamNumber,
    input: OwnedFd,
    output: OwnedFd,
    ends: Ends,
    piece: Vec<u8>,
}

/// What there is to be waited for.
#[derive(Clone, Copy)]
enum Source {
    Input,
    Output,
    Asked,
    Near(StreamNumber),
}

/// Passes streams on over `input` and `output` until either ends.
///
/// # Errors
/// `Protocol` when the other side is no pilot, or no bridge; `System`.
pub fn pass_on(input: OwnedFd, output: OwnedFd, ends: Ends) -> Result<()> {
    let system = |errno: rustix::io::Errno| Error::system("pass streams on", errno.into());
    rustix::io::ioctl_fionbio(&output, true).map_err(system)?;
    #[cfg(target_os = "linux")]
    for pipe in [&input, &output] {
        // What is no pipe has a size of its own.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIECE_BYTES);
    }
    let side = match ends {
        Ends::Opened(_) => StreamsSide::Opens,
        Ends::Connected(_) => StreamsSide::Takes,
    };
    let streams = Streams::new(side);
    let near = BTreeMap::new();
    Junction { streams, near, turn: 0, input, output, ends, piece: vec![0; PIECE_BYTES] }.serve()
}

impl Junction {
    fn serve(mut self) -> Result<()> {
        loop {
            let Some(sources) = self.wait()? else { return self.last_words() };
            for source in sources {
                let goes_on = match source {
                    Source::Input => self.receive()?,
                    Source::Output => true,
                    Source::Asked => self.open()?,
                    Source::Near(number) => {
                        self.take(number);
                        self.give(number);
                        true
                    }
                };
                if !goes_on {
                    return Ok(());
                }
            }
            if !self.transmit() {
                return Ok(());
            }
        }
    }

    /// What is to be looked at; `None` when nobody reads any more.
    fn wait(&self) -> Result<Option<Vec<Source>>> {
        let mut sources: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::new();
        if self.streams.wants_bytes() {
            sources.push((Source::Input, self.input.as_fd(), PollFlags::IN));
        }
        // Without a flag it tells that nobody reads any more.
        let waits = if self.streams.poll_transmit().is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        };
        sources.push((Source::Output, self.output.as_fd(), waits));
        if let Ends::Opened(asked) = &self.ends {
            sources.push((Source::Asked, asked.as_fd(), PollFlags::IN));
        }
        for (number, near) in self.near.range(self.turn..).chain(self.near.range(..self.turn)) {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !near.is_mute && self.streams.room(*number) > 0);
            flags.set(PollFlags::OUT, !near.is_deaf && !self.streams.came(*number).is_empty());
            if !flags.is_empty() {
                sources.push((Source::Near(*number), near.socket.as_fd(), flags));
            }
        }
        let mut waiting: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        match poll(&mut waiting, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::system("pass streams on", errno.into())),
        }
        let hit = |waited: &PollFd<'_>| !waited.revents().is_empty();
        let gone = |(source, _, _): &(Source, BorrowedFd<'_>, PollFlags), waited: &PollFd<'_>| {
            matches!(source, Source::Output)
                && waited.revents().intersects(PollFlags::ERR | PollFlags::NVAL)
        };
        if sources.iter().zip(&waiting).any(|(source, waited)| gone(source, waited)) {
            return Ok(None);
        }
        let hits = sources.iter().zip(&waiting).filter(|(_, waited)| hit(waited));
        Ok(Some(hits.map(|((source, ..), _)| *source).collect()))
    }

    /// The other side has gone: what it said before may say why.
    fn last_words(mut self) -> Result<()> {
        let pause = Timespec::try_from(LAST_WORDS_MAX).ok();
        while let Ok(1..) = poll(&mut [PollFd::new(&self.input, PollFlags::IN)], pause.as_ref()) {
            if !self.receive()? {
                return Ok(());
            }
        }
        Err(Error::new(
            ErrorKind::ConnectionLost,
            "pass streams on",
            "the other side stopped reading",
        ))
    }

    /// Takes what came; false when nothing comes any more.
    fn receive(&mut self) -> Result<bool> {
        let count = match blocked(rustix::io::read(&self.input, &mut self.piece[..])) {
            Ok(Some(0)) => return self.over(),
            Ok(Some(count)) => count,
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        };
        self.streams
            .handle_bytes(&self.piece[..count])
            .map_err(|error| with_noise(error, self.streams.noise()))?;
        while let Some(news) = self.streams.poll_news() {
            match news {
                StreamsNews::Opened(number) => self.connect(number),
                // Its socket closes: the process at the other end sees that.
                StreamsNews::Refused(number) => drop(self.near.remove(&number)),
            }
        }
        for number in self.near.keys().copied().collect::<Vec<_>>() {
            self.give(number);
        }
        Ok(true)
    }

    /// The stream that carries the others has ended: in silence only if anything was said before.
    fn over(&self) -> Result<bool> {
        if self.streams.has_begun() {
            return Ok(false);
        }
        let message = "the other side ended before it identified itself as a Farcall program";
        Err(with_noise(
            Error::new(ErrorKind::ConnectionLost, "pass streams on", message),
            self.streams.noise(),
        ))
    }

    /// Leads one that the other side opened to where it is to go.
    fn connect(&mut self, number: StreamNumber) {
        let Ends::Connected(address) = &self.ends else { return };
        match TcpStream::connect_timeout(address, CONNECT_MAX)
            .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
        {
            Ok(stream) => self.add(number, stream.into()),
            Err(_) => self.streams.refuse(number),
        }
    }

    fn add(&mut self, number: StreamNumber, socket: OwnedFd) {
        self.near
            .insert(number, Near { socket, is_mute: false, is_deaf: false, was_told_end: false });
    }

    /// Opens a stream for each socket that was handed over; false when there will be none any more.
    fn open(&mut self) -> Result<bool> {
        loop {
            let Ends::Opened(asked) = &mut self.ends else { return Ok(true) };
            match asked.try_receive() {
                Ok(socket) => match self.streams.open() {
                    Ok(number) => self.add(number, socket),
                    // Its other end sees that it is closed.
                    Err(_) => drop(socket),
                },
                Err(NoMessage::Empty) => return Ok(true),
                Err(NoMessage::Closed) => return Ok(false),
            }
        }
    }

    /// Reads of a socket what there is credit for.
    fn take(&mut self, number: StreamNumber) {
        let room = self.streams.room(number).min(STREAM_FRAME_BYTES_MAX);
        let Some(near) = self.near.get_mut(&number).filter(|near| !near.is_mute && room > 0) else {
            return;
        };
        match blocked(rustix::net::recv(
            &near.socket,
            &mut self.piece[..room],
            rustix::net::RecvFlags::DONTWAIT,
        )) {
            Ok(Some((count, _))) if count > 0 => {
                self.streams.send(number, &self.piece[..count]);
                self.turn = number.wrapping_add(1);
            }
            Ok(None) => {}
            // It was closed, or broke.
            Ok(Some(_)) | Err(_) => {
                near.is_mute = true;
                self.streams.end(number);
            }
        }
        self.forget_if_over(number);
    }

    /// Writes to a socket what came for it.
    fn give(&mut self, number: StreamNumber) {
        let Some(near) = self.near.get_mut(&number) else { return };
        loop {
            let came = self.streams.came(number);
            if came.is_empty() {
                break;
            }
            let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
            let count = if near.is_deaf {
                came.len()
            } else {
                match blocked(rustix::net::send(&near.socket, came, flags)) {
                    Ok(Some(count)) => count,
                    Ok(None) => return,
                    Err(_) => {
                        near.is_deaf = true;
                        continue;
                    }
                }
            };
            self.streams.take(number, count);
        }
        if self.streams.has_ended(number) && !near.was_told_end {
            near.was_told_end = true;
            let _ = rustix::net::shutdown(&near.socket, Shutdown::Write);
        }
        self.forget_if_over(number);
    }

    fn forget_if_over(&mut self, number: StreamNumber) {
        if !self.streams.is_open(number)
            && self.near.get(&number).is_some_and(|near| near.was_told_end && near.is_mute)
        {
            self.near.remove(&number);
        }
    }

    /// Writes what waits; false when nobody reads any more.
    fn transmit(&mut self) -> bool {
        while !self.streams.poll_transmit().is_empty() {
            match blocked(rustix::io::write(&self.output, self.streams.poll_transmit())) {
                Ok(Some(count)) => self.streams.transmitted(count),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// `None` where it would have to wait.
fn blocked<T>(outcome: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match outcome {
        Ok(done) => Ok(Some(done)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn with_noise(error: Error, noise: &[u8]) -> Error {
    let noise: String = String::from_utf8_lossy(noise).trim().chars().take(400).collect();
    if noise.is_empty() { error } else { error.with("it said", farcall_base::printable(&noise)) }
}
