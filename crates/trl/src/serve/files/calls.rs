//! `fs.*` and `workspace.*`: one function per method, parameters in, a result out.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::watch;
use trl_files::change::{Depth, Replace};
use trl_files::glob::Hidden;
use trl_files::grep::{Case, Hit, Query, Syntax};
use trl_files::list::{Found, Listed};
use trl_files::read::Seen;
use trl_files::watch::Below;
use trl_files::write::{Expect, How, Parents, Was, Written};
use trl_files::{Files, Kind, Meta, Rel};
use trl_proto::fs::{
    self, ChangeReply, DirMade, FileInfo, FileKind, FileList, FileMoved, FilePath, FileRemoved, FileSlice,
    FileWritten, GlobParams, Globbed, GrepParams, ListParams, Match, Matches, MkdirParams, MoveParams,
    ReadParams, RemoveParams, StatParams, WatchParams, Watching, WriteParams, decode_path, encode_path,
};
use trl_proto::system::NoParams;
use trl_proto::text::{decode, incomplete_tail};
use trl_proto::workspace::{CreateParams, WorkspaceInfo, WorkspaceList, WorkspaceParams};
use trl_proto::{Dialect, Encoding, Error, ErrorCode, Role, SessionId, StreamId, Text};

use super::asked::Change;
use super::changes::Changes;
use super::{Doing, FileService, Lane, Target, Usable, told};
use crate::serve::connection::Hears;
use crate::serve::rpc::Call;

/// What is found when nobody says how much is wanted, and the most.
const USUAL: u64 = 1000;
const MOST: u64 = 10_000;
const DEEPEST: u64 = 64;
const MOST_CONTEXT: u64 = 100;
/// A reply larger than this helps nobody; the rest is one request away.
const USUAL_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 4 << 20;

type Outcome<T> = Result<T, Error>;

pub(in crate::serve) fn path(path: Option<String>, encoding: Option<Encoding>) -> Outcome<Rel> {
    Rel::parse(decode_path(path, encoding)?).map_err(told)
}

fn bounded(asked: Option<u64>, usual: u64, most: u64) -> usize {
    usize::try_from(asked.unwrap_or(usual).clamp(1, most)).unwrap_or(usize::MAX)
}

impl Call<'_> {
    pub(in crate::serve) fn files(&self) -> &FileService {
        &self.client.server.files
    }

    async fn open_files(
        &self,
        session_id: Option<SessionId>,
        workspace_id: Option<String>,
        doing: Doing,
    ) -> Outcome<Usable> {
        let (target, server) = (Target::of(session_id, workspace_id)?, &self.client.server);
        let usable = match &self.barrier {
            Some(barrier) => {
                self.files().open_behind(server, &self.principal, target, Arc::clone(barrier)).await?
            }
            None => self.files().open(server, &self.principal, target, doing).await?,
        };
        Ok(Usable { leaving: self.leaving(), ..usable })
    }

    // ---- workspaces

    pub(in crate::serve) async fn create_workspace(&self) -> Outcome<WorkspaceInfo> {
        let CreateParams { workspace_id, dir } = self.request.params()?;
        if dir.is_some() && self.principal.role() != Role::Operator {
            return Err(Error::new(ErrorCode::Forbidden, "a directory is for the operator to give")
                .hint("without `dir` the workspace gets one of its own"));
        }
        self.principal.may_name_workspace(&workspace_id)?;
        let (workspaces, owner) = (Arc::clone(&self.files().workspaces), self.caller().name);
        let made = move || workspaces.create(&workspace_id, dir.as_deref().map(Path::new), &owner);
        self.files().run_any(Lane::Quick, made).await
    }

    pub(in crate::serve) fn list_workspaces(&self) -> Outcome<WorkspaceList> {
        let NoParams {} = self.request.params()?;
        let mut workspaces = self.files().workspaces.list()?;
        workspaces.retain(|workspace| self.principal.may_use_workspace(workspace).is_ok());
        Ok(WorkspaceList { workspaces })
    }

    pub(in crate::serve) async fn get_workspace(&self) -> Outcome<WorkspaceInfo> {
        let WorkspaceParams { workspace_id } = self.request.params()?;
        self.files().workspace(&self.principal, &workspace_id, Doing::Looking).await
    }

    /// Where something in a workspace begins, unless it says where itself.
    pub(in crate::serve) async fn dir_in_workspace(&self, id: &str, doing: Doing) -> Outcome<Option<String>> {
        match self.files().workspace(&self.principal, id, doing).await {
            Ok(workspace) => Ok(Some(workspace.dir)),
            Err(e) if e.code == ErrorCode::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    // ---- looking

    pub(in crate::serve) async fn fs_list(&self) -> Outcome<FileList> {
        let params: ListParams = self.request.params()?;
        let path = path(params.path, params.path_encoding)?;
        let (depth, limit) = (bounded(params.depth, 1, DEEPEST), bounded(params.limit, USUAL, MOST));
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let found = self.files().run(Lane::Search, move || files.list(&path, depth, limit)).await?;
        Ok(listed(found))
    }

    pub(in crate::serve) async fn fs_stat(&self) -> Outcome<FileInfo> {
        let params: StatParams = self.request.params()?;
        let path = path(params.path, params.path_encoding)?;
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let seen = self.files().run(Lane::Quick, move || files.stat(&path)).await?;
        Ok(info(seen))
    }

    pub(in crate::serve) async fn fs_read(&self) -> Outcome<FileSlice> {
        let params: ReadParams = self.request.params()?;
        let path = path(Some(params.path), params.path_encoding)?;
        let (offset, limit) = (params.offset.unwrap_or(0), bounded(params.limit, USUAL_BYTES, MOST_BYTES));
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let piece = self.files().run(Lane::Quick, move || files.read(&path, offset, limit)).await?;
        let mut bytes = &piece.bytes[..];
        // A character cut by the limit comes whole with the next slice; one cut by the end comes as it is.
        let tail = incomplete_tail(bytes);
        if tail < bytes.len() && offset + (bytes.len() as u64) < piece.size {
            bytes = &bytes[..bytes.len() - tail];
        }
        let next = offset.saturating_add(bytes.len() as u64);
        let text = if self.dialect() == Dialect::Plain { Text::lossy(bytes) } else { Text::exact(bytes) };
        Ok(FileSlice {
            data: text.data.into_owned(),
            encoding: text.encoding,
            offset,
            size: piece.size,
            next: (next < piece.size).then_some(next),
            version: piece.version,
        })
    }

    pub(in crate::serve) async fn fs_glob(&self) -> Outcome<Globbed> {
        let params: GlobParams = self.request.params()?;
        let path = path(params.path, params.path_encoding)?;
        let (hidden, limit) = (hidden(params.include_ignored), bounded(params.limit, USUAL, MOST));
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let search = move || files.glob(&path, &params.pattern, hidden, limit);
        let found = self.files().run(Lane::Search, search).await?;
        let files = found.items.iter().map(|place| {
            let (path, path_encoding) = shown(place);
            FilePath { path, path_encoding }
        });
        Ok(Globbed { files: files.collect(), truncated: found.truncated })
    }

    pub(in crate::serve) async fn fs_grep(&self) -> Outcome<Matches> {
        let params: GrepParams = self.request.params()?;
        let path = path(params.path, params.path_encoding)?;
        let query = Query {
            pattern: params.pattern,
            syntax: if params.literal == Some(true) { Syntax::Literal } else { Syntax::Regex },
            case: if params.ignore_case == Some(true) { Case::Ignored } else { Case::Matters },
            glob: params.glob,
            context: usize::try_from(params.context.unwrap_or(0).min(MOST_CONTEXT)).unwrap_or(0),
            hidden: hidden(params.include_ignored),
            limit: bounded(params.limit, USUAL, MOST),
        };
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let found = self.files().run(Lane::Search, move || files.grep(&path, &query)).await?;
        Ok(Matches { matches: found.items.into_iter().map(matched).collect(), truncated: found.truncated })
    }

    pub(in crate::serve) async fn fs_watch(&self) -> Outcome<(Watching, Changes)> {
        let params: WatchParams = self.request.params()?;
        self.hears_pushes()?;
        let path = path(params.path, params.path_encoding)?;
        let place = self.files().watch_place()?;
        let below = if params.recursive == Some(true) { Below::All } else { Below::One };
        let files = self.open_files(params.session_id, params.workspace_id, Doing::Looking).await?.files;
        let watch = self.files().run(Lane::Search, move || files.watch(&path, below)).await?;
        let watching = Watching { stream_id: StreamId::random(), truncated: watch.is_incomplete() };
        let changes = Changes::new(watching.stream_id.clone(), self.dialect(), watch, place)?;
        Ok((watching, changes))
    }

    /// Who gives a plain HTTP request up is gone. On a connection it may have closed its writing side alone, and still
    /// wants to be answered.
    pub(in crate::serve) fn leaving(&self) -> Option<watch::Receiver<bool>> {
        (self.client.hears == Hears::Replies).then(|| self.client.gone.subscribe())
    }

    pub(in crate::serve) fn hears_pushes(&self) -> Outcome<()> {
        match self.client.hears {
            Hears::Pushes => Ok(()),
            Hears::Replies => {
                Err(Error::invalid("a plain HTTP request cannot be pushed to").hint("use WS /ws/rpc"))
            }
        }
    }

    // ---- changing

    pub(in crate::serve) async fn fs_write(&self) -> Outcome<ChangeReply<FileWritten>> {
        let params: WriteParams = self.request.params()?;
        let path = path(Some(params.path), params.path_encoding)?;
        let bytes = decode(params.data, params.encoding.unwrap_or_default())?;
        let how = How {
            mode: params.mode.as_deref().map(mode).transpose()?,
            parents: parents(params.create_dirs),
            expect: match params.if_version {
                None => Expect::Anything,
                Some(version) if version.is_empty() => Expect::Nothing,
                Some(version) => Expect::Version(version),
            },
        };
        let usable = self.open_files(params.session_id, params.workspace_id, Doing::Writing).await?;
        let shown = if usable.is_judged() { contents(&bytes) } else { String::new() };
        let work = move |files: &Files| files.write(&path, &bytes, &how).map(|done| written(&done));
        self.change(
            usable,
            Change { lane: Lane::Quick, shown, mode: params.approval.unwrap_or_default(), work },
        )
        .await
    }

    pub(in crate::serve) async fn fs_mkdir(&self) -> Outcome<ChangeReply<DirMade>> {
        let params: MkdirParams = self.request.params()?;
        let path = path(Some(params.path), params.path_encoding)?;
        let parents = parents(params.create_dirs);
        let usable = self.open_files(params.session_id, params.workspace_id, Doing::Writing).await?;
        let work = move |files: &Files| {
            let (place, was) = files.mkdir(&path, parents)?;
            let (path, path_encoding) = shown(&place);
            Ok(DirMade { path, path_encoding, created: was == Was::Nothing })
        };
        let (shown, mode) = (A_DIRECTORY.into(), params.approval.unwrap_or_default());
        self.change(usable, Change { lane: Lane::Quick, shown, mode, work }).await
    }

    pub(in crate::serve) async fn fs_move(&self) -> Outcome<ChangeReply<FileMoved>> {
        let params: MoveParams = self.request.params()?;
        let from = path(Some(params.path), params.path_encoding)?;
        let to = path(Some(params.to), params.to_encoding)?;
        let replace = if params.overwrite == Some(true) { Replace::Allowed } else { Replace::Never };
        let usable = self.open_files(params.session_id, params.workspace_id, Doing::Writing).await?;
        let moved = moved(&from, &to);
        let work = move |files: &Files| {
            let (old, new) = files.rename(&from, &to, replace)?;
            let ((path, path_encoding), (to, to_encoding)) = (shown(&old), shown(&new));
            Ok(FileMoved { path, path_encoding, to, to_encoding })
        };
        let mode = params.approval.unwrap_or_default();
        self.change(usable, Change { lane: Lane::Search, shown: moved, mode, work }).await
    }

    pub(in crate::serve) async fn fs_remove(&self) -> Outcome<ChangeReply<FileRemoved>> {
        let params: RemoveParams = self.request.params()?;
        let path = path(Some(params.path), params.path_encoding)?;
        let depth = if params.recursive == Some(true) { Depth::All } else { Depth::One };
        let usable = self.open_files(params.session_id, params.workspace_id, Doing::Writing).await?;
        let work = move |files: &Files| files.remove(&path, depth).map(|place| removed(&place));
        let mode = params.approval.unwrap_or_default();
        self.change(usable, Change { lane: Lane::Search, shown: REMOVED.into(), mode, work }).await
    }

    async fn change<T, F>(&self, usable: Usable, change: Change<F>) -> Outcome<ChangeReply<T>>
    where
        T: Send + 'static,
        F: Fn(&Files) -> trl_files::Result<T> + Send + Sync + 'static,
    {
        change.make(&self.client.server, usable).await
    }
}

/// What a person sees of something that is removed, or of a directory that is made.
pub(in crate::serve) const REMOVED: &str = " (removed)";
pub(in crate::serve) const A_DIRECTORY: &str = " (a directory)";

pub(in crate::serve) fn moved(from: &Rel, to: &Rel) -> String {
    format!(" ({} is moved to {})", from.as_path().display(), to.as_path().display())
}

/// What a person sees of what is written: enough that a yes is to this and nothing else.
pub(in crate::serve) fn contents(bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(" ({} bytes, sha256 {hash}...)", bytes.len())
}

fn hidden(include_ignored: Option<bool>) -> Hidden {
    if include_ignored == Some(true) { Hidden::Searched } else { Hidden::LeftOut }
}

pub(in crate::serve) fn parents(create_dirs: Option<bool>) -> Parents {
    if create_dirs == Some(true) { Parents::Make } else { Parents::MustExist }
}

/// Permission bits in octal digits; no more than those.
pub(in crate::serve) fn mode(text: &str) -> Outcome<u32> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| Error::invalid(format!("`mode` is {text:?}; it must be octal digits up to 0777")))
}

/// A place as the wire has it.
pub(in crate::serve) fn shown(place: &Path) -> (String, Option<Encoding>) {
    encode_path(place.as_os_str().as_bytes())
}

pub(in crate::serve) fn removed(place: &Path) -> FileRemoved {
    let (path, path_encoding) = shown(place);
    FileRemoved { path, path_encoding }
}

pub(in crate::serve) fn written(done: &Written) -> FileWritten {
    let (path, path_encoding) = shown(&done.place);
    let created = done.was == Was::Nothing;
    FileWritten { path, path_encoding, size: done.meta.size, created, version: done.meta.version() }
}

pub(in crate::serve) fn listed(found: Found<Listed>) -> FileList {
    let entry = |Listed { place, meta }| info(Seen { place, meta, target: None });
    FileList { entries: found.items.into_iter().map(entry).collect(), truncated: found.truncated }
}

fn info(seen: Seen) -> FileInfo {
    let Seen { place, meta, target } = seen;
    let (path, path_encoding) = shown(&place);
    let (target, target_encoding) = match target.as_deref().map(shown) {
        Some((target, encoding)) => (Some(target), encoding),
        None => (None, None),
    };
    FileInfo {
        path,
        path_encoding,
        kind: kind(meta.kind),
        size: meta.size,
        mode: format!("{:04o}", meta.mode),
        modified_at: modified_at(&meta),
        version: meta.version(),
        target,
        target_encoding,
    }
}

fn kind(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::File,
        Kind::Dir => FileKind::Dir,
        Kind::Symlink => FileKind::Symlink,
        Kind::Other => FileKind::Other,
    }
}

fn modified_at(meta: &Meta) -> String {
    let (seconds, nanoseconds) = meta.modified;
    let time = jiff::Timestamp::new(seconds, i32::try_from(nanoseconds).unwrap_or(0)).unwrap_or_default();
    let whole = jiff::Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time);
    format!("{whole:.3}")
}

fn matched(hit: Hit) -> Match {
    let (path, path_encoding) = shown(&hit.place);
    let text = |line: &Vec<u8>| String::from_utf8_lossy(line).into_owned();
    Match {
        path,
        path_encoding,
        line: hit.line,
        offset: hit.offset,
        text: text(&hit.text),
        before: hit.before.iter().map(text).collect(),
        after: hit.after.iter().map(text).collect(),
    }
}

pub(super) fn change(change: &trl_files::watch::Change) -> fs::FileChange {
    use trl_files::watch::What;
    let (path, path_encoding) = shown(&change.place);
    let kind = match change.what {
        What::Created => fs::ChangeKind::Created,
        What::Modified => fs::ChangeKind::Modified,
        What::Removed => fs::ChangeKind::Removed,
    };
    fs::FileChange { path, path_encoding, kind, is_dir: change.is_dir }
}
