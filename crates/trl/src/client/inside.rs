//! Whether this process runs inside a session: a keeper is among its ancestors.

use trl_sys::tree;

/// Does this process belong to a session of some daemon?
pub(crate) fn in_session() -> bool {
    let me = std::process::id().cast_signed();
    tree::ancestors(me).into_iter().take_while(|pid| *pid > 1).any(tree::is_keeper)
}
