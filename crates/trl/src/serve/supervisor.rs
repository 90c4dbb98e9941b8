//! The service manager that started this daemon, if one did: told when it is ready, that it lives, that it ends.
//!
//! It listens on the datagram socket that `NOTIFY_SOCKET` names, and may want a sign of life now and then
//! (`WATCHDOG_USEC`). That comes from the daemon's one thread, so one that hangs is noticed.

use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use trl_sys::harden::wipe_env;

use super::Server;

const SOCKET: &str = "NOTIFY_SOCKET";
const INTERVAL: &str = "WATCHDOG_USEC";
const MEANT_FOR: &str = "WATCHDOG_PID";

#[derive(Debug, Default)]
pub(super) struct Supervisor {
    ear: Option<UnixDatagram>,
    /// How long it waits for a sign of life.
    patience: Option<Duration>,
}

impl Supervisor {
    /// Its variables are gone afterwards. Must be called while the process has one thread.
    pub(super) fn take() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let ear = variable(SOCKET).and_then(|address| connect(&address).ok());
        let ours = variable(MEANT_FOR).is_none_or(|pid| pid == std::process::id().to_string());
        let patience = variable(INTERVAL).filter(|_| ours).and_then(|text| text.parse().ok());
        [SOCKET, INTERVAL, MEANT_FOR].into_iter().for_each(wipe_env);
        Self { ear, patience: patience.filter(|us| *us > 0).map(Duration::from_micros) }
    }

    pub(super) fn ready(&self) {
        self.say("READY=1");
    }

    /// Gives signs of life, and word of the end when that begins. Has no end of its own.
    pub(super) async fn attend(&self, server: &Server) {
        let ending = async {
            let mut stop = server.stop.subscribe();
            let _ = stop.wait_for(Option::is_some).await;
            self.say("STOPPING=1");
            std::future::pending::<()>().await;
        };
        tokio::join!(ending, self.reassure());
    }

    async fn reassure(&self) {
        let Some(patience) = self.patience else { return std::future::pending().await };
        let mut signs = tokio::time::interval(patience / 2);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            signs.tick().await;
            self.say("WATCHDOG=1");
        }
    }

    /// One that does not listen is no reason to wait, nor to end.
    fn say(&self, word: &str) {
        if let Some(ear) = &self.ear
            && let Err(error) = ear.send(word.as_bytes())
        {
            tracing::debug!(%error, word, "the service manager was not told");
        }
    }
}

/// A path, or with `@` a name that is in no directory.
fn connect(address: &str) -> std::io::Result<UnixDatagram> {
    let ear = UnixDatagram::unbound()?;
    ear.set_nonblocking(true)?;
    match address.strip_prefix('@') {
        Some(name) => ear.connect_addr(&trl_sys::stream::without_path(name)?)?,
        None => ear.connect_addr(&SocketAddr::from_pathname(address)?)?,
    }
    Ok(ear)
}
