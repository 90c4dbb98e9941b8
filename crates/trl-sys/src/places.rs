//! Where things are when nobody says otherwise, and whether a directory can be trusted with a socket.
//!
//! 1. [`Places::of_user`] derives every default path from the XDG variables, the home and the user id.
//! 2. [`check_socket`] and [`check_private_dir`] are what both daemon and client hold the socket to.
//!
//! It makes no directories: whoever needs one makes it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A look at the environment, one variable at a time: copying all of it would copy secrets.
pub type Env<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The default places of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub socket: PathBuf,
    pub config_dir: PathBuf,
    pub data_dir: PathBuf,
}

impl Places {
    pub fn of_user(env: &Env<'_>, uid: u32) -> Self {
        let home = absolute(env, "HOME").or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("/"));
        let config_home = absolute(env, "XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let data_home = absolute(env, "XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
        // Programs that start us for a model often hand on none of the variables: the directory is there all the same.
        let usual = || Some(PathBuf::from(format!("/run/user/{uid}"))).filter(|dir| is_private(dir, uid));
        let socket_dir = match absolute(env, "XDG_RUNTIME_DIR").or_else(usual) {
            Some(runtime) => runtime.join("trl"),
            None => absolute(env, "TMPDIR").unwrap_or_else(|| "/tmp".into()).join(format!("trl-{uid}")),
        };
        Self {
            socket: socket_dir.join("trl.sock"),
            config_dir: config_home.join("trl"),
            data_dir: data_home.join("trl"),
        }
    }

    /// Where the daemon keeps the operator's token for people at a terminal.
    pub fn operator_token(&self) -> PathBuf {
        self.config_dir.join("operator.token")
    }
}

/// The XDG rules say that a relative path in these variables is to be ignored.
fn absolute(env: &Env<'_>, name: &str) -> Option<PathBuf> {
    env(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user this process acts as.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The kernel's bound on the path of a Unix socket (`sun_path` without its final NUL).
const LONGEST_SOCKET: usize = 107;

#[derive(Debug, thiserror::Error)]
#[error("the socket path {} has {} bytes; a Unix socket may have {LONGEST_SOCKET}", .0.display(), .0.as_os_str().len())]
pub struct PathTooLong(PathBuf);

/// Can there be a socket at this path at all? Asked before anything is made for it.
pub fn check_socket(path: &Path) -> Result<(), PathTooLong> {
    match path.as_os_str().len() <= LONGEST_SOCKET {
        true => Ok(()),
        false => Err(PathTooLong(path.into())),
    }
}

/// Why a directory is no place for a socket.
#[derive(Debug, thiserror::Error)]
pub enum DirFault {
    #[error("it does not exist")]
    Missing,
    #[error("it is a symbolic link")]
    Symlink,
    #[error("it is not a directory")]
    NotADirectory,
    #[error("it belongs to user {owner}, not to you")]
    Foreign { owner: u32 },
    #[error("its mode is {mode:04o}, not 0700: others could reach into it")]
    Open { mode: u32 },
    #[error("{0}")]
    Unreadable(io::Error),
}

fn is_private(dir: &Path, uid: u32) -> bool {
    check_private_dir(dir, uid).is_ok()
}

/// Is `dir` a directory that only `uid` can enter? Anyone who can write to it could put their own socket there.
pub fn check_private_dir(dir: &Path, uid: u32) -> Result<(), DirFault> {
    let meta = fs::symlink_metadata(dir).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => DirFault::Missing,
        _ => DirFault::Unreadable(e),
    })?;
    let permissions = meta.mode() & 0o777;
    if meta.is_symlink() {
        Err(DirFault::Symlink)
    } else if !meta.is_dir() {
        Err(DirFault::NotADirectory)
    } else if meta.uid() != uid {
        Err(DirFault::Foreign { owner: meta.uid() })
    } else if permissions != 0o700 {
        Err(DirFault::Open { mode: permissions })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn places(vars: &[(&str, &str)]) -> Places {
        Places::of_user(&|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()), 7)
    }

    #[test]
    fn xdg_variables_win_and_relative_ones_are_ignored() {
        let all = places(&[
            ("HOME", "/h"),
            ("XDG_RUNTIME_DIR", "/run/user/7"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_DATA_HOME", "rel"),
        ]);
        assert_eq!(all.socket, Path::new("/run/user/7/trl/trl.sock"));
        assert_eq!(all.config_dir, Path::new("/c/trl"));
        assert_eq!(all.data_dir, Path::new("/h/.local/share/trl"));
    }

    #[test]
    fn without_a_runtime_dir_the_socket_is_in_the_users_own_temp_dir() {
        assert_eq!(places(&[("HOME", "/h")]).socket, Path::new("/tmp/trl-7/trl.sock"));
        assert_eq!(places(&[("HOME", "/h"), ("TMPDIR", "/t")]).socket, Path::new("/t/trl-7/trl.sock"));
    }

    #[test]
    fn only_a_private_directory_of_the_user_is_trusted() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("d");
        assert!(matches!(check_private_dir(&dir, user_id()), Err(DirFault::Missing)));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(check_private_dir(&dir, user_id()), Err(DirFault::Open { mode: 0o755 })));
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(check_private_dir(&dir, user_id()).is_ok());
        assert!(matches!(check_private_dir(&dir, user_id() + 1), Err(DirFault::Foreign { .. })));
        let link = base.path().join("l");
        symlink(&dir, &link).unwrap();
        assert!(matches!(check_private_dir(&link, user_id()), Err(DirFault::Symlink)));
    }
}
