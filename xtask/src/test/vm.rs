//! The tests of limits in a virtual machine, whose kernel has its control groups in version 2.
//!
//! 1. The kernel is Debian's for clouds, unpacked and not installed: this machine's boot stays as it is.
//! 2. The whole system is one archive in memory: the test program and the daemon as they were built, a few programs and
//!    the libraries they need, and a script that is process 1.
//! 3. The tests in modules `groups` run, each in a process of its own: as root in the root group, then those in
//!    `groups::delegated` as an ordinary user in a group that is delegated to it, as a service manager does.
//! 4. The machine is emulated, so that nothing is asked of this one but time.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::outcome::{Outcome, Tests};
use crate::{command, needs, place};

const QEMU: &str = "qemu-system-x86_64";
const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";
/// Far more than it needs.
const LONGEST: Duration = Duration::from_secs(300);

/// What the script and the tests call.
const PROGRAMS: [&str; 14] = [
    "sh", "dash", "cat", "chmod", "chown", "env", "head", "mkdir", "mount", "setpriv", "sleep", "tail",
    "true", "yes",
];

pub(super) fn tests() -> Outcome {
    if !needs::has_program(QEMU) && !place::is_ci() {
        return Outcome::Skipped(format!("{QEMU} (package qemu-system-x86) is not installed"));
    }
    if cfg!(not(target_arch = "x86_64")) {
        return Outcome::Skipped("the virtual machine is for x86-64".into());
    }
    let dir = place::root().join("target/vm");
    let kernel = match kernel(&dir) {
        Ok(kernel) => kernel,
        Err(error) if place::is_ci() => return Outcome::of(Err(error)),
        Err(error) => return Outcome::Skipped(format!("no kernel: {error:#}")),
    };
    match archive(&dir).and_then(|archive| run(&kernel, &archive)) {
        Ok(counts) if counts.failed == 0 && counts.passed > 0 => Outcome::Passed(counts),
        Ok(counts) => Outcome::Failed(counts, "tests failed in the virtual machine, see above".into()),
        Err(error) => Outcome::of(Err(error)),
    }
}

// ---- the kernel

fn kernel(dir: &Path) -> Result<PathBuf> {
    let unpacked = dir.join("kernel");
    if let Some(kernel) = find_kernel(&unpacked) {
        return Ok(kernel);
    }
    ensure!(needs::has_program("apt-get"), "only Debian's is known here, and this is no Debian");
    fs::create_dir_all(&unpacked)?;
    let depends = command::output(Command::new("apt-cache").args(["depends", KERNEL_PACKAGE]))?;
    let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    let package = package.with_context(|| format!("{KERNEL_PACKAGE} is not known; apt-get update helps"))?;
    command::must(Command::new("apt-get").args(["download", package]).current_dir(&unpacked))?;
    let files = fs::read_dir(&unpacked)?.flatten().map(|entry| entry.path());
    let deb = files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    let deb = deb.context("nothing was downloaded")?;
    command::must(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
    fs::remove_file(deb)?;
    // All it has to drive is a serial line.
    let _ = fs::remove_dir_all(unpacked.join("lib"));
    let _ = fs::remove_dir_all(unpacked.join("usr"));
    find_kernel(&unpacked).context("the package has no kernel")
}

fn find_kernel(unpacked: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(unpacked.join("boot")).ok()?.flatten().map(|entry| entry.path());
    files
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz")))
}

// ---- the system

fn archive(dir: &Path) -> Result<PathBuf> {
    let (test, trl) = build()?;
    let mut files = Archive::default();
    for name in ["proc", "sys", "dev", "tmp", "run", "root", "etc"] {
        files.dir(Path::new("/").join(name).as_path());
    }
    for program in PROGRAMS {
        let found =
            needs::SYSTEM_PATH.split(':').map(|dir| Path::new(dir).join(program)).find(|p| p.is_file());
        let found = found.with_context(|| format!("{program} is not installed"))?;
        files.program(&found, &Path::new("/usr/bin").join(program))?;
    }
    files.link(Path::new("/bin"), "usr/bin");
    files.program(&stripped(&test, dir)?, Path::new("/limits"))?;
    files.program(&stripped(&trl, dir)?, Path::new("/trl"))?;
    files.file(
        Path::new("/etc/passwd"),
        0o644,
        b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n",
    );
    // The tests call the daemon where it was built. What stands there gives it a group of its own where one is to be had.
    files.file(&trl, 0o755, WRAPPER.as_bytes());
    files.file(Path::new("/init"), 0o755, INIT.as_bytes());
    let path = dir.join("system.cpio");
    files.write(&path)?;
    Ok(path)
}

/// The test program and the daemon, as all other tests use them.
fn build() -> Result<(PathBuf, PathBuf)> {
    let mut command = place::cargo(["test", "--no-run", "--package", "trl", "--test", "limits"]);
    let told = command::output(command.arg("--message-format=json"))?;
    let test = told.lines().filter(|line| line.contains(r#""name":"limits""#)).find_map(|line| {
        let (_, rest) = line.split_once(r#""executable":""#)?;
        Some(PathBuf::from(rest.split_once('"')?.0))
    });
    Ok((test.context("no test program was built")?, place::target_dir()?.join("debug/trl")))
}

/// Without what only debuggers read: it all has to fit into memory, twice.
fn stripped(program: &Path, dir: &Path) -> Result<PathBuf> {
    let to = dir.join(program.file_name().unwrap_or_default());
    command::must(Command::new("strip").arg("--strip-debug").arg("-o").arg(&to).arg(program))?;
    Ok(to)
}

const WRAPPER: &str = "#!/bin/sh
[ -w /sys/fs/cgroup/service ] && {
    d=/sys/fs/cgroup/service/daemon-$$
    mkdir $d && echo $$ >$d/cgroup.procs
}
exec /trl \"$@\"
";

const INIT: &str = r#"#!/bin/sh
export PATH=/usr/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chmod 1777 /tmp /dev/shm
cat /proc/version

# Each test by itself, of those with $only in their path: how many passed and failed is what the other side reads.
each() {
    "$@" --list $only 2>/dev/null | while read -r name; do
        case $name in *': test') ;; *) continue ;; esac
        name=${name%: test}
        if "$@" --exact "$name" >/tmp/said 2>&1; then came=passed; else came=failed; fi
        read -r up _ </proc/uptime
        echo "vm: $came $who $name, at $up s"
        [ $came = passed ] || cat /tmp/said
    done
}

who=root only=::groups:: each /limits

# As a service manager hands a group on.
s=/sys/fs/cgroup/service
echo '+memory +pids +cpu +io' >/sys/fs/cgroup/cgroup.subtree_control
mkdir $s $s/tests
echo '+memory +pids +cpu +io' >$s/cgroup.subtree_control
for f in $s $s/cgroup.procs $s/cgroup.subtree_control $s/cgroup.threads $s/tests $s/tests/cgroup.procs; do
    chown 65534:65534 $f
done
mkdir -p /tmp/home /tmp/run /tmp/tmp
chown -R 65534:65534 /tmp/home /tmp/run /tmp/tmp
chmod 700 /tmp/home /tmp/run /tmp/tmp
(
    echo 0 >$s/tests/cgroup.procs
    export HOME=/tmp/home XDG_RUNTIME_DIR=/tmp/run TMPDIR=/tmp/tmp
    who=nobody only=::groups::delegated:: each setpriv --reuid=65534 --regid=65534 --clear-groups /limits
)

echo 'vm: over'
echo o >/proc/sysrq-trigger
sleep 60
"#;

/// A system in memory, as the kernel unpacks it (cpio, the form "newc").
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    there: BTreeSet<PathBuf>,
}

impl Archive {
    fn entry(&mut self, path: &Path, mode: u32, data: &[u8]) {
        let name = path.to_string_lossy();
        let name = name.trim_start_matches('/');
        let number = self.there.len();
        let fields = [number, mode as usize, 0, 0, 1, 0, data.len(), 0, 0, 0, 0, name.len() + 1, 0]
            .map(|n| format!("{n:08x}"));
        self.bytes.extend(format!("070701{}{name}\0", fields.concat()).bytes());
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// It and all that it is in.
    fn dir(&mut self, path: &Path) {
        if path != Path::new("/") && self.there.insert(path.into()) {
            if let Some(parent) = path.parent() {
                self.dir(parent);
            }
            self.entry(path, 0o040_755, &[]);
        }
    }

    fn file(&mut self, path: &Path, mode: u32, data: &[u8]) {
        if let Some(parent) = path.parent() {
            self.dir(parent);
        }
        if self.there.insert(path.into()) {
            self.entry(path, 0o100_000 | mode, data);
        }
    }

    fn link(&mut self, path: &Path, target: &str) {
        if self.there.insert(path.into()) {
            self.entry(path, 0o120_777, target.as_bytes());
        }
    }

    /// With the libraries it needs, at the places it looks for them.
    fn program(&mut self, from: &Path, to: &Path) -> Result<()> {
        let bytes = fs::read(from).with_context(|| from.display().to_string())?;
        self.file(to, 0o755, &bytes);
        let needed = Command::new("ldd").arg(from).output().context("ldd")?;
        let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
        let paths = needed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
        for library in paths.filter(|path| path.is_file()) {
            let bytes = fs::read(&library)?;
            self.file(&library, 0o755, &bytes);
        }
        Ok(())
    }

    fn write(mut self, path: &Path) -> Result<()> {
        self.entry(Path::new("TRAILER!!!"), 0, &[]);
        Ok(fs::write(path, &self.bytes)?)
    }
}

// ---- the machine

fn run(kernel: &Path, archive: &Path) -> Result<Tests> {
    let mut machine = Command::new(QEMU)
        .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"])
        .args(["-m", "1536", "-smp", "2", "-cpu", "max", "-append", "console=ttyS0 quiet panic=-1"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(archive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context(QEMU)?;
    let console = machine.stdout.take().context("a console")?;
    let reader = std::thread::spawn(move || listen(console));
    let start = Instant::now();
    while machine.try_wait()?.is_none() {
        if start.elapsed() > LONGEST {
            machine.kill()?;
            bail!("the virtual machine was not done in {} s", LONGEST.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (counts, over) = reader.join().map_err(|_| anyhow::anyhow!("its console could not be read"))?;
    ensure!(over, "the virtual machine ended before its tests did");
    Ok(counts)
}

/// Shows what is said, and counts; whether it came to the end.
fn listen(console: impl std::io::Read) -> (Tests, bool) {
    let mut counts = Tests::default();
    let mut over = false;
    for line in std::io::BufRead::split(std::io::BufReader::new(console), b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        let _ = writeln!(std::io::stderr(), "    {line}");
        counts.passed += u64::from(line.starts_with("vm: passed "));
        counts.failed += u64::from(line.starts_with("vm: failed "));
        over |= line == "vm: over";
    }
    (counts, over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_directories_before_what_is_in_them() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/b/c"), 0o644, b"hello");
        archive.dir(Path::new("/a"));
        assert_eq!(archive.bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive.bytes).into_owned();
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0"));
        assert_eq!(text.matches("070701").count(), 3);
    }

    #[test]
    fn what_the_machine_says_is_counted() {
        let said = b"Linux\r\nvm: passed root a\r\nvm: failed root b\r\nwhy\r\nvm: over\r\n";
        assert_eq!(listen(&said[..]), (Tests { passed: 1, failed: 1, flaky: Vec::new() }, true));
        assert!(!listen(&b"vm: passed x\n"[..]).1);
    }
}
