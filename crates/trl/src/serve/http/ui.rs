//! The web UI: the files that `cargo xtask ui` makes in `web/dist`, compiled in. A debug build reads them from there
//! instead, each time.
//!
//! 1. `/assets/NAME-HASH.EXT` never changes: it is kept by browsers for ever. It is there compressed, and sent so to those
//!    who take that; for others it is unpacked.
//! 2. Every other address that a person opens is a page of the application, which is one: `index.html`.
//! 3. Without a built UI a small page says how to get it.
//!
//! Nobody needs a token for these: there is nothing in them that is not in the binary.

use std::borrow::Cow;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use rust_embed::{Embed, EmbeddedFile};

use super::super::auth::fresh_secret;
use super::answer::{self, Answer};

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

const PAGE: &str = "index.html";
const NOT_BUILT: &str = include_str!("ui_missing.html");

/// Stands in the page for a number that is used once; see [`policy`].
const NONCE: &str = "TRL_NONCE";

/// What has a hash in its name may be kept for a year, which is as long as browsers are told anything.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(in crate::serve) fn is_built() -> bool {
    Files::get(PAGE).is_some()
}

/// The answer, if this address is one of the UI's.
pub(super) fn find(path: &str, verb: &Method, headers: &HeaderMap) -> Option<Answer> {
    if !matches!(*verb, Method::GET | Method::HEAD) || is_reserved(path) {
        return None;
    }
    let name = path.trim_start_matches('/');
    if name != PAGE
        && !name.ends_with(".gz")
        && let Some(answer) = file(name, headers)
    {
        return Some(answer);
    }
    (path == "/" || is_page(path, headers)).then(page)
}

/// Where a wrong address is a mistake of a program, which is not helped by a page.
fn is_reserved(path: &str) -> bool {
    ["/api", "/ws", "/rpc"]
        .iter()
        .any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// A person's browser asks for text/html, and for a name that is no file's.
fn is_page(path: &str, headers: &HeaderMap) -> bool {
    let wanted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    wanted.contains("text/html") && !path.contains('.') && !path.starts_with("/assets/")
}

fn file(name: &str, headers: &HeaderMap) -> Option<Answer> {
    let packed = Files::get(&packed(name));
    let is_sent_packed = packed.is_some() && takes_gzip(headers);
    let body = match packed {
        Some(file) if is_sent_packed => bytes(file),
        Some(file) => unpack(&file.data)?.into(),
        None => bytes(Files::get(name)?),
    };
    let mut answer = answer::of(StatusCode::OK, kind(name), body);
    let headers = answer.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if is_sent_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if name.starts_with("assets/") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    }
    Some(answer)
}

fn packed(name: &str) -> String {
    format!("{name}.gz")
}

/// What our own build has packed: a head without options, the contents, a sum and a length.
fn unpack(gzip: &[u8]) -> Option<Vec<u8>> {
    const HEAD: usize = 10;
    const TAIL: usize = 8;
    let deflated = gzip.get(HEAD..gzip.len().checked_sub(TAIL)?)?;
    inflate(deflated)
}

/// What the build has packed.
pub(super) fn inflate(deflated: &[u8]) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec(deflated).ok()
}

fn bytes(file: EmbeddedFile) -> hyper::body::Bytes {
    match file.data {
        Cow::Borrowed(bytes) => hyper::body::Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    named.is_some_and(|list| list.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("gzip")))
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// The application, or what stands for it.
fn page() -> Answer {
    let built = Files::get(PAGE).and_then(|file| String::from_utf8(file.data.into_owned()).ok());
    let nonce = fresh_secret("");
    let text = built.as_deref().unwrap_or(NOT_BUILT).replace(NONCE, &nonce);
    let mut answer = answer::of(StatusCode::OK, kind(PAGE), text);
    if let Ok(policy) = HeaderValue::from_str(&policy(&nonce)) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// Nothing comes from or goes to anywhere else, and no script stands in the page. xterm.js makes style sheets as it runs,
/// whose rules depend on fonts and colours: they carry the nonce. It and React also set `style` attributes, which can
/// name no other element.
fn policy(nonce: &str) -> String {
    [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "manifest-src 'self'",
        &format!("style-src-elem 'self' 'nonce-{nonce}'"),
        "style-src-attr 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, accept: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        find(path, &Method::GET, &headers).is_some()
    }

    #[test]
    fn pages_are_for_people_and_refusals_for_programs() {
        let person = "text/html,application/xhtml+xml";
        for (path, accept, is_page) in [
            ("/", person, true),
            ("/", "*/*", true),
            ("/sessions/s-abc", person, true),
            ("/sessions/s-abc", "*/*", false),
            ("/assets/gone-123.js", person, false),
            ("/favicon.gone", person, false),
            ("/api/nothing", person, false),
            ("/ws", person, false),
            ("/rpc/", person, false),
            ("/apis", person, true),
        ] {
            assert_eq!(asked(path, accept), is_page, "{path} {accept}");
        }
        assert!(find("/", &Method::POST, &HeaderMap::new()).is_none());
    }

    #[test]
    fn a_page_has_a_nonce_of_its_own_and_no_inline_script() {
        let policy =
            |answer: &Answer| answer.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_string();
        let (one, two) = (policy(&page()), policy(&page()));
        assert_ne!(one, two);
        assert!(one.contains("script-src 'self';") && one.contains("frame-ancestors 'none'"), "{one}");
        assert!(NOT_BUILT.contains(NONCE) && !NOT_BUILT.contains("<script"));
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        // `printf hello | gzip -n9`
        let packed = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
        assert_eq!(unpack(packed).unwrap(), b"hello");
        assert!(unpack(&packed[..9]).is_none() && unpack(b"").is_none());
    }

    #[test]
    fn compression_is_for_those_who_name_it() {
        for (value, takes) in
            [("gzip, deflate, br", true), ("br,GZIP", true), ("br", false), ("xgzip", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(takes_gzip(&headers), takes, "{value}");
        }
    }
}
