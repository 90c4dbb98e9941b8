//! The attempts: what each does, how it shows that it worked, and where it may.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::process::Command;

use trl_testkit::{Run, eventually, json};

use super::SECRET;
use super::stage::{PRIVATE, Stage};

/// What must be so for the attempt to work at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Root,
    /// Typing for others, which kernels since 6.2 can be told to refuse to everybody but root.
    TerminalInput,
    /// A program that makes or is the attempt.
    Program(&'static str),
    /// Cargo and its compiler, where this user can read them.
    Toolchain,
}

/// Where it works beside `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Works {
    Nowhere,
    WorkspaceWrite,
    Everywhere,
}

/// What the attempt runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Session,
    /// `exec.start` with `tty`.
    Terminal,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) needs: Needs,
    pub(crate) works: Works,
    pub(crate) on: On,
    /// Another network than none.
    pub(crate) net: Option<&'static str>,
    /// Further furniture of the stage.
    pub(crate) prepare: fn(&mut Stage<'_>),
    /// In bash, in the workspace.
    pub(crate) attempt: &'static str,
    pub(crate) happened: fn(&mut Stage<'_>, &Run) -> bool,
}

pub(crate) const fn row(
    name: &'static str,
    attempt: &'static str,
    happened: fn(&mut Stage<'_>, &Run) -> bool,
) -> Row {
    Row {
        name,
        needs: Needs::Nothing,
        works: Works::Nowhere,
        on: On::Session,
        net: None,
        prepare: |_| {},
        attempt,
        happened,
    }
}

impl Row {
    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    pub(crate) const fn works(mut self, works: Works) -> Self {
        self.works = works;
        self
    }

    const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    pub(crate) const fn net(mut self, net: &'static str) -> Self {
        self.net = Some(net);
        self
    }

    pub(crate) const fn with(mut self, prepare: fn(&mut Stage<'_>)) -> Self {
        self.prepare = prepare;
        self
    }
}

fn says(_: &mut Stage<'_>, run: &Run) -> bool {
    run.out().contains("ESCAPED")
}

fn tells(_: &mut Stage<'_>, run: &Run) -> bool {
    run.out().contains(PRIVATE)
}

/// A file appeared outside.
fn made(stage: &mut Stage<'_>, _: &Run) -> bool {
    stage.outside.join("made").exists()
}

fn changed(stage: &mut Stage<'_>, _: &Run) -> bool {
    stage.reads("file") != "as it was"
}

fn planted(stage: &mut Stage<'_>, _: &Run) -> bool {
    [
        "ws/.git/hooks/pre-commit",
        "ws/sub/.git/hooks/pre-commit",
        "ws/.trl/cases/evil.yaml",
        "ws/tree/.git/hooks/x",
    ]
    .iter()
    .any(|name| stage.workspace.parent().is_some_and(|p| p.join(name).exists()))
}

fn wait_for_socket(stage: &Stage<'_>, name: &str) {
    let path = stage.outside.join(name);
    eventually("a socket", || path.exists());
}

pub(crate) static FILES: &[Row] = &[
    row("read a file of the workspace", "cat tries.py >/dev/null && echo ESCAPED", says)
        .works(Works::Everywhere),
    row(
        "read and run the system's programs",
        "/usr/bin/env true && cat /etc/passwd >/dev/null && echo ESCAPED",
        says,
    )
    .works(Works::Everywhere),
    row("write a file of the workspace", "echo x >inside/made && cat inside/made && echo ESCAPED", says)
        .works(Works::WorkspaceWrite),
    row("write to TMPDIR", "f=$(mktemp) && echo x >$f && echo ESCAPED", says).works(Works::WorkspaceWrite),
    row("make a file outside", "echo x >$OUT/made", made),
    row("make one by an absolute path through /proc", "echo x >/proc/self/root$OUT/made", made),
    row("overwrite a file outside", "echo x >$OUT/file", changed),
    row("truncate a file outside", "truncate -s 0 $OUT/file", changed),
    row("remove a file outside", "rm -f $OUT/file", |stage, _| !stage.outside.join("file").exists()),
    row("read a file outside", "cat $OUT/secret", tells),
    row("list a directory outside", "ls $OUT | grep -q secret && echo ESCAPED", says),
    row("read the home of the user", "cat ~/.secret", tells).with(|stage| {
        std::fs::write(stage.daemon.dir().join("home/.secret"), PRIVATE).unwrap();
    }),
    row("write to shared memory of others", "echo x >/dev/shm/trl-$VICTIM", |stage, _| {
        let made = std::path::PathBuf::from(format!("/dev/shm/trl-{}", stage.victim()));
        std::fs::remove_file(made).is_ok()
    }),
    row("read through a link", "ln -s $OUT/secret s; cat s", tells),
    row("read through a hard link", "ln $OUT/secret s; cat s", tells),
    row("write through a link", "ln -s $OUT l; echo x >l/made", made),
    row("move a file out", "cp tries.py m; mv m $OUT/made", made),
    row("move a file in", "mv $OUT/secret inside/s; cat inside/s", tells),
    row(
        "win a race between a directory and a link to outside",
        "mkdir -p d; (for i in $(seq 20); do rm -rf d; ln -sfn $OUT d; rm -f d; mkdir -p d; done; : >over) & \
         until [ -e over ]; do [ -e $OUT/made ] && break; echo x >d/made; done 2>/dev/null; wait; rm -f over",
        made,
    ),
    row(
        "win a race of renames",
        "mkdir -p a/b; ln -s $OUT l; (for i in $(seq 20); do mv -T a z; mv -T l a; mv -T a l; mv -T z a; done; : >over) 2>/dev/null & \
         until [ -e over ]; do [ -e $OUT/made ] && break; echo x >a/made; done 2>/dev/null; wait; rm -f over",
        made,
    ),
    row("change the mode of a file outside", "chmod 777 $OUT/file", |stage, _| {
        stage.outside.join("file").metadata().unwrap().permissions().mode() & 0o777 == 0o777
    }),
    row("change the times of a file outside", "touch -d 2001-01-01 $OUT/file", |stage, _| {
        stage.outside.join("file").metadata().unwrap().mtime() < 1_000_000_000
    }),
    row("change attributes of a file outside", "python3 tries.py xattr $OUT/file", says),
    row("change the owner of a file outside", "chown 1 $OUT/file", |stage, _| {
        stage.outside.join("file").metadata().unwrap().uid() == 1
    })
    .needs(Needs::Root),
    row(
        "make a set-uid program",
        "cp /bin/true s && chmod 4755 s; cp /bin/true g && chmod g+s g; python3 tries.py set_uid o; \
         [ -u s ] || [ -g g ] || [ -u o ] && echo ESCAPED",
        says,
    ),
    row("make a device", "mknod inside/null c 1 3 && echo ESCAPED", says).needs(Needs::Root),
    row(
        "change a setting of the kernel",
        "h=$(cat /proc/sys/kernel/hostname); echo $h >/proc/sys/kernel/hostname && echo ESCAPED",
        says,
    )
    .needs(Needs::Root),
    row(
        "preload a library that writes outside",
        "LD_PRELOAD=$OUT/../evil.so /bin/true; cp $OUT/../evil.so . ; LD_PRELOAD=$PWD/evil.so /bin/true",
        made,
    )
    .needs(Needs::Program("cc"))
    .with(compile_preload),
    row("preload it into the shell itself", "true", made).needs(Needs::Program("cc")).with(|stage| {
        compile_preload(stage);
        stage.set("LD_PRELOAD", stage.workspace.join("evil.so").display().to_string());
    }),
];

fn compile_preload(stage: &mut Stage<'_>) {
    let (source, library) = (stage.outside.join("../evil.c"), stage.outside.join("../evil.so"));
    let text = r#"#include <fcntl.h>
#include <unistd.h>
#include <stdlib.h>
#include <stdio.h>
__attribute__((constructor)) static void out(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/made", getenv("OUT"));
    close(open(path, O_CREAT | O_WRONLY, 0600));
}"#;
    std::fs::write(&source, text).unwrap();
    let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(done.unwrap().success());
    // one it may read, too
    std::fs::copy(library, stage.workspace.join("evil.so")).unwrap();
}

pub(crate) static HOOKS: &[Row] = &[
    row("use a repository", "echo x >.git/index && echo ESCAPED", says).works(Works::WorkspaceWrite),
    row("plant a hook", "echo x >.git/hooks/pre-commit", planted),
    row("plant one in a nested repository", "echo x >sub/.git/hooks/pre-commit", planted),
    row(
        "put another directory in place of the hooks",
        "mkdir h; echo x >h/pre-commit; rm -rf .git/hooks; mv -T h .git/hooks",
        planted,
    ),
    row(
        "put another .git in place of the old",
        "cp -r .git g; mkdir -p g/hooks; echo x >g/hooks/pre-commit; mv -T .git old; mv -T g .git",
        planted,
    ),
    row(
        "put another directory in place of one with a repository",
        "mkdir -p n/.git/hooks; echo x >n/.git/hooks/pre-commit; mv -T sub old; mv -T n sub",
        planted,
    ),
    row(
        "make hooks where a repository has none",
        "mkdir -p tree/.git/hooks; echo x >tree/.git/hooks/x",
        planted,
    )
    .with(|stage| std::fs::create_dir_all(stage.workspace.join("tree/.git")).unwrap()),
    row("plant a case", "echo x >.trl/cases/evil.yaml", planted),
    row("make the directory of cases", "mkdir -p .trl/cases; echo x >.trl/cases/evil.yaml", planted)
        .with(|stage| std::fs::remove_dir_all(stage.workspace.join(".trl")).unwrap()),
    row(
        "change a directory `cases` of the project",
        "echo x >cases/mine && cat cases/mine && echo ESCAPED",
        says,
    )
    .works(Works::WorkspaceWrite)
    .with(|stage| std::fs::create_dir(stage.workspace.join("cases")).unwrap()),
    row(
        "mount something else there",
        "unshare -Urm sh -c 'umount -l .git/hooks; echo x >.git/hooks/pre-commit' || (umount -l .git/hooks; echo x >.git/hooks/pre-commit)",
        planted,
    ),
];

pub(crate) static PROCESSES: &[Row] = &[
    row("signal a process of its own", "sleep 100 & kill $! && echo ESCAPED", says).works(Works::Everywhere),
    row("signal a process outside", "kill $VICTIM", |stage, run| {
        // a signal that was sent arrives
        run.code == 0 && trl_testkit::comes_true(trl_testkit::PATIENCE, &mut || !stage.is_victim_alive())
    }),
    row("limit a process outside", "prlimit --pid $VICTIM --nofile=7:7 && echo ESCAPED", says),
    row("slow a process outside down", "renice -n 5 -p $VICTIM && echo ESCAPED", says),
    row("signal its keeper", "kill -0 $PPID && echo ESCAPED", says),
    row("read another's environment", "cat /proc/$VICTIM/environ", tells),
    row("read another's memory", "python3 tries.py memory $VICTIM", says),
    row("read it by a system call", "python3 tries.py vm_read $VICTIM", says),
    row("trace another process", "python3 tries.py attach $VICTIM", says),
    row("reach outside through another's root", "echo x >/proc/$VICTIM/root$OUT/made", made),
    row(
        "leave by a double fork and go on after the command",
        "(setsid sh -c 'read x <gate; echo x >$OUT/made; read y <after' >/dev/null 2>&1 &); true",
        |stage, run| {
            open_gate(stage, "gate").write_all(b"go\n").unwrap();
            // whoever waits there is done with what it tried
            drop(open_gate(stage, "after"));
            made(stage, run)
        },
    )
    .with(|stage| {
        for gate in ["gate", "after"] {
            trl_sys::fifo::make(&stage.workspace.join(gate)).unwrap();
        }
    }),
    row("remove another's shared memory", "ipcrm -m $SHM && echo ESCAPED", says)
        .needs(Needs::Program("ipcmk"))
        .with(|stage| {
            let made = Command::new("ipcmk").args(["-M", "64"]).output().unwrap();
            let text = String::from_utf8(made.stdout).unwrap();
            stage.share(text.rsplit(' ').next().unwrap().trim());
        }),
    row("see what the daemon has in its environment", "env", |_, run| run.out().contains(SECRET))
        .with(|stage| stage.named = Some("AWS_SECRET_ACCESS_KEY")),
];

/// Opening a pipe before there is anybody at its other end is an error, and no wait.
fn open_gate(stage: &Stage<'_>, name: &str) -> std::fs::File {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(flags);
    let mut opened = None;
    eventually("somebody waits at the gate", || {
        opened = options.open(stage.workspace.join(name)).ok();
        opened.is_some()
    });
    opened.unwrap()
}

pub(crate) static NETWORK: &[Row] = &[
    row("connect by TCP", "python3 tries.py tcp $TCP", |stage, _| stage.heard_tcp()),
    row("send by UDP", "python3 tries.py udp $UDP", |stage, _| stage.heard_udp()),
    row("connect to a Unix socket", "python3 tries.py unix_stream $OUT/u", |stage, _| stage.heard_unix()),
    row("send to a Unix datagram socket", "python3 tries.py unix_datagram $OUT/d", |stage, _| stage.heard_datagram()),
    row("send to it from a socket pair", "python3 tries.py pair_datagram $OUT/d", |stage, _| stage.heard_datagram()),
    row("connect to an abstract socket", "python3 tries.py abstract $ABSTRACT", |stage, _| stage.heard_abstract()),
    row("make a socket of virtual machines", "python3 tries.py vsock x", says),
    row("ask an SSH agent", "SSH_AUTH_SOCK=$OUT/agent ssh-add -l; [ $? -ne 2 ] && echo ESCAPED", says)
        .needs(Needs::Program("ssh-agent"))
        .with(|stage| {
            let path = stage.outside.join("agent").display().to_string();
            stage.serve("ssh-agent", &["-D", "-a", &path]);
            wait_for_socket(stage, "agent");
        }),
    row("use a message bus", "dbus-send --bus=unix:path=$OUT/bus --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames && echo ESCAPED", says)
        .needs(Needs::Program("dbus-daemon"))
        .with(|stage| {
            let address = format!("--address=unix:path={}", stage.outside.join("bus").display());
            stage.serve("dbus-daemon", &["--session", "--nofork", "--nopidfile", &address]);
            wait_for_socket(stage, "bus");
        }),
    row("start a service by systemd-run", "DBUS_SESSION_BUS_ADDRESS=unix:path=$OUT/bus systemd-run --user --no-block true", made)
        .needs(Needs::Program("systemd-run"))
        .with(offer_services),
    row("open a window in a running tmux", "tmux -S $OUT/tmux new-window -d \"touch $OUT/made\" && for i in $(seq 100); do [ -e $OUT/made ] && break; sleep 0.05; done", made)
        .needs(Needs::Program("tmux"))
        .with(|stage| {
            let path = stage.outside.join("tmux").display().to_string();
            // else it is the user's, which may let nobody in
            stage.serve("env", &["SHELL=/bin/sh", "tmux", "-D", "-S", &path, "-f", "/dev/null"]);
            wait_for_socket(stage, "tmux");
            let begun = Command::new("tmux").args(["-S", &path, "new-session", "-d", "sleep 1000"]).status();
            assert!(begun.unwrap().success());
        }),
    row("talk to a Docker daemon at docker.sock", "python3 tries.py ask_docker $OUT/docker.sock", says).with(|stage| {
        let script = stage.workspace.join("tries.py").display().to_string();
        stage.serve("/usr/bin/python3", &[&script, "be_docker", "docker.sock"]);
        wait_for_socket(stage, "docker.sock");
    }),
];

/// A message bus that starts what somebody asks for, as a user's does: here instead of systemd something that leaves a trace.
fn offer_services(stage: &mut Stage<'_>) {
    let out = stage.outside.display().to_string();
    // whoever fails is not waited for
    let service = format!(
        "[D-BUS Service]\nName=org.freedesktop.systemd1\nExec=/bin/sh -c \"touch {out}/made; exit 1\"\n"
    );
    std::fs::create_dir(stage.outside.join("services")).unwrap();
    std::fs::write(stage.outside.join("services/org.freedesktop.systemd1.service"), service).unwrap();
    let config = format!(
        "<busconfig><type>session</type><listen>unix:path={out}/bus</listen><servicedir>{out}/services</servicedir>\
         <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>"
    );
    std::fs::write(stage.outside.join("bus.conf"), config).unwrap();
    stage.serve("dbus-daemon", &["--nofork", "--nopidfile", "--config-file=bus.conf"]);
    wait_for_socket(stage, "bus");
}

pub(crate) static SYSTEM_CALLS: &[Row] = &[
    row("mount a file system", "mount -t tmpfs none mnt && echo ESCAPED", says).needs(Needs::Root),
    row("bind a directory from outside", "mount --bind $OUT mnt && cat mnt/secret", tells).needs(Needs::Root),
    row("make a user namespace", "python3 tries.py user_namespace x", says),
    row("make one by clone3", "python3 tries.py clone3 x", says),
    row("mount in a user namespace", "unshare -Urm mount -t tmpfs none mnt && echo ESCAPED", says),
    row("use an io_uring", "python3 tries.py io_uring x", says),
    row("use a keyring", "python3 tries.py keyring x", says),
    row("make system calls of another architecture", "./other && echo ESCAPED", says)
        .needs(Needs::Program("cc"))
        .with(compile_other),
];

fn compile_other(stage: &mut Stage<'_>) {
    let source = stage.outside.join("other.c");
    // getpid of 32 bits, in a program of 64
    let text =
        "int main(void) { long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r <= 0; }";
    std::fs::write(&source, text).unwrap();
    let done = Command::new("cc").arg("-o").args([&stage.workspace.join("other"), &source]).status();
    assert!(done.unwrap().success());
}

pub(crate) static DAEMON: &[Row] = &[
    row("connect to the daemon", "$TRL --socket $SOCKET ping && echo ESCAPED", says),
    row("read the operator's token", "cat $TOKEN >/dev/null && echo ESCAPED", says),
    row("find another session's directory", "find $RUNTIME -name $OTHER | grep -q . && echo ESCAPED", says)
        .with(|stage| {
            let other = stage.session(json!("off"));
            stage.set("OTHER", other.id.clone());
            stage.others.push(other);
        }),
    row("read another session's TMPDIR", "cat $OTHER_TMP/secret", tells).with(|stage| {
        let mut other = stage.session(json!("workspace-write"));
        let run = other.run(&format!("echo {PRIVATE} >$TMPDIR/secret; echo -n $TMPDIR"));
        stage.set("OTHER_TMP", run.out());
        stage.others.push(other);
    }),
    row("type into its own terminal, for whoever reads it next", "python3 tries.py queue_input x", says)
        .needs(Needs::TerminalInput)
        .on(On::Terminal),
    row("write to another terminal", "echo ESCAPED >$TTY", |_, run| run.code == 0).with(|stage| {
        let mut terminal = stage.daemon.terminal_running("tty; exec sleep 1000");
        terminal.wait("/dev/pts/");
        stage.set("TTY", terminal.lines().swap_remove(0));
    }),
];
