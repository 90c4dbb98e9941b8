//! `/api/workspaces/{id}/files/{path}` and `/api/sessions/{id}/files/{path}`: whole files, in and out, of any size.
//!
//! 1. [`Address`] takes the path of a request apart. Names are bytes, percent-encoded.
//! 2. A GET opens the file, says how large it is, and goes on in [`feed`]: a few buffers go round between a thread that
//!    reads and the connection that writes. A client that does not take holds up only itself.
//! 3. A PUT goes into a draft while it arrives, and into its place when all of it is there.
//!
//! Who may do it, and where, is decided in [`super::super::files`] as for the methods of the wire.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method as Verb, Request, Response, StatusCode};
use trl_files::change::Depth;
use trl_files::list::{Found, Listed};
use trl_files::read::{Opened, fill};
use trl_files::write::{Draft, Expect, How, Was};
use trl_files::{Files, Kind, Meta, Rel};
use trl_proto::exec::Approval;
use trl_proto::fs::ChangeReply;
use trl_proto::{Error, ErrorCode, Method};

use super::super::files::asked::Change;
use super::super::files::calls::{REMOVED, listed, mode, parents, removed, written};
use super::super::files::{Doing, Lane, Target, Usable, told};
use super::super::principal::Principal;
use super::answer::{self, Answer, Refusal};
use super::guard::one;
use super::range::{Part, wanted};
use super::routes::json_of;
use super::{Door, Visit};

/// One read or write of a file.
const CHUNK: usize = 512 << 10;
/// Chunks on their way to the connection.
const AHEAD: usize = 2;
/// Entries of a directory that are listed.
const LISTED: usize = 10_000;

/// Whose file, and which.
pub(super) struct Address<'a> {
    owner: Owner,
    id: &'a str,
    path: &'a str,
}

#[derive(Clone, Copy)]
enum Owner {
    Workspace,
    Session,
}

impl<'a> Address<'a> {
    pub(super) fn find(path: &'a str) -> Option<Self> {
        let workspace = path.strip_prefix("/api/workspaces/").map(|rest| (Owner::Workspace, rest));
        let session = || path.strip_prefix("/api/sessions/").map(|rest| (Owner::Session, rest));
        let (owner, rest) = workspace.or_else(session)?;
        let (id, rest) = rest.split_once('/')?;
        let path = rest.strip_prefix("files").filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        (!id.is_empty()).then_some(Self { owner, id, path: path.trim_start_matches('/') })
    }

    fn target(&self) -> Result<Target, Error> {
        let id = String::from_utf8(decoded(self.id)?).map_err(|_| Error::invalid("the id is not UTF-8"))?;
        match self.owner {
            Owner::Workspace => Ok(Target::Workspace(id)),
            Owner::Session => id.parse().map(Target::Session).map_err(Error::invalid),
        }
    }

    fn path(&self) -> Result<Rel, Error> {
        Rel::parse(decoded(self.path)?).map_err(told)
    }
}

/// What `%xx` stands for.
fn decoded(text: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(Error::invalid("the address has a `%` without two hexadecimal digits"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or(0));
    }
    Ok(bytes)
}

/// The value of a flag or a word in the query.
fn asked<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn flag(query: &str, name: &str) -> Option<bool> {
    asked(query, name).map(|value| matches!(value, "1" | "true"))
}

/// What is done while a person is asked. A body cannot be kept for later, so nobody goes away meanwhile.
fn approval(query: &str) -> Result<Approval, Error> {
    match asked(query, "approval") {
        None | Some("wait") => Ok(Approval::Wait),
        Some("fail") => Ok(Approval::Fail),
        Some(other) => Err(Error::invalid(format!("`approval` is {other:?}; it may be `wait` or `fail`"))
            .hint("fs.write takes `return`, too")),
    }
}

fn done<T>(reply: ChangeReply<T>) -> Result<T, Error> {
    match reply {
        ChangeReply::Done(done) => Ok(done),
        ChangeReply::Waiting(_) => Err(Error::internal("nobody was to go away")),
    }
}

impl Visit {
    pub(super) async fn file(
        &self,
        address: Address<'_>,
        request: Request<Incoming>,
    ) -> Result<Answer, Refusal> {
        let principal = self.who(request.headers())?;
        let (method, doing) = match *request.method() {
            Verb::PUT => (Method::FsWrite, Doing::Writing),
            Verb::DELETE => (Method::FsRemove, Doing::Writing),
            _ => (Method::FsRead, Doing::Looking),
        };
        principal.may_call(method)?;
        let (path, target, server) = (address.path()?, address.target()?, &self.door.server);
        if let Target::Session(id) = &target
            && principal.session(&server.manager, id)?.spec.elsewhere.is_some()
        {
            // What is at that path here is something else.
            let error = Error::invalid("the files of this session are in a runtime elsewhere");
            return Err(error
                .hint("fs.read, fs.write and the others reach them, by POST /rpc as well")
                .into());
        }
        let usable = server.files.open(server, &principal, target, doing).await?;
        match method {
            Method::FsWrite => self.put(usable, path, request).await,
            Method::FsRemove => self.delete(usable, path, request.uri().query().unwrap_or_default()).await,
            _ => self.get(principal, usable.files, path, request.headers()).await,
        }
    }

    async fn get(
        &self,
        principal: Principal,
        files: Files,
        path: Rel,
        headers: &HeaderMap,
    ) -> Result<Answer, Refusal> {
        let service = &self.door.server.files;
        let opened = service.run(Lane::Quick, move || open(&files, &path)).await?;
        let opened = match opened {
            There::Dir(found) => return Ok(answer::json(StatusCode::OK, json_of(&listed(found)))),
            There::File(opened) => opened,
        };
        let tag = tag(&opened.meta);
        if one(headers, &header::IF_NONE_MATCH)?.is_some_and(|known| names(known, &tag)) {
            let mut answer = answer::empty(StatusCode::NOT_MODIFIED);
            describe(answer.headers_mut(), &opened.meta, &tag);
            return Ok(answer);
        }
        let fits = one(headers, &header::IF_RANGE)?.is_none_or(|wanted| wanted == tag);
        let range = one(headers, &header::RANGE)?.filter(|_| fits);
        let size = opened.meta.size;
        let part = wanted(range, size);
        let (status, from, length) = match part {
            Part::Whole => (StatusCode::OK, 0, size),
            Part::Some { from, length } => (StatusCode::PARTIAL_CONTENT, from, length),
            Part::Nothing => return Err(no_such_range(size)),
        };
        let place = service.transfer()?;
        let (chunks, body) = Channel::new(AHEAD);
        let mut answer = Response::new(answer::flowing(body));
        *answer.status_mut() = status;
        let out = answer.headers_mut();
        describe(out, &opened.meta, &tag);
        out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        out.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        if let Part::Some { .. } = part
            && let Ok(value) = HeaderValue::from_str(&format!("bytes {from}-{}/{size}", from + length - 1))
        {
            out.insert(header::CONTENT_RANGE, value);
        }
        let door = Arc::clone(&self.door);
        tokio::spawn(async move {
            let mut closing = door.server.closing.subscribe();
            tokio::select! {
                () = feed(&door, opened, from, length, chunks) => {}
                () = door.server.authority.ended(&principal) => {}
                _ = async { closing.wait_for(|c| *c).await.is_ok() } => {}
            }
            drop(place);
        });
        Ok(answer)
    }

    async fn put(&self, usable: Usable, path: Rel, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let service = &self.door.server.files;
        let query = request.uri().query().unwrap_or_default();
        let how = How {
            mode: asked(query, "mode").map(mode).transpose()?,
            parents: parents(flag(query, "create_dirs")),
            expect: expected(request.headers())?,
        };
        let announced: Option<u64> =
            one(request.headers(), &header::CONTENT_LENGTH)?.and_then(|length| length.parse().ok());
        if announced.is_some_and(|length| length > service.most_bytes()) {
            return Err(told(trl_files::Error::TooLarge { most: service.most_bytes() }).into());
        }
        let place = service.transfer()?;
        let conditional = how.expect != Expect::Anything;
        let refused = |error: Error| not_as_expected(error, conditional);
        let shown = announced.map_or_else(String::new, |length| format!(" ({length} bytes)"));
        let work = move |files: &Files| files.draft(&path, &how);
        let change = Change { lane: Lane::Quick, shown, mode: approval(query)?, work };
        let draft = done(change.make(&self.door.server, usable).await.map_err(refused)?)?;
        let draft = self.receive(draft, request.into_body()).await?;
        let made = service.run(Lane::Quick, move || draft.commit()).await.map_err(refused)?;
        drop(place);
        let status = if made.was == Was::Nothing { StatusCode::CREATED } else { StatusCode::OK };
        let mut answer = answer::json(status, json_of(&written(&made)));
        if let Ok(tag) = HeaderValue::from_str(&tag(&made.meta)) {
            answer.headers_mut().insert(header::ETAG, tag);
        }
        Ok(answer)
    }

    /// The body into the draft: what has come is written while more comes.
    async fn receive(&self, draft: Draft, mut body: Incoming) -> Result<Draft, Refusal> {
        let service = &self.door.server.files;
        let mut come = VecDeque::new();
        let mut writing = Box::pin(write(service, draft, VecDeque::new()));
        let (mut idle, mut over) = (None, false);
        loop {
            let bytes: usize = come.iter().map(Bytes::len).sum();
            if let Some(draft) = idle.take() {
                if over && come.is_empty() {
                    return Ok(draft);
                }
                if over || bytes >= CHUNK {
                    writing = Box::pin(write(service, draft, std::mem::take(&mut come)));
                    continue;
                }
                idle = Some(draft);
            }
            let wants_more = !over && bytes < 2 * CHUNK;
            tokio::select! {
                done = &mut writing, if idle.is_none() => idle = Some(done?),
                frame = tokio::time::timeout(self.door.request_timeout(), body.frame()), if wants_more => {
                    match frame {
                        Ok(None) => over = true,
                        Ok(Some(Ok(frame))) => come.extend(frame.into_data()),
                        Ok(Some(Err(_))) => return Err(broken(StatusCode::BAD_REQUEST, "the body is broken")),
                        Err(_) => {
                            return Err(broken(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"));
                        }
                    }
                }
            }
        }
    }

    async fn delete(&self, usable: Usable, path: Rel, query: &str) -> Result<Answer, Refusal> {
        let depth = if flag(query, "recursive") == Some(true) { Depth::All } else { Depth::One };
        let work = move |files: &Files| files.remove(&path, depth).map(|place| removed(&place));
        let change = Change { lane: Lane::Search, shown: REMOVED.into(), mode: approval(query)?, work };
        let gone = done(change.make(&self.door.server, usable).await?)?;
        Ok(answer::json(StatusCode::OK, json_of(&gone)))
    }
}

enum There {
    File(Opened),
    Dir(Found<Listed>),
}

fn open(files: &Files, path: &Rel) -> trl_files::Result<There> {
    match files.kind(path)? {
        Kind::Dir => files.list(path, 1, LISTED).map(There::Dir),
        _ => files.open(path).map(There::File),
    }
}

async fn write(
    service: &super::super::files::FileService,
    mut draft: Draft,
    pieces: VecDeque<Bytes>,
) -> Result<Draft, Error> {
    if pieces.is_empty() {
        return Ok(draft);
    }
    let write = move || {
        for piece in &pieces {
            draft.write(piece)?;
        }
        Ok(draft)
    };
    service.run(Lane::Quick, write).await
}

/// The bytes of a file into the body. When it turns out to be shorter than it was, so is the body, and the client knows
/// by its length.
async fn feed(door: &Door, opened: Opened, from: u64, length: u64, mut chunks: Sender<Bytes>) {
    let buffers = Buffers::default();
    let file = Arc::new(opened.file);
    let (mut offset, end) = (from, from + length);
    while offset < end {
        let most = usize::try_from(end - offset).unwrap_or(usize::MAX).min(CHUNK);
        let (file, mut lent) = (Arc::clone(&file), buffers.lend());
        let read = move || {
            let filled = fill(&file, &mut lent.bytes[..most], offset);
            lent.length = filled.unwrap_or(0);
            Ok(lent)
        };
        let Ok(lent) = door.server.files.run(Lane::Quick, read).await else { return };
        offset += lent.length as u64;
        if lent.length == 0 || chunks.send_data(Bytes::from_owner(lent)).await.is_err() {
            return;
        }
    }
}

/// Buffers that come back: fresh memory for every chunk would cost more than the copy.
#[derive(Default, Clone)]
struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

struct Lent {
    bytes: Vec<u8>,
    length: usize,
    home: Buffers,
}

impl Buffers {
    fn lend(&self) -> Lent {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lent { bytes: spare.unwrap_or_else(|| vec![0; CHUNK]), length: 0, home: self.clone() }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

fn tag(meta: &Meta) -> String {
    format!("\"{}\"", meta.version())
}

/// Whether a list of tags has this one.
fn names(list: &str, tag: &str) -> bool {
    list.trim() == "*" || list.split(',').any(|one| one.trim() == tag)
}

fn describe(headers: &mut HeaderMap, meta: &Meta, tag: &str) {
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.extend(HeaderValue::from_str(tag).ok().map(|tag| (header::ETAG, tag)));
    let time = jiff::Timestamp::from_second(meta.modified.0).unwrap_or_default();
    let time = HeaderValue::from_str(&time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    headers.extend(time.ok().map(|time| (header::LAST_MODIFIED, time)));
}

fn expected(headers: &HeaderMap) -> Result<Expect, Refusal> {
    let strip = |tag: &str| tag.trim().trim_matches('"').to_string();
    Ok(match (one(headers, &header::IF_MATCH)?, one(headers, &header::IF_NONE_MATCH)?) {
        (None, None) => Expect::Anything,
        (Some(tag), None) if tag.trim() != "*" && !tag.contains(',') => Expect::Version(strip(tag)),
        (None, Some("*")) => Expect::Nothing,
        _ => {
            let message = "conditions are `If-Match` with one ETag, or `If-None-Match: *`";
            return Err(Error::invalid(message).into());
        }
    })
}

/// What was asked for in a header is answered with the status that is for it.
fn not_as_expected(error: Error, conditional: bool) -> Refusal {
    if conditional && error.details.contains_key("reason") {
        return Refusal::new(StatusCode::PRECONDITION_FAILED, error.code, error.message);
    }
    error.into()
}

fn no_such_range(size: u64) -> Refusal {
    let refusal = Refusal::new(
        StatusCode::RANGE_NOT_SATISFIABLE,
        ErrorCode::InvalidParams,
        format!("the file has {size} bytes"),
    );
    match HeaderValue::from_str(&format!("bytes */{size}")) {
        Ok(value) => refusal.header(header::CONTENT_RANGE, value),
        Err(_) => refusal,
    }
}

fn broken(status: StatusCode, why: &str) -> Refusal {
    Refusal::new(status, ErrorCode::InvalidParams, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_once() {
        let parts =
            |path| Address::find(path).map(|a| (a.id.to_string(), a.path().unwrap().as_path().to_path_buf()));
        let expect = |id: &str, path: &str| Some((id.to_string(), path.into()));
        assert_eq!(parts("/api/workspaces/w/files/a/b%20c"), expect("w", "a/b c"));
        assert_eq!(parts("/api/workspaces/w/files"), expect("w", ""));
        assert_eq!(parts("/api/workspaces/w/files/"), expect("w", ""));
        assert_eq!(parts("/api/workspaces/w/files/%252e"), expect("w", "%2e"));
        assert_eq!(parts("/api/sessions/s-abc/files//etc"), expect("s-abc", "etc"));
        for none in
            ["/api/workspaces//files/a", "/api/workspaces/w/filesx", "/api/workspaces/w", "/api/x/w/files/a"]
        {
            assert!(Address::find(none).is_none(), "{none}");
        }
        for bad in ["%", "%4", "%zz"] {
            assert!(decoded(bad).is_err(), "{bad}");
        }
        assert_eq!(decoded("%ff%0A").unwrap(), b"\xff\n");
    }
}
