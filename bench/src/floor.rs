//! The floor: a persistent shell with a rollback clone, and nothing around it.
//!
//! What the daemon does for a builtin command, done by one thread with blocking calls: no socket, no JSON, no keeper,
//! no limits, no other session. The daemon is measured against this.
//!
//! 1. [`Floor::start`] makes the directory: three slots, each with a FIFO to the shell (`c`), one back (`s`) and the
//!    loop text (`L`); the command text `u`; FIFOs for stdout `o` and stderr `e`. The shell reads the loop of slot 0.
//! 2. [`Floor::exec`] writes `u`, sends `n`, and reads until the shell reports `R code cwd`. What is then in the
//!    FIFOs is the command's output, whole.
//! 3. [`Floor::renew`] has the shell fork an idle clone into a free slot; the clone before it is killed.
//!
//! It never rolls back: a shell that dies ends the measurement.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::ioctl_fionread;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};
use tempfile::TempDir;

use crate::procfs::children;

/// No command here takes a second; a shell that is silent for this long has died.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

const SHELL_DIED: epoll::EventData = epoll::EventData::new_u64(0);
const SOMETHING_CAME: epoll::EventData = epoll::EventData::new_u64(1);

/// Edges, since a FIFO whose writer has gone is ready for ever.
fn watch(events: &OwnedFd, file: impl AsFd, data: epoll::EventData) -> Result<()> {
    Ok(epoll::add(events, file, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?)
}

struct Slot {
    /// To the shell. Held open for both, so that no open ever waits.
    commands: File,
    /// From the shell.
    reports: File,
}

struct Clone {
    slot: usize,
    pid: Pid,
}

pub(crate) struct Floor {
    slots: [Slot; 3],
    /// The shell is in slot 0 for good: nothing is ever rolled back.
    shell: Child,
    /// Watches the shell's reports, output and end.
    events: OwnedFd,
    _exited: OwnedFd,
    clone: Option<Clone>,
    text: File,
    stdout: File,
    stderr: File,
    _dir: TempDir,
}

impl Floor {
    pub(crate) fn start(shell: &str) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("trl-floor-").tempdir()?;
        let base = dir.path();
        let slots = [Slot::make(base, 0)?, Slot::make(base, 1)?, Slot::make(base, 2)?];
        for slot in 0..slots.len() {
            fs::write(base.join(format!("{slot}/L")), loop_text(shell, base, slot))?;
        }
        let text = File::options().write(true).create(true).truncate(false).open(base.join("u"))?;
        let (stdout, stderr) = (reading_fifo(&base.join("o"))?, reading_fifo(&base.join("e"))?);
        let child = Command::new(shell)
            .args(["-c", &format!(". {}/0/L", base.display()), "sh"])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let exited = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        watch(&events, &exited, SHELL_DIED)?;
        for file in [&slots[0].reports, &stdout, &stderr] {
            watch(&events, file, SOMETHING_CAME)?;
        }
        let mut floor = Self {
            slots,
            shell: child,
            events,
            _exited: exited,
            clone: None,
            text,
            stdout,
            stderr,
            _dir: dir,
        };
        floor.slots[0].report()?;
        floor.slots[0].tell("p\n")?;
        floor.slots[0].report()?;
        floor.renew()?;
        Ok(floor)
    }

    /// Runs `command`, which must succeed and print nothing; how long it took.
    pub(crate) fn exec(&mut self, command: &str) -> Result<Duration> {
        let start = Instant::now();
        let line = format!("{command}\n");
        self.text.write_all_at(line.as_bytes(), 0)?;
        self.text.set_len(line.len() as u64)?;
        self.slots[0].tell("n\n")?;
        let mut output = Vec::new();
        let mut report = Vec::new();
        while !report.ends_with(b"\0") {
            self.wait()?;
            take_what_is_there(&self.stdout, &mut output)?;
            take_what_is_there(&self.stderr, &mut output)?;
            take_what_is_there(&self.slots[0].reports, &mut report)?;
        }
        take_what_is_there(&self.stdout, &mut output)?;
        take_what_is_there(&self.stderr, &mut output)?;
        let took = start.elapsed();
        ensure!(report.starts_with(b"R 0 ") && output.is_empty(), "{command:?}: {report:?} {output:?}");
        Ok(took)
    }

    /// Until the shell reports, prints or dies.
    fn wait(&self) -> Result<()> {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: SOMETHING_CAME }; 4];
        let count = epoll::wait(&self.events, &mut events, Some(&PATIENCE))?;
        ensure!(count > 0, "the shell is silent");
        ensure!(events[..count].iter().all(|e| e.data.u64() != SHELL_DIED.u64()), "the shell died");
        Ok(())
    }

    /// A new clone of the shell as it is now, in place of the last one.
    pub(crate) fn renew(&mut self) -> Result<()> {
        let old = self.clone.take();
        let slot = if old.as_ref().is_some_and(|clone| clone.slot == 1) { 2 } else { 1 };
        let shell = self.shell.id();
        let before = children(shell);
        self.slots[0].tell(&format!("{slot}\n"))?;
        let report = self.slots[slot].report()?;
        let pid = match clone_pid(&report) {
            Some(pid) => pid,
            None => cut_out_the_middle(shell, &before)?,
        };
        self.clone = Some(Clone { slot, pid });
        if let Some(old) = old {
            kill_process(old.pid, Signal::KILL)?;
            waitpid(Some(old.pid), WaitOptions::empty())?;
        }
        Ok(())
    }

    /// A command and the renewal after it.
    pub(crate) fn cycle(&mut self, command: &str) -> Result<()> {
        self.exec(command)?;
        self.renew()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.shell), Signal::KILL);
        let _ = self.shell.wait();
        if let Some(clone) = self.clone.take() {
            let _ = waitpid(Some(clone.pid), WaitOptions::empty());
        }
    }
}

impl Slot {
    fn make(base: &Path, slot: usize) -> Result<Self> {
        let dir = base.join(slot.to_string());
        fs::create_dir(&dir)?;
        let both_ways = |name: &str, flags: OFlags| -> Result<File> {
            let path = dir.join(name);
            make_fifo(&path)?;
            Ok(File::options().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?)
        };
        Ok(Self { commands: both_ways("c", OFlags::empty())?, reports: both_ways("s", OFlags::NONBLOCK)? })
    }

    fn tell(&self, message: &str) -> Result<()> {
        Ok((&self.commands).write_all(message.as_bytes())?)
    }

    /// The next whole message.
    fn report(&self) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        while !message.ends_with(b"\0") {
            let mut fds = [PollFd::new(&self.reports, PollFlags::IN)];
            ensure!(poll(&mut fds, Some(&PATIENCE))? > 0, "the shell is silent");
            take_what_is_there(&self.reports, &mut message)?;
        }
        Ok(message)
    }
}

/// `S 123`: bash knows its own pid, dash does not.
fn clone_pid(report: &[u8]) -> Option<Pid> {
    let text = std::str::from_utf8(report).ok()?;
    Pid::from_raw(text.trim_end_matches('\0').strip_prefix("S ")?.parse().ok()?)
}

/// dash waits for a middle process, which waits for the clone. Without the middle the clone is on its own.
fn cut_out_the_middle(shell: u32, before: &[u32]) -> Result<Pid> {
    let pid = |found: Option<u32>| found.and_then(|p| Pid::from_raw(p.cast_signed()));
    let middle = children(shell).into_iter().find(|child| !before.contains(child));
    let clone =
        pid(middle.and_then(|m| children(m).first().copied())).context("the clone is not to be seen")?;
    kill_process(pid(middle).context("the middle process")?, Signal::KILL)?;
    Ok(clone)
}

fn make_fifo(path: &Path) -> Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}

fn reading_fifo(path: &Path) -> Result<File> {
    make_fifo(path)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    Ok(File::options().read(true).custom_flags(flags).open(path)?)
}

fn take_what_is_there(mut from: &File, into: &mut Vec<u8>) -> Result<()> {
    let length = usize::try_from(ioctl_fionread(from)?)?;
    if length > 0 {
        let old = into.len();
        into.resize(old + length, 0);
        from.read_exact(&mut into[old..])?;
    }
    Ok(())
}

/// The loop a shell in `slot` runs: wait for a letter, act, report.
fn loop_text(shell: &str, base: &Path, slot: usize) -> String {
    const SIGNALS: &str = "TERM INT HUP QUIT USR1 USR2 ALRM";
    let b = base.display();
    let (reach, read, hello, heal) = match shell {
        "bash" => (
            "builtin",
            "builtin read -t 999999999 -r __trl",
            r#"builtin printf 'S %d\0' "$BASHPID""#,
            "unset -f builtin command",
        ),
        _ => ("command", "command read -r __trl", r"command printf 'S\0'", "unset -f command"),
    };
    let clones = (1..3).map(|to| clone_text(shell, base, to)).collect::<String>();
    format!(
        "trap '' {SIGNALS}
{hello} >{b}/{slot}/s
until ! IFS= {read} <{b}/{slot}/c; do
case $__trl in
p) trap - {SIGNALS}; {reach} printf 'P\\0' >{b}/{slot}/s;;
n) for __trl in \"$__trl\"; do {reach} . {b}/u </dev/null >{b}/o 2>{b}/e; done
__trl=$?
{heal}
case $- in *n*) {reach} exit \"$__trl\";; esac
{reach} printf 'R %d %s\\0' \"$__trl\" \"${{PWD-}}\" >{b}/{slot}/s || {reach} exit \"$__trl\";;
{clones}*) {reach} exit 0;;
esac
done
"
    )
}

/// How a shell forks itself into slot `to` without touching `$!`, the job table or its signals.
fn clone_text(shell: &str, base: &Path, to: usize) -> String {
    let b = base.display();
    match shell {
        "bash" => format!(
            "{to}) ( ( for __trl in /dev/fd/*; do __trl=${{__trl##*/}}; case $__trl in 0|1|2) ;; \
             *) exec {{__trl}}>&-;; esac; done 2>/dev/null; builtin . {b}/{to}/L ) & );;\n"
        ),
        _ => {
            let close = "3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
            format!(
                "{to}) case $- in *e*) set +e; ( set -e; ( command . {b}/{to}/L ); : ) {close}; set -e;; \
                 *) ( ( command . {b}/{to}/L ); : ) {close};; esac;;\n"
            )
        }
    }
}

/// Fails early, with the name of what is missing.
pub(crate) fn check_shells(shells: &[&str]) -> Result<()> {
    for shell in shells {
        if let Err(error) = crate::raw::spawn(shell, "true") {
            bail!("{shell} is needed for this: {error:#}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_stays_and_every_command_leaves_one_clone() {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        for shell in ["dash", "bash"] {
            let mut floor = Floor::start(shell).unwrap();
            for i in 0..20 {
                floor.cycle("i=$((i+1))").unwrap();
                floor.exec(&format!("[ $i = {} ]", i + 1)).unwrap();
            }
            assert!(floor.exec("false").is_err(), "a failed command is no measurement");
        }
    }
}
