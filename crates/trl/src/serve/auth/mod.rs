//! Who presents what: from a token or a ticket to a [`Principal`].
//!
//! 1. The operator's token ([`operator`]) is the first there is; the others are made with it and kept in [`tokens`].
//! 2. A browser cannot send a token with its WebSocket: it gets a ticket for one, good once and briefly ([`tickets`]).
//! 3. Who fails too often is made to wait ([`failures`]).
//!
//! Tokens are 256 random bits, so what is kept of one is its plain SHA-256: there is no dictionary to try against it,
//! and a slow hash would only be a way to keep the daemon busy. What was presented is compared by its digest, in
//! constant time.

pub(super) mod failures;
pub(super) mod operator;
pub(super) mod tickets;
pub(super) mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;
use trl_proto::Role;

use self::tickets::Tickets;
use self::tokens::{Grant, Tokens};
use super::principal::Principal;
use crate::config::Secret;

/// What is kept and compared in place of a secret.
pub(super) type Digest = [u8; 32];

pub(super) fn digest(secret: &str) -> Digest {
    Sha256::digest(secret.as_bytes()).into()
}

pub(super) fn same(a: &Digest, b: &Digest) -> bool {
    a.ct_eq(b).into()
}

/// A secret nobody can guess, in letters that need no quoting anywhere.
pub(super) fn fresh_secret(prefix: &str) -> String {
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
}

/// How a token is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    Usual,
    /// Whoever asks has failed often: a token that could be guessed is not accepted now, not even the right one.
    Suspicious,
}

impl Authority {
    pub(super) fn new(operator: &Secret, data_dir: &Path, ticket_ttl: Duration) -> Self {
        Self {
            operator: digest(operator.expose()),
            guessable: operator.expose().len() < HARD_TO_GUESS,
            tokens: Tokens::at(data_dir.join("tokens.json")),
            tickets: Tickets::new(ticket_ttl),
        }
    }

    /// Whose token this is.
    pub(super) fn identify(&self, presented: &str, care: Care) -> Option<Principal> {
        let presented = digest(presented);
        if same(&presented, &self.operator) {
            let refused = self.guessable && care == Care::Suspicious;
            return (!refused).then_some(Principal::Role(Role::Operator));
        }
        self.tokens.find(&presented).map(Principal::Token)
    }

    /// Whose ticket this was.
    pub(super) fn redeem(&self, ticket: &str) -> Option<Principal> {
        self.tickets.redeem(&digest(ticket)).filter(|principal| self.is_valid(principal))
    }

    /// Tokens end; all others stay who they are.
    pub(super) fn is_valid(&self, principal: &Principal) -> bool {
        match principal {
            Principal::Token(grant) => self.tokens.is_valid(grant),
            Principal::Role(_) | Principal::Inside(_) => true,
        }
    }

    /// Resolves when the principal's token has ended; never for all others.
    pub(super) async fn ended(&self, principal: &Principal) {
        match principal {
            Principal::Token(grant) => self.token_ended(grant).await,
            Principal::Role(_) | Principal::Inside(_) => std::future::pending().await,
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
        let authority = Authority::new(&secret, dir.path(), Duration::from_secs(30));
        (dir, authority)
    }

    #[test]
    fn a_short_token_cannot_be_tried_without_end() {
        let (_dir, short) = authority("hunter2");
        assert!(short.identify("hunter2", Care::Usual).is_some());
        assert!(short.identify("hunter2", Care::Suspicious).is_none());
        let long = "x".repeat(64);
        let (_dir, strong) = authority(&long);
        assert!(strong.identify(&long, Care::Suspicious).is_some());
        assert!(strong.identify("hunter2", Care::Usual).is_none());
    }

    #[test]
    fn a_ticket_of_a_revoked_token_is_worth_nothing() {
        let (_dir, authority) = authority("operator");
        let (token, info) = authority.tokens.tests_token(Role::Agent);
        let grant = authority.identify(&token, Care::Usual).unwrap();
        let tickets: Vec<String> = (0..2).map(|_| authority.tickets.issue(grant.clone())).collect();
        assert_eq!(authority.redeem(&tickets[0]), Some(grant));
        authority.tokens.revoke(&info.token_id).unwrap();
        assert_eq!(authority.redeem(&tickets[1]), None);
        assert_eq!(authority.identify(&token, Care::Usual), None);
    }
}
