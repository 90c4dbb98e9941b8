//! A terminal before it runs: its pseudo-terminal, a keeper for its programs, and what that is asked to start.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trl_sys::link::{Group, Request, Spawn};
use trl_sys::poller::Watch;
use trl_sys::pty::{Ear, Master};

use super::handle::Terminal;
use crate::engine::Engine;
use crate::limits::Cage;
use crate::limits::cage::Tenant;
use crate::shell::channel::Link;

/// What a terminal's task begins with.
pub(super) struct Opened {
    pub(super) master: Master,
    pub(super) ear: Ear,
    pub(super) link: Link,
    pub(super) watch: Watch,
    pub(super) order: Request,
    pub(super) cage: Option<Cage>,
}

pub(super) fn open(engine: &Engine, terminal: &Terminal) -> io::Result<Opened> {
    let spec = &terminal.spec;
    let dir = engine.place.session_dir(spec.id.as_str())?;
    let master = Master::open(spec.size)?;
    let ear = master.listen()?;
    let watch = Watch::new()?;
    let (link, cage) = engine.keeper_within(&spec.limits, Tenant::Program)?;
    let link = Link::new(link, &watch)?;
    let device = master.device()?;
    let sandbox = match spec.sandbox.here() {
        None => None,
        Some(sandbox) => {
            sandbox.prepare()?;
            Some(Box::new(sandbox.plan(&[Path::new(OsStr::from_bytes(&device))])))
        }
    };
    let order = Request::Spawn(Box::new(Spawn {
        argv: spec.argv.iter().map(|a| a.as_bytes().to_vec()).collect(),
        env: spec.environ(),
        cwd: spec.working_dir.as_bytes().to_vec(),
        stdio: [device.clone(), device.clone(), device],
        session_dir: dir.as_os_str().as_bytes().to_vec(),
        umask: spec.umask.bits(),
        open_files: Cage::open_files(&spec.limits, engine.open_files.original),
        rlimits: cage.as_ref().map(Cage::rlimits).unwrap_or_default(),
        group: Group::Leads,
        terminal: true,
        sandbox,
        pin: spec.pin.get(),
    }));
    Ok(Opened { master, ear, link, watch, order, cage })
}
