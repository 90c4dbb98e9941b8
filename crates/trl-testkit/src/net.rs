//! A wire of the test's own between two network namespaces: nothing else of this machine is on it, and it can be cut.
//!
//! 1. [`Wire::lay`] makes both, each held by a process that sleeps, and a pair of `veth` between them.
//! 2. What is run with [`Wire::near`] or [`Wire::far`] before it is at that end.
//! 3. [`Wire::cut`] takes the far end down: whatever is sent is lost, and nobody is told.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::daemon::{let_go, let_live};
use crate::process::{adopt_orphans, own_pid, signal, wait_gone};
use crate::shell::find_program;
use crate::{available, eventually};

/// Addresses for documentation, which are nobody's.
const NEAR: &str = "192.0.2.1/24";
const FAR: &str = "192.0.2.2";

#[derive(Debug)]
pub struct Wire {
    near: Child,
    far: Child,
}

impl Wire {
    /// None when this machine cannot, which it says; in CI that is a failure.
    pub fn lay() -> Option<Self> {
        if !available("being root, for network namespaces", rustix::process::geteuid().is_root())
            || !available("ip", find_program("ip").is_some())
        {
            return None;
        }
        adopt_orphans();
        let wire = Self { near: namespace(), far: namespace() };
        let far = wire.far.id().to_string();
        wire.ip(
            &wire.near(),
            &["link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", &far],
        );
        for (end, address) in [(wire.near(), NEAR.to_string()), (wire.far(), format!("{FAR}/24"))] {
            wire.ip(&end, &["address", "add", &address, "dev", "wire"]);
            wire.ip(&end, &["link", "set", "lo", "up"]);
            wire.ip(&end, &["link", "set", "wire", "up"]);
        }
        Some(wire)
    }

    /// The words before a program that is to run at the near end.
    pub fn near(&self) -> Vec<String> {
        enter(&self.near)
    }

    pub fn far(&self) -> Vec<String> {
        enter(&self.far)
    }

    /// Of the far end.
    pub fn address(&self) -> &'static str {
        FAR
    }

    pub fn cut(&self) {
        self.ip(&self.far(), &["link", "set", "wire", "down"]);
    }

    pub fn heal(&self) {
        self.ip(&self.far(), &["link", "set", "wire", "up"]);
    }

    /// Lets no more than so much through, in both directions. False when the kernel cannot.
    pub fn throttle(&self, rate: &str) -> bool {
        let words =
            ["qdisc", "add", "dev", "wire", "root", "tbf", "rate", rate, "burst", "8kb", "latency", "1s"];
        [self.near(), self.far()].iter().all(|end| run(end, "tc", &words))
    }

    fn ip(&self, end: &[String], words: &[&str]) {
        assert!(run(end, "ip", words), "ip {words:?}");
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for end in [&mut self.near, &mut self.far] {
            let pid = end.id().cast_signed();
            signal(pid, Signal::KILL);
            wait_gone(pid);
            let_go(pid);
            let _ = end.wait();
        }
    }
}

fn enter(holder: &Child) -> Vec<String> {
    vec!["nsenter".into(), format!("--net=/proc/{}/ns/net", holder.id())]
}

fn run(end: &[String], program: &str, words: &[&str]) -> bool {
    let status = Command::new(&end[0]).args(&end[1..]).arg(program).args(words).status();
    status.is_ok_and(|status| status.success())
}

/// A process in a namespace of its own.
fn namespace() -> Child {
    let mut command = Command::new("unshare");
    let child =
        command.args(["--net", "sleep", "infinity"]).stdin(Stdio::null()).spawn().expect("unshare starts");
    let_live(child.id().cast_signed());
    let of = |pid: i32| std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns/net")).ok();
    let ours = of(own_pid());
    eventually("it has a network of its own", || of(child.id().cast_signed()) != ours);
    child
}
