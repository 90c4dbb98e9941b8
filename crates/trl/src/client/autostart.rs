//! Starting a daemon for a command that found none.
//!
//! 1. This program is started again as `serve --detach`, in `/`, with a clean environment and nothing of the
//!    caller's files but a pipe for what goes wrong early.
//! 2. The socket is tried until it answers or [`PATIENCE`] is over. When two commands start a daemon at once, one of
//!    the two ends at the other's lock, and both commands connect to the one that stayed.
//!
//! Never from inside a session: such a daemon would be killed with the command that started it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};
use trl_client::{ClientError, TOKEN_VARIABLE};

use super::error::ReachError;
use crate::config::Config;

/// A daemon is ready within milliseconds; a machine that swaps may need longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the one that stays may take after the other has ended: to come up, or to see that its socket was removed.
const AFTER_EXIT: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Starts a daemon and connects to it.
pub(super) async fn start(config: &Config) -> Result<UnixStream, ReachError> {
    let mut child = spawn(config).map_err(|e| ReachError::DidNotStart(e.to_string()))?;
    let mut deadline = Instant::now() + PATIENCE;
    let mut ended = None;
    loop {
        match trl_client::open(&config.socket).await {
            Err(ClientError::NotRunning { .. }) => {}
            other => return Ok(other?),
        }
        if ended.is_none()
            && let Ok(Some(status)) = child.try_wait()
        {
            ended = Some(last_words(&mut child).unwrap_or_else(|| status.to_string()));
            deadline = deadline.min(Instant::now() + AFTER_EXIT);
        }
        if Instant::now() >= deadline {
            let silence = || format!("it does not answer after {} s", PATIENCE.as_secs());
            return Err(ReachError::DidNotStart(ended.unwrap_or_else(silence)));
        }
        sleep(BETWEEN_TRIES).await;
    }
}

fn spawn(config: &Config) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg("--detach").arg("--socket").arg(&config.socket);
    if let Some(file) = &config.file {
        command.arg("--config").arg(file);
    }
    let pass_env = config.settings().pass_env;
    command
        .current_dir("/")
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| belongs(name, &pass_env)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

/// Is this variable about the user and not about the shell the command happened to be typed in?
fn belongs(name: &OsStr, pass_env: &[String]) -> bool {
    const NAMES: [&str; 7] = ["HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"];
    const FAMILIES: [&str; 3] = ["LC_", "XDG_", "TRL_"];
    let Some(name) = name.to_str() else { return false };
    // The token would stay readable in the daemon's initial environment.
    name != TOKEN_VARIABLE
        && (NAMES.contains(&name)
            || FAMILIES.iter().any(|family| name.starts_with(family))
            || pass_env.iter().any(|passed| passed == name))
}

/// What a daemon that has ended left in the pipe.
pub(crate) fn last_words(child: &mut Child) -> Option<String> {
    let mut pipe: ChildStderr = child.stderr.take()?;
    // A process it left behind may hold the pipe open: take what is there, do not wait for the end.
    rustix::io::ioctl_fionbio(&pipe, true).ok()?;
    let mut words = vec![0; 4096];
    let length = pipe.read(&mut words).ok()?;
    let words = String::from_utf8_lossy(&words[..length]).trim().to_string();
    let words = words.strip_prefix("trl: ").map(String::from).unwrap_or(words);
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_daemon_is_clean() {
        let passed = ["EDITOR".to_string()];
        let belongs = |name: &str| belongs(OsStr::new(name), &passed);
        for name in ["HOME", "LC_ALL", "XDG_RUNTIME_DIR", "TRL_SOCKET_PATH", "EDITOR"] {
            assert!(belongs(name), "{name}");
        }
        for name in ["TRL_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "PWD", "OLDPWD", "SHLVL"] {
            assert!(!belongs(name), "{name}");
        }
    }
}
