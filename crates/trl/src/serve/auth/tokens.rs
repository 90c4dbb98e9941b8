//! The tokens there are: a small file of digests, replaced as a whole.
//!
//! 1. [`Tokens::find`] looks a digest up. The file is read again when it is another than before: several daemons of a
//!    user may share it, and what one revokes is revoked for all.
//! 2. [`Tokens::create`] and [`Tokens::revoke`] change it: lock, read, change, write beside it, rename.
//! 3. When a token was last used is remembered here and written along, at most once a minute.
//!
//! A file that cannot be read or trusted means no tokens, never all of them. The operator's token is not in it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use trl_core::private_file::{self, Durable};
use trl_proto::token::{Ceilings, CreateTokenParams, TokenInfo};
use trl_proto::{Error, ErrorCode, Role, TokenId};

use super::{Digest, digest, fresh_secret, same};

/// More than anybody keeps an eye on.
const MOST: usize = 1000;
const LONGEST_NAME: usize = 256;
/// How often the times of use are written.
const WRITE_USES: Duration = Duration::from_secs(60);

/// What the holder of a token is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::serve) struct Grant {
    pub(in crate::serve) id: TokenId,
    pub(in crate::serve) role: Role,
    pub(in crate::serve) ceilings: Ceilings,
}

pub(in crate::serve) struct Tokens {
    path: PathBuf,
    inner: Mutex<Inner>,
    /// One was revoked here.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Inner {
    records: Vec<Record>,
    /// The file as it was read.
    seen: Option<Seen>,
    /// Since the file was last written.
    used: HashMap<TokenId, Timestamp>,
    /// Not valid any more, whatever the file still says.
    revoked: HashSet<TokenId>,
    uses_written: Option<Instant>,
    complained: bool,
}

/// One version of the file; every change of it is a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    ino: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    sha256: String,
    #[serde(flatten)]
    info: TokenInfo,
    #[serde(skip)]
    digest: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    tokens: Vec<Record>,
}

const VERSION: u32 = 1;

impl Record {
    fn is_expired(&self) -> bool {
        let Some(text) = &self.info.expires_at else { return false };
        // A time nobody can read is one that has passed.
        text.parse::<Timestamp>().map_or(true, |at| at <= Timestamp::now())
    }

    fn matches(&self, presented: &Digest) -> bool {
        self.digest.is_some_and(|digest| same(&digest, presented))
    }
}

impl Tokens {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, inner: Mutex::default(), changed: Arc::new(Notify::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token of this digest, if there is one and it is still good.
    pub(super) fn find(&self, presented: &Digest) -> Option<Arc<Grant>> {
        let mut inner = self.lock();
        inner.refresh(&self.path);
        // All of them are looked at, wherever the right one stands.
        let mut found = None;
        for record in &inner.records {
            if record.matches(presented) {
                found = Some(record);
            }
        }
        let info = &found.filter(|record| !record.is_expired())?.info;
        let grant = Grant { id: info.token_id.clone(), role: info.role, ceilings: info.ceilings.clone() };
        inner.used.insert(grant.id.clone(), Timestamp::now());
        let due = inner.uses_written.is_none_or(|at| at.elapsed() >= WRITE_USES);
        drop(inner);
        if due {
            self.write_uses();
        }
        Some(Arc::new(grant))
    }

    pub(super) fn is_valid(&self, grant: &Grant) -> bool {
        let mut inner = self.lock();
        inner.refresh(&self.path);
        inner.records.iter().any(|r| r.info.token_id == grant.id && !r.is_expired())
    }

    /// Resolves after the next revocation by this daemon, counted from now.
    pub(super) fn changed(&self) -> OwnedNotified {
        Arc::clone(&self.changed).notified_owned()
    }

    pub(in crate::serve) fn list(&self) -> Result<Vec<TokenInfo>, Error> {
        let mut inner = self.lock();
        inner.records = read(&self.path).map_err(|e| self.failed(&e))?.0;
        let used = inner.used.clone();
        Ok(with_uses(inner.records.clone(), &used).into_iter().map(|record| record.info).collect())
    }

    /// Makes a token; this is the only time anybody sees it.
    pub(in crate::serve) fn create(&self, params: CreateTokenParams) -> Result<(String, TokenInfo), Error> {
        let token = fresh_secret("trl_");
        let info = new_info(params)?;
        let digest = digest(&token);
        let record = Record { sha256: hex(&digest), info: info.clone(), digest: Some(digest) };
        self.change(Durable::Yes, |records| {
            records.retain(|record| !record.is_expired());
            if records.len() >= MOST {
                let message = format!("there are {MOST} tokens, the most there may be");
                return Err(Error::new(ErrorCode::LimitExceeded, message).hint("revoke some"));
            }
            records.push(record);
            Ok(())
        })?;
        Ok((token, info))
    }

    pub(in crate::serve) fn revoke(&self, id: &TokenId) -> Result<(), Error> {
        {
            let mut inner = self.lock();
            inner.refresh(&self.path);
            if !inner.records.iter().any(|record| record.info.token_id == *id) {
                return Err(Error::invalid(format!("there is no token {id}")).hint("see token.list"));
            }
            // From here on, whether or not it can be written down.
            inner.revoked.insert(id.clone());
            inner.forget_revoked();
        }
        self.changed.notify_waiters();
        self.change(Durable::Yes, |_| Ok(())).map_err(|error| {
            error.hint("it is not accepted any more while this daemon runs; free space, and revoke another to write both down")
        })
    }

    /// When tokens were used is good to know, but nothing fails because it could not be written.
    pub(in crate::serve) fn write_uses(&self) {
        {
            let mut inner = self.lock();
            inner.uses_written = Some(Instant::now());
            if inner.used.is_empty() {
                return;
            }
        }
        if let Err(error) = self.change(Durable::No, |_| Ok(())) {
            tracing::warn!(%error, "the times of use of tokens could not be written");
        }
    }

    fn change(
        &self,
        durable: Durable,
        change: impl FnOnce(&mut Vec<Record>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut inner = self.lock();
        let _lock = private_file::lock_beside(&self.path).map_err(|e| self.failed(&e))?;
        let (records, _) = read(&self.path).map_err(|e| self.failed(&e))?;
        let mut records = with_uses(records, &inner.used);
        records.retain(|record| !inner.revoked.contains(&record.info.token_id));
        change(&mut records)?;
        inner.seen = Some(write(&self.path, &records, durable).map_err(|e| self.failed(&e))?);
        inner.records = records;
        inner.used.clear();
        Ok(())
    }

    fn failed(&self, cause: &io::Error) -> Error {
        tracing::error!(path = %self.path.display(), error = %cause, "the file of tokens");
        private_file::failed(format!("the file of tokens cannot be used: {cause}"), cause)
    }

    #[cfg(test)]
    pub(super) fn tests_token(&self, role: Role) -> (String, TokenInfo) {
        self.create(CreateTokenParams { name: "test".into(), role, expires_in_s: None, ceilings: None })
            .unwrap()
    }
}

impl Inner {
    fn forget_revoked(&mut self) {
        let Self { records, revoked, .. } = self;
        records.retain(|record| !revoked.contains(&record.info.token_id));
    }

    /// Reads the file again if it is another one.
    fn refresh(&mut self, path: &Path) {
        let now = fs::symlink_metadata(path).ok().map(|meta| Seen::of(&meta));
        if now == self.seen {
            return;
        }
        match read(path) {
            Ok((records, seen)) => {
                (self.records, self.seen, self.complained) = (records, seen, false);
                self.forget_revoked();
            }
            Err(error) => {
                self.records.clear();
                self.seen = None;
                if !std::mem::replace(&mut self.complained, true) {
                    tracing::error!(path = %path.display(), %error, "no token is accepted");
                }
            }
        }
    }
}

impl Seen {
    fn of(meta: &fs::Metadata) -> Self {
        Self { ino: meta.ino(), size: meta.size(), changed: (meta.ctime(), meta.ctime_nsec()) }
    }
}

fn new_info(params: CreateTokenParams) -> Result<TokenInfo, Error> {
    let CreateTokenParams { name, role, expires_in_s, ceilings } = params;
    if name.trim().is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
        return Err(Error::invalid(format!(
            "`name` must have 1 to {LONGEST_NAME} bytes, not be blank and hold no control characters"
        )));
    }
    if name.starts_with("tok-") {
        return Err(Error::invalid(format!("`name` is {name:?}, which looks like an id")));
    }
    let ceilings = ceilings.unwrap_or_default();
    if role != Role::Agent && !ceilings.is_empty() {
        return Err(Error::invalid("`ceilings` are for tokens of the role agent"));
    }
    let now = Timestamp::now();
    let expires_at = match trl_core::session::spec::seconds(expires_in_s, "expires_in_s")? {
        None => None,
        Some(after) if after.is_zero() => {
            return Err(Error::invalid("`expires_in_s` is 0: that token would be of no use")
                .hint("leave it out for one that does not expire"));
        }
        Some(after) => {
            let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
            Some(now.saturating_add(after).map_or_else(|_| text(now), text))
        }
    };
    Ok(TokenInfo {
        token_id: TokenId::random(),
        name,
        role,
        created_at: text(now),
        expires_at,
        last_used_at: None,
        ceilings,
    })
}

fn text(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn with_uses(mut records: Vec<Record>, used: &HashMap<TokenId, Timestamp>) -> Vec<Record> {
    for record in &mut records {
        if let Some(at) = used.get(&record.info.token_id) {
            record.info.last_used_at = Some(text(*at));
        }
    }
    records
}

/// No file is no tokens.
fn read(path: &Path) -> io::Result<(Vec<Record>, Option<Seen>)> {
    let Some((bytes, meta)) = private_file::read(path)? else { return Ok((Vec::new(), None)) };
    let contents: Contents = serde_json::from_slice(&bytes)?;
    if contents.version != VERSION {
        return Err(io::Error::other(format!("its version is {}, not {VERSION}", contents.version)));
    }
    let mut records = contents.tokens;
    for record in &mut records {
        record.digest = unhex(&record.sha256);
    }
    Ok((records, Some(Seen::of(&meta))))
}

fn write(path: &Path, records: &[Record], durable: Durable) -> io::Result<Seen> {
    let text = serde_json::to_vec_pretty(&Contents { version: VERSION, tokens: records.to_vec() })?;
    private_file::replace(path, &text, durable)?;
    // Renaming changes the time of change, so it is looked at afterwards.
    Ok(Seen::of(&fs::symlink_metadata(path)?))
}

fn hex(digest: &Digest) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    if text.len() != 2 * digest.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data/tokens.json");
        (dir, path)
    }

    fn is_good(tokens: &Tokens, token: &str) -> bool {
        tokens.find(&digest(token)).is_some()
    }

    #[test]
    fn a_token_is_revoked_also_when_that_cannot_be_written() {
        let (_dir, path) = world();
        let tokens = Tokens::at(path.clone());
        let (one, info) = tokens.tests_token(Role::Viewer);
        let (two, other) = tokens.tests_token(Role::Viewer);
        let in_the_way = path.with_extension(format!("json.{}", std::process::id()));
        fs::create_dir(&in_the_way).unwrap();
        let error = tokens.revoke(&info.token_id).unwrap_err();
        assert!(error.hint.unwrap().contains("not accepted any more"));
        assert!(!is_good(&tokens, &one) && is_good(&tokens, &two));
        assert!(is_good(&Tokens::at(path.clone()), &one), "the file still says so");
        fs::remove_dir(&in_the_way).unwrap();
        tokens.revoke(&other.token_id).unwrap();
        assert!(!is_good(&Tokens::at(path), &one), "written down with the next change");
    }

    #[test]
    fn a_token_is_kept_hashed_for_its_owner_only_and_survives() {
        let (_dir, path) = world();
        let (token, info) = Tokens::at(path.clone()).tests_token(Role::Viewer);
        let file = fs::read_to_string(&path).unwrap();
        assert!(
            !file.contains(&token) && !file.contains(&token[4..]) && file.contains(&hex(&digest(&token)))
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        let again = Tokens::at(path);
        let grant = again.find(&digest(&token)).unwrap();
        assert_eq!((&grant.id, grant.role), (&info.token_id, Role::Viewer));
        assert!(!is_good(&again, &token[..token.len() - 1]) && !is_good(&again, ""));
        assert!(again.list().unwrap()[0].last_used_at.is_some());
    }

    #[test]
    fn what_one_daemon_revokes_another_does_not_accept() {
        let (_dir, path) = world();
        let (one, other) = (Tokens::at(path.clone()), Tokens::at(path));
        let (token, info) = one.tests_token(Role::Agent);
        let grant = other.find(&digest(&token)).unwrap();
        assert!(other.is_valid(&grant));
        one.revoke(&info.token_id).unwrap();
        assert!(!other.is_valid(&grant) && !is_good(&other, &token) && !is_good(&one, &token));
        assert!(one.revoke(&info.token_id).is_err());
    }

    #[test]
    fn a_token_expires() {
        let (_dir, path) = world();
        let tokens = Tokens::at(path);
        let make = |expires_in_s| {
            let params =
                CreateTokenParams { name: "t".into(), role: Role::Agent, expires_in_s, ceilings: None };
            tokens.create(params).unwrap()
        };
        let (gone, _) = make(Some(1e-9));
        let (kept, info) = make(Some(3600.0));
        assert!(!is_good(&tokens, &gone) && is_good(&tokens, &kept));
        assert!(info.expires_at.unwrap() > info.created_at);
        assert_eq!(tokens.list().unwrap().len(), 1, "an expired one makes room with the next");
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_no_tokens_and_stays() {
        let (_dir, path) = world();
        let tokens = Tokens::at(path.clone());
        let (token, _) = tokens.tests_token(Role::Agent);
        let good = fs::read(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(!is_good(&tokens, &token));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(is_good(&tokens, &token));
        fs::write(&path, b"{").unwrap();
        assert!(!is_good(&tokens, &token) && tokens.list().is_err());
        assert!(
            tokens
                .create(CreateTokenParams {
                    name: "x".into(),
                    role: Role::Agent,
                    expires_in_s: None,
                    ceilings: None
                })
                .is_err()
        );
        assert_eq!(fs::read(&path).unwrap(), b"{", "what cannot be read is not replaced");
        fs::write(&path, good).unwrap();
        assert!(is_good(&tokens, &token));
    }

    #[test]
    fn odd_names_and_misplaced_ceilings_are_refused() {
        let (_dir, path) = world();
        let tokens = Tokens::at(path);
        let try_make = |name: &str, role, ceilings| {
            tokens.create(CreateTokenParams { name: name.into(), role, expires_in_s: None, ceilings })
        };
        for name in ["", " ", "a\nb", "tok-abc", &"x".repeat(300)] {
            assert!(try_make(name, Role::Agent, None).is_err(), "{name:?}");
        }
        let ceilings = Some(Ceilings { max_sessions: Some(1), ..Ceilings::default() });
        assert!(try_make("v", Role::Viewer, ceilings.clone()).is_err());
        assert!(try_make("a", Role::Agent, ceilings).is_ok());
    }
}
