//! Whether this process runs inside a session: a keeper is among its ancestors.

use trl_sys::lineage::{self, Held};
use trl_sys::tree;

/// Does this process belong to a session of some daemon? Advice for honest clients: the daemon asks the kernel itself.
pub(crate) fn in_session() -> bool {
    let me = Held::of(std::process::id().cast_signed());
    me.is_some_and(|me| lineage::nearest(&me, tree::is_keeper).is_ok_and(|keeper| keeper.is_some()))
}
