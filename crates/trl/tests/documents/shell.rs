//! One interactive bash on a terminal of its own, into which commands are typed.
//!
//! 1. The terminal does not echo and passes output on as it is written, so what is read is what the commands wrote.
//! 2. The prompts are two texts that nothing else prints. A command has ended when the first comes; the second means
//!    that bash wants more of it.
//! 3. Output that comes later, from a job in the background, stands before the output of the next command.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, OptionalActions, OutputModes, Winsize};
use trl_testkit::process::readable;

/// The hard limit of one command.
const LIMIT: Duration = Duration::from_secs(60);

/// The prompt of a command, and of a further line of one.
const READY: &str = "\u{1}ready\u{2}";
const MORE: &str = "\u{1}more\u{2}";

/// What stands on the terminal after a line.
pub(crate) struct Answer {
    pub(crate) output: String,
    /// False when bash wants a further line of the same command.
    pub(crate) is_complete: bool,
}

pub(crate) struct Shell {
    child: Child,
    terminal: File,
    /// What came after the last prompt.
    late: Vec<u8>,
}

impl Shell {
    /// Starts bash by way of `setsid` (util-linux), which gives it the terminal and becomes it.
    pub(crate) fn start(mut setsid: Command) -> Self {
        let (terminal, other) = terminal();
        setsid.args(["--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        let [stdin, stdout, stderr] = [(); 3].map(|()| other.try_clone().expect("a descriptor"));
        let child = setsid.stdin(stdin).stdout(stdout).stderr(stderr).spawn().expect("setsid and bash");
        let mut shell = Self { child, terminal, late: Vec::new() };
        let escaped = |text: &str| text.replace('\u{1}', "\\001").replace('\u{2}', "\\002");
        shell.write(&format!("unset HISTFILE; PS2=$'{}' PS1=$'{}'", escaped(MORE), escaped(READY)));
        assert!(shell.until_prompt().is_ok_and(|answer| answer.is_complete), "the first prompt");
        shell
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Types one line of a command, and returns what stands on the terminal up to the next prompt.
    ///
    /// # Errors
    /// The command does not end within the limit, or bash has ended.
    pub(crate) fn line(&mut self, line: &str) -> Result<Answer, String> {
        self.write(line);
        self.until_prompt()
    }

    fn write(&mut self, line: &str) {
        self.terminal.write_all(format!("{line}\n").as_bytes()).expect("a terminal takes a line");
    }

    fn until_prompt(&mut self) -> Result<Answer, String> {
        let deadline = Instant::now() + LIMIT;
        let mut seen = std::mem::take(&mut self.late);
        loop {
            for (prompt, is_complete) in [(READY, true), (MORE, false)] {
                if let Some(at) = find(&seen, prompt.as_bytes()) {
                    self.late = seen.split_off(at + prompt.len());
                    seen.truncate(at);
                    return Ok(Answer { output: String::from_utf8_lossy(&seen).into_owned(), is_complete });
                }
            }
            let so_far = || format!("so far:\n{}", String::from_utf8_lossy(&seen));
            if !readable(&self.terminal, deadline.saturating_duration_since(Instant::now())) {
                return Err(format!("it has run into the limit of {} s; {}", LIMIT.as_secs(), so_far()));
            }
            let mut chunk = [0; 4096];
            // Nobody has the other side any more: an error on Linux.
            let Ok(read @ 1..) = self.terminal.read(&mut chunk) else {
                return Err(format!("bash has ended; {}", so_far()));
            };
            seen.extend_from_slice(&chunk[..read]);
        }
    }

    /// Hangs up, and waits for the end of bash.
    pub(crate) fn end(self) {
        let Self { mut child, terminal, .. } = self;
        drop(terminal);
        trl_testkit::wait_gone(child.id().cast_signed());
        let _ = child.wait();
    }
}

fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|window| window == needle)
}

/// Our side of a new terminal of 80 columns, and the side of its programs.
fn terminal() -> (File, OwnedFd) {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC).expect("a descriptor");
    rustix::pty::grantpt(&ours).expect("grantpt");
    rustix::pty::unlockpt(&ours).expect("unlockpt");
    let name = rustix::pty::ptsname(&ours, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let other = rustix::fs::open(&name, flags, Mode::empty()).expect("the other side");
    let mut modes = rustix::termios::tcgetattr(&other).expect("a terminal");
    modes.local_modes.remove(LocalModes::ECHO);
    modes.output_modes.remove(OutputModes::OPOST);
    rustix::termios::tcsetattr(&other, OptionalActions::Now, &modes).expect("a terminal");
    let size = Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&other, size).expect("a terminal");
    (ours.into(), other)
}
