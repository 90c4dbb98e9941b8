//! Who presents what: from a token or a ticket to a [`Principal`].
//!
//! 1. The operator's token ([`operator`]) is the first there is; the others are made with it and kept in [`tokens`].
//! 2. A browser cannot send a token with its WebSocket: it gets a ticket for one, good once and briefly ([`tickets`]).
//! 3. Who fails too often is made to wait ([`failures`]).
//!
//! Tokens are 256 random bits, so what is kept of one is its plain SHA-256: there is no dictionary to try against it,
//! and a slow hash would only be a way to keep the daemon busy. What was presented is compared by its digest, in
//! constant time.

mod failures;
pub(super) mod operator;
pub(super) mod tickets;
pub(super) mod tokens;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;
use trl_client::Secret;
use trl_proto::Role;

use self::failures::Failures;
use self::tickets::Tickets;
use self::tokens::{Grant, Tokens};
use super::principal::Principal;
use crate::config::HttpSettings;

/// What is kept and compared in place of a secret.
pub(super) type Digest = [u8; 32];

pub(super) fn digest(secret: &str) -> Digest {
    Sha256::digest(secret.as_bytes()).into()
}

pub(super) fn same(a: &Digest, b: &Digest) -> bool {
    a.ct_eq(b).into()
}

/// A secret nobody can guess, in letters that need no quoting anywhere.
pub(in crate::serve) fn fresh_secret(prefix: &str) -> String {
    let bytes: [u8; 32] = trl_proto::random::bytes();
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{prefix}{hex}")
}

/// A token this long is not found by trying, whoever chose it.
const HARD_TO_GUESS: usize = 32;
/// How soon a token that expired, or was revoked through another daemon, is noticed on an open connection.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Everything that can make somebody somebody.
pub(super) struct Authority {
    operator: Digest,
    /// A person chose the operator's token, and chose a short one.
    guessable: bool,
    pub(super) tokens: Tokens,
    pub(super) tickets: Tickets,
    failures: Failures,
}

/// Why somebody is nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    Wrong,
    /// Too many came from that address; for so long nothing that could be guessed is accepted.
    Wait(Duration),
}

/// How a token is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    Usual,
    /// Whoever asks has failed often: a token that could be guessed is not accepted now, not even the right one.
    Suspicious,
}

impl Authority {
    pub(super) fn new(operator: &Secret, data_dir: &Path, http: &HttpSettings) -> Self {
        Self {
            operator: digest(operator.expose()),
            guessable: operator.expose().len() < HARD_TO_GUESS,
            tokens: Tokens::at(data_dir.join("tokens.json")),
            tickets: Tickets::new(http.ticket_ttl),
            failures: Failures::new(http.auth_failures),
        }
    }

    /// Whose token this is. `from` is the address it came from, where that says anything.
    pub(super) fn identify(&self, token: &str, from: Option<IpAddr>) -> Result<Principal, Failed> {
        self.attempt(from, |care| self.whose(token, care))
    }

    /// Whose ticket this was.
    pub(super) fn redeem(&self, ticket: &str, from: Option<IpAddr>) -> Result<Principal, Failed> {
        let redeemed = |_| self.tickets.redeem(&digest(ticket)).filter(|principal| self.is_valid(principal));
        self.attempt(from, redeemed)
    }

    fn attempt(
        &self,
        from: Option<IpAddr>,
        find: impl FnOnce(Care) -> Option<Principal>,
    ) -> Result<Principal, Failed> {
        let now = Instant::now();
        let wait = from.and_then(|address| self.failures.wait(address, now));
        let care = if wait.is_some() { Care::Suspicious } else { Care::Usual };
        match (find(care), wait) {
            (Some(principal), _) => Ok(principal),
            (None, Some(left)) => Err(Failed::Wait(left)),
            (None, None) => {
                tracing::warn!(?from, "a wrong token was presented");
                if let Some(address) = from {
                    self.failures.note(address, now);
                }
                Err(Failed::Wrong)
            }
        }
    }

    fn whose(&self, presented: &str, care: Care) -> Option<Principal> {
        let presented = digest(presented);
        if same(&presented, &self.operator) {
            let refused = self.guessable && care == Care::Suspicious;
            return (!refused).then_some(Principal::Role(Role::Operator));
        }
        self.tokens.find(&presented).map(Principal::Token)
    }

    /// Tokens end; all others stay who they are.
    pub(super) fn is_valid(&self, principal: &Principal) -> bool {
        match principal {
            Principal::Token(grant) => self.tokens.is_valid(grant),
            Principal::Role(_)
            | Principal::Inside(_)
            | Principal::OfAgent(_)
            | Principal::InTerminal(_)
            | Principal::Gateway => true,
        }
    }

    /// Resolves when the principal's token has ended; never for all others.
    pub(super) async fn ended(&self, principal: &Principal) {
        match principal {
            Principal::Token(grant) => self.token_ended(grant).await,
            Principal::Role(_)
            | Principal::Inside(_)
            | Principal::OfAgent(_)
            | Principal::InTerminal(_)
            | Principal::Gateway => std::future::pending().await,
        }
    }

    async fn token_ended(&self, grant: &Arc<Grant>) {
        loop {
            let changed = self.tokens.changed();
            if !self.tokens.is_valid(grant) {
                return;
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, changed).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(operator: &str) -> (tempfile::TempDir, Authority) {
        let dir = tempfile::tempdir().unwrap();
        let secret = Secret::new(operator.into()).unwrap();
        let settings = HttpSettings { auth_failures: 2, ..HttpSettings::default() };
        let authority = Authority::new(&secret, dir.path(), &settings);
        (dir, authority)
    }

    #[test]
    fn a_short_token_cannot_be_tried_without_end() {
        let here = Some("127.0.0.1".parse().unwrap());
        let long = "x".repeat(64);
        for (token, works_later) in [("hunter2", false), (long.as_str(), true)] {
            let (_dir, authority) = authority(token);
            assert!(authority.identify(token, here).is_ok());
            for _ in 0..2 {
                assert_eq!(authority.identify("guess", here), Err(Failed::Wrong));
            }
            assert!(matches!(authority.identify("guess", here), Err(Failed::Wait(_))));
            assert_eq!(authority.identify(token, here).is_ok(), works_later);
            assert!(authority.identify(token, None).is_ok(), "others are not held up");
        }
    }

    #[test]
    fn a_ticket_of_a_revoked_token_is_worth_nothing() {
        let (_dir, authority) = authority("operator");
        let (token, info) = authority.tokens.tests_token(Role::Agent);
        let grant = authority.identify(&token, None).unwrap();
        let tickets: Vec<String> = (0..2).map(|_| authority.tickets.issue(grant.clone())).collect();
        assert_eq!(authority.redeem(&tickets[0], None), Ok(grant));
        authority.tokens.revoke(&info.token_id).unwrap();
        assert_eq!(authority.redeem(&tickets[1], None), Err(Failed::Wrong));
        assert_eq!(authority.identify(&token, None), Err(Failed::Wrong));
    }
}
