//! A pseudo-terminal with nothing around it: what the machine itself can do.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Nothing here is silent for so long.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

pub(crate) struct Bare {
    master: File,
    child: Child,
}

impl Bare {
    /// Starts a program on a new terminal.
    pub(crate) fn start(argv: &[String]) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let noctty = i32::try_from(OFlags::NOCTTY.bits())?;
        let other = File::options().read(true).write(true).custom_flags(noctty).open(name)?;
        let (program, args) = argv.split_first().context("a program")?;
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::from(other.try_clone()?))
            .stdout(Stdio::from(other.try_clone()?))
            .stderr(Stdio::from(other))
            .spawn()?;
        Ok(Self { master: File::from(master), child })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.master.write_all(bytes)?)
    }

    /// Waits by poll, as every event-driven program does; 0 when the last program has closed it.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&PATIENCE))? == 0 {
            bail!("the terminal is silent");
        }
        match self.master.read(buffer) {
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(0),
            other => Ok(other?),
        }
    }

    /// Reads so many bytes, or to the end; how many came.
    pub(crate) fn read_up_to(&mut self, bytes: u64) -> Result<u64> {
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        while total < bytes {
            match self.read(&mut buffer)? {
                0 => break,
                n => total += n as u64,
            }
        }
        Ok(total)
    }

    /// For a thread that reads beside one that waits.
    pub(crate) fn try_clone_master(&self) -> Result<File> {
        Ok(self.master.try_clone()?)
    }
}

/// `--proxy`: a bare terminal behind a TCP socket and nothing else, the least any server over TCP can do. Says its port,
/// serves one client, ends with it.
pub(crate) fn be_the_proxy(argv: &[String]) -> Result<()> {
    const SOCKET: u64 = 1;
    let mut bare = Bare::start(argv)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let (mut socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&events, &socket, epoll::EventData::new_u64(SOCKET), edges)?;
    epoll::add(&events, &bare.master, epoll::EventData::new_u64(0), edges)?;
    let mut buffer = [0; 4096];
    let mut ready = Vec::with_capacity(2);
    loop {
        epoll::wait(&events, rustix::buffer::spare_capacity(&mut ready), None)?;
        for event in ready.drain(..) {
            if event.data.u64() == SOCKET {
                match socket.read(&mut buffer)? {
                    0 => return Ok(()),
                    n => bare.write(&buffer[..n])?,
                }
            } else {
                let n = bare.master.read(&mut buffer)?;
                socket.write_all(&buffer[..n])?;
            }
        }
    }
}

/// The client's side of it.
pub(crate) struct Proxy {
    child: Child,
    socket: TcpStream,
}

impl Proxy {
    pub(crate) fn start(argv: &[String]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg("--proxy").args(argv).stdout(Stdio::piped()).spawn()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().context("piped")?).read_line(&mut port)?;
        let socket = TcpStream::connect(("127.0.0.1", port.trim().parse()?))?;
        socket.set_nodelay(true)?;
        Ok(Self { child, socket })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.socket.write_all(bytes)?)
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&PATIENCE))? == 0 {
            bail!("the proxy is silent");
        }
        Ok(self.socket.read(buffer)?)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
