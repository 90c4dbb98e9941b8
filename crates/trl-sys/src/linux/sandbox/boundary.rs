//! A plan that is carried out: made in the keeper, drawn by the process that is to become the program.

use std::ffi::CStr;
use std::os::unix::net::UnixStream;

use super::watch;
use super::{Ear, Effort, Layers, Plan, Protected};
use crate::link::Stage;
use crate::spawn::Failure;

pub(crate) struct Boundary {
    plan: Box<Plan>,
    protected: Protected,
    /// To the keeper.
    ours: UnixStream,
    /// The keeper's own end.
    theirs: UnixStream,
}

impl Boundary {
    pub(crate) fn new(plan: Box<Plan>) -> Result<Self, Failure> {
        let failed =
            |e: std::io::Error| Failure { stage: Stage::Protect, errno: e.raw_os_error().unwrap_or(0) };
        let protected = match (Protected::find(&plan), plan.effort) {
            (Ok(found), _) => found,
            (Err(_), Effort::Best) => Protected::unknown(),
            (Err(e), Effort::Full) => return Err(failed(e)),
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        Ok(Self { plan, protected, ours, theirs })
    }

    /// Draws it around this process, which is then in `cwd`; returns what could not be had.
    pub(crate) fn draw(&self, cwd: &CStr) -> Result<Layers, Failure> {
        let mut made = super::enter(&self.plan, &self.protected)?;
        // SAFETY: a live CString. The directory it is in so far may be covered by what was mounted since.
        if unsafe { libc::chdir(cwd.as_ptr()) } != 0 {
            return Err(Failure::last(Stage::Chdir));
        }
        let ear = super::confine(&self.plan, &mut made)?;
        if let Some(ear) = ear {
            let handed = watch::hand_over(&ear, &self.ours);
            handed.map_err(|e| Failure { stage: Stage::Seccomp, errno: e.raw_os_error().unwrap_or(0) })?;
        }
        Ok(made.missing)
    }

    /// What the keeper holds once the program runs.
    pub(crate) fn held(self) -> (Protected, Option<Ear>) {
        (self.protected, watch::take_over(&self.theirs))
    }
}
