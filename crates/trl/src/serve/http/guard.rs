//! Requests that a foreign web page could have caused: whom they were meant for (`Host`), and whose page it was
//! (`Origin`). Looked at before anything else, on every request.
//!
//! - A page whose name its owner lets point to this machine (DNS rebinding) calls us by that name. So we answer to our
//!   address, to `localhost` and to configured names only; an address cannot be rebound.
//! - A page of another origin may send requests and open WebSockets; browsers say whose it is. Only pages of our own
//!   origin and configured ones may.

use std::net::IpAddr;

use hyper::header::{self, HeaderName};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Uri};
use trl_proto::ErrorCode;

use super::answer::Refusal;
use crate::config::{HttpAddr, HttpSettings};

pub(super) struct Guard {
    names: Names,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Which addresses in `Host` are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Loopback,
    AnyAddress,
    /// No name leads to a Unix socket.
    Any,
}

/// The web page a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// No page, as far as it says.
    None,
    Ours,
    /// Of another origin, which may read our answers.
    Allowed(String),
}

impl Guard {
    pub(super) fn new(settings: &HttpSettings, bound: &HttpAddr) -> Self {
        let names = match bound {
            HttpAddr::Unix(_) => Names::Any,
            HttpAddr::Tcp(_) if bound.is_local() => Names::Loopback,
            HttpAddr::Tcp(_) => Names::AnyAddress,
        };
        let origins = settings.allowed_origins.iter().map(|o| o.trim_end_matches('/').to_string());
        Self { names, hosts: settings.allowed_hosts.clone(), origins: origins.collect() }
    }

    /// Was this meant for us, by somebody who may? Says which page it was.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Page, Refusal> {
        let host = one(headers, &header::HOST)?.ok_or_else(|| bad("there is no Host header"))?;
        let named = uri.authority().map(Authority::as_str);
        if !self.is_ours(host) || named.is_some_and(|named| !self.is_ours(named)) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                ErrorCode::Forbidden,
                "this daemon does not go by that name",
            )
            .hint("use its address, or add the name to http.allowed_hosts"));
        }
        let Some(origin) = one(headers, &header::ORIGIN)? else { return Ok(Page::None) };
        if is_same(origin, host) {
            return Ok(Page::Ours);
        }
        match self.origins.iter().find(|allowed| allowed.eq_ignore_ascii_case(origin)) {
            Some(_) => Ok(Page::Allowed(origin.to_string())),
            None => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                ErrorCode::Forbidden,
                "pages of that origin may not use this daemon",
            )
            .hint("add the origin to http.allowed_origins")),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if host.contains('@') {
            return false;
        }
        let name = authority.host();
        if self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(name) || ours.eq_ignore_ascii_case(host)) {
            return true;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match (self.names, address) {
            (Names::Any, _) | (Names::AnyAddress, Ok(_)) => true,
            (Names::Loopback, Ok(address)) => address.to_canonical().is_loopback(),
            (Names::Loopback | Names::AnyAddress, Err(_)) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// A page that we sent, or that something in front of us sent for us.
fn is_same(origin: &str, host: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

fn bad(message: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, message)
}

/// The only value of a header; two may mean two things to two readers.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| bad(&format!("the header {name} is not text")))
        }
        (Some(_), Some(_)) => Err(bad(&format!("the header {name} is there twice"))),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn guard(bound: &str, hosts: &[&str], origins: &[&str]) -> Guard {
        let strings = |items: &[&str]| items.iter().map(|s| s.to_string()).collect();
        let settings = HttpSettings {
            allowed_hosts: strings(hosts),
            allowed_origins: strings(origins),
            ..HttpSettings::default()
        };
        Guard::new(&settings, &bound.parse().unwrap())
    }

    fn ask(guard: &Guard, host: &str, origin: Option<&str>) -> Option<Page> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        guard.check(&"/rpc".parse().unwrap(), &headers).ok()
    }

    #[test]
    fn names_that_can_be_rebound_are_not_ours() {
        let local = guard("127.0.0.1:7870", &["box.example"], &[]);
        let remote = guard("0.0.0.0:7870", &[], &[]);
        let unix = guard("unix:/x/y", &[], &[]);
        for (host, at_local, at_remote) in [
            ("127.0.0.1:7870", true, true),
            ("localhost", true, true),
            ("LOCALHOST:9000", true, true),
            ("[::1]:7870", true, true),
            ("box.example:7870", true, false),
            ("192.168.0.7:7870", false, true),
            ("evil.example:7870", false, false),
            ("127.0.0.1.evil.example", false, false),
            ("localhost.evil.example", false, false),
            ("localhost.", false, false),
            ("localhost@evil.example", false, false),
            ("evil.example@localhost", false, false),
            ("", false, false),
            ("a b", false, false),
        ] {
            assert_eq!(ask(&local, host, None).is_some(), at_local, "{host}");
            assert_eq!(ask(&remote, host, None).is_some(), at_remote, "{host}");
        }
        assert!(ask(&unix, "anything", None).is_some());
    }

    #[test]
    fn pages_of_other_origins_are_refused_unless_named() {
        let guard = guard("127.0.0.1:7870", &[], &["https://ui.example/"]);
        let host = "127.0.0.1:7870";
        assert_eq!(ask(&guard, host, None), Some(Page::None));
        assert_eq!(ask(&guard, host, Some("http://127.0.0.1:7870")), Some(Page::Ours));
        assert_eq!(
            ask(&guard, host, Some("https://ui.example")),
            Some(Page::Allowed("https://ui.example".into()))
        );
        for origin in [
            "http://evil.example",
            "http://127.0.0.1:3000",
            "http://localhost:7870",
            "null",
            "",
            "file://",
            "https://ui.example.evil",
            "127.0.0.1:7870",
        ] {
            assert_eq!(ask(&guard, host, Some(origin)), None, "{origin}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_is_refused() {
        let guard = guard("127.0.0.1:7870", &[], &[]);
        let mut headers = HeaderMap::new();
        assert!(guard.check(&"/".parse().unwrap(), &headers).is_err(), "no Host");
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&"/".parse().unwrap(), &headers).is_ok());
        assert!(guard.check(&"http://evil.example/".parse().unwrap(), &headers).is_err());
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&"/".parse().unwrap(), &headers).is_err());
    }
}
