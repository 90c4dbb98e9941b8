//! The boundary that `run`, `session new` and `term new` can ask for.

use trl_proto::by_name;
use trl_proto::sandbox::{Confidence, Denied, Mode, Net, SandboxParams};

#[derive(Debug, clap::Args)]
pub(super) struct SandboxArgs {
    /// What it may do: off, read-only or workspace-write (this directory and a private TMPDIR) [default: as configured]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    sandbox: Option<Mode>,
    /// Which network the sandbox has: none, loopback (one of its own) or all [default: none]
    #[arg(long, value_name = "NET", value_parser = by_name::<Net>, requires = "sandbox")]
    net: Option<Net>,
    /// Run with what of the sandbox this machine gives, instead of not at all
    #[arg(long, requires = "sandbox")]
    best_effort: bool,
}

/// The lists of `custom` are for `trl call`.
fn mode(name: &str) -> Result<Mode, String> {
    match by_name(name)? {
        Mode::Custom => Err("has lists of paths: use `trl call session.create` for it".into()),
        mode => Ok(mode),
    }
}

impl SandboxArgs {
    pub(super) fn params(&self) -> Option<SandboxParams> {
        self.sandbox.map(|mode| SandboxParams {
            net: self.net,
            best_effort: self.best_effort.then_some(true),
            ..mode.into()
        })
    }
}

/// What a person wants to hear about it.
pub(super) fn note(denied: &Denied) -> String {
    let what = denied.path.as_ref().map_or_else(|| denied.op.clone(), |path| format!("{} {path}", denied.op));
    match denied.confidence {
        Confidence::Proven => format!("the sandbox refused: {what}"),
        Confidence::Likely => format!("the sandbox probably refused: {what}"),
    }
}
