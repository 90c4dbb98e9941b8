//! Who is asking: a bearer token, a ticket, or what the kernel says of a peer on a Unix socket.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, StatusCode, Uri};
use trl_proto::ErrorCode;

use super::super::auth::Failed;
use super::super::principal::Principal;
use super::Visit;
use super::answer::Refusal;
use super::guard::{Page, one};
use super::listener::Peer;

impl Visit {
    /// Who this is, by the token it brings.
    pub(super) fn who(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let principal = self.identify(headers)?;
        self.placed(principal)
    }

    /// The principal, whose connection has its place now.
    fn placed(&self, principal: Principal) -> Result<Principal, Refusal> {
        if let Some(place) = &self.place {
            place.prove(&principal)?;
        }
        Ok(principal)
    }

    fn identify(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        match (bearer(headers)?, &self.peer) {
            (Some(token), _) => self.let_in(self.door.server.authority.identify(token, self.address())),
            (None, Peer::Known(principal)) => Ok(principal.clone()),
            (None, Peer::Address(_)) => Err(unauthorized("there is no token")
                .hint("send `Authorization: Bearer TOKEN`; `trl token new` makes one")),
        }
    }

    /// As [`Visit::who`], for those who cannot send headers: a ticket in the address, and then only from a page that
    /// the browser vouches for.
    pub(super) fn who_by_ticket(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        page: &Page,
    ) -> Result<Principal, Refusal> {
        match (bearer(headers)?, ticket(uri)) {
            (None, Some(_)) if *page == Page::None => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                ErrorCode::Forbidden,
                "a ticket needs the Origin of the page it was given to",
            )
            .hint("programs send their token in the Authorization header")),
            (None, Some(ticket)) => {
                let principal = self.let_in(self.door.server.authority.redeem(ticket, self.address()))?;
                self.placed(principal)
            }
            _ => self.who(headers),
        }
    }

    fn let_in(&self, found: Result<Principal, Failed>) -> Result<Principal, Refusal> {
        match (found, &self.peer) {
            // No token raises a process inside a session or a terminal.
            (Ok(_), Peer::Known(inside)) if inside.pinned_to().is_some() => Ok(inside.clone()),
            (Ok(principal), _) => Ok(principal),
            (Err(failed), _) => {
                self.door.counters.auth_failures.fetch_add(1, Ordering::Relaxed);
                Err(refusal(failed))
            }
        }
    }

    /// What wrong tokens are counted by.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match &self.peer {
            Peer::Address(address) => Some(*address),
            Peer::Known(_) => None,
        }
    }
}

fn refusal(failed: Failed) -> Refusal {
    match failed {
        Failed::Wrong => unauthorized("the token is not valid"),
        Failed::Wait(left) => Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::AuthFailed,
            "too many wrong tokens came from this address",
        )
        .header(header::RETRY_AFTER, HeaderValue::from(left.as_secs() + 1)),
    }
}

fn unauthorized(message: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, ErrorCode::AuthFailed, message)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"trl\""))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let Some(value) = one(headers, &header::AUTHORIZATION)? else { return Ok(None) };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(unauthorized("the Authorization header must be `Bearer TOKEN`")),
    }
}

/// Tickets are letters and digits, so nothing needs decoding.
fn ticket(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("ticket="))
}
