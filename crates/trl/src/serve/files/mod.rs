//! The files of workspaces and sessions: whose they are, where they are, and who may do what with them.
//!
//! 1. A request names a [`Target`]. [`FileService::open`] finds its directory, and refuses those whose it is not.
//! 2. The directory is opened once and kept open, so that it stays the one it was whatever is moved or put in its place.
//! 3. [`held`] is the one place that says what may be read and written there.
//! 4. [`FileService::run`] does the work on a thread beside the daemon's, of which there are few: searches have their own,
//!    so that no search keeps a read waiting.
//!
//! - [`asked`]: changes that a person is asked about. - [`calls`]: the methods. - [`changes`]: pushes of `fs.watch`. The HTTP routes are in
//!   [`super::http`], files that are not on this machine in [`super::elsewhere`].

pub(super) mod asked;
pub(super) mod calls;
pub(super) mod changes;
pub(super) mod held;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use trl_core::approval;
use trl_core::manager::Caller;
use trl_core::session::handle::Session;
use trl_core::workspace::Workspaces;
use trl_files::{Files, Limits, Root, Rules};
use trl_proto::workspace::WorkspaceInfo;
use trl_proto::{Error, ErrorCode, Role, SessionId};

use self::held::{Barrier, Held};
use super::Server;
use super::principal::Principal;

/// Threads for requests that touch a file or two, and for those that look through trees.
const QUICK: usize = 4;
const SEARCHES: usize = 2;
/// Files on their way in or out over HTTP. Each has a few buffers.
const TRANSFERS: usize = 64;
const WATCHES: usize = 64;
/// Directories that are kept open.
const ROOTS: usize = 64;

/// Whose files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Session(SessionId),
    Workspace(String),
}

impl Target {
    pub(super) fn of(session_id: Option<SessionId>, workspace_id: Option<String>) -> Result<Self, Error> {
        match (session_id, workspace_id) {
            (Some(id), None) => Ok(Self::Session(id)),
            (None, Some(id)) => Ok(Self::Workspace(id)),
            _ => Err(Error::invalid("`session_id` or `workspace_id` is needed, and only one of them")),
        }
    }
}

/// Whether a workspace that is not there yet is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Looking,
    Writing,
}

/// Files, for somebody who may use them.
pub(super) struct Usable {
    pub(super) files: Files,
    /// What stops changes, where there is anything.
    barrier: Option<Arc<Barrier>>,
    session: Option<Arc<Session>>,
    caller: Caller,
    /// True once whoever asked has gone for good, where that can be seen.
    leaving: Option<watch::Receiver<bool>>,
}

impl Usable {
    /// Whether there are rules for what is written.
    pub(super) fn is_judged(&self) -> bool {
        self.barrier.as_ref().is_some_and(|barrier| barrier.rules().is_some())
    }
}

/// What holds for the files of a session, wherever they are.
pub(super) fn rules_for(
    server: &Server,
    principal: &Principal,
    session: &Session,
) -> Option<Arc<approval::Rules>> {
    Held::by(server, principal).and_by(session).approvals
}

/// Files that are not opened yet, and what will hold for them.
struct Found {
    held: Held,
    session: Option<Arc<Session>>,
    /// Whose, and where.
    key: (String, PathBuf),
}

/// Which threads do the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Quick,
    Search,
}

pub(super) struct FileService {
    pub(super) workspaces: Arc<Workspaces>,
    limits: Limits,
    /// What is the daemon's and nobody else's.
    own: Vec<PathBuf>,
    /// What a sandbox protects in a workspace.
    protect: Vec<String>,
    roots: Mutex<Roots>,
    quick: Arc<Semaphore>,
    searches: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

#[derive(Default)]
struct Roots {
    open: HashMap<(String, PathBuf), (Arc<Root>, u64)>,
    uses: u64,
}

impl FileService {
    /// `own` is what nobody reads or writes through here, whatever it lies in; `protect` what a sandbox keeps from being written.
    pub(super) fn new(data_dir: &Path, own: &[&Path], protect: &[String], most_bytes: u64) -> Self {
        let real = |path: &&Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let own = own.iter().copied().chain([data_dir]).map(|path| real(&path)).collect();
        let lane = |most| Arc::new(Semaphore::new(most));
        Self {
            workspaces: Arc::new(Workspaces::new(data_dir)),
            limits: Limits { file_bytes: most_bytes, ..Limits::default() },
            own,
            protect: protect.to_vec(),
            roots: Mutex::default(),
            quick: lane(QUICK),
            searches: lane(SEARCHES),
            transfers: lane(TRANSFERS),
            watches: lane(WATCHES),
        }
    }

    pub(super) fn most_bytes(&self) -> u64 {
        self.limits.file_bytes
    }

    /// The files of a target, for somebody who may use them.
    pub(super) async fn open(
        &self,
        server: &Server,
        principal: &Principal,
        target: Target,
        doing: Doing,
    ) -> Result<Usable, Error> {
        let found = self.find(server, principal, target, doing).await?;
        let barrier = found.held.approvals.clone().map(|rules| Arc::new(Barrier::of_rules(rules)));
        self.confine(found, barrier, principal).await
    }

    /// The same, to change them in the way a gateway says.
    pub(super) async fn open_behind(
        &self,
        server: &Server,
        principal: &Principal,
        target: Target,
        barrier: Arc<Barrier>,
    ) -> Result<Usable, Error> {
        let found = self.find(server, principal, target, Doing::Writing).await?;
        self.confine(found, Some(barrier), principal).await
    }

    async fn find(
        &self,
        server: &Server,
        principal: &Principal,
        target: Target,
        doing: Doing,
    ) -> Result<Found, Error> {
        let mut held = Held::by(server, principal);
        let mut of = None;
        let (key, dir) = match target {
            Target::Workspace(id) => (id.clone(), self.workspace(principal, &id, doing).await?.dir),
            Target::Session(id) => {
                let session = principal.session(&server.manager, &id)?;
                held = held.and_by(&session);
                of = Some(Arc::clone(&session));
                let known =
                    session.spec.workspace.as_deref().map(|id| self.workspaces.find(id)).transpose()?;
                match known.flatten() {
                    Some(workspace) => (workspace.workspace_id, workspace.dir),
                    None if principal.role() == Role::Viewer => return Err(not_for_viewers()),
                    None => (id.to_string(), session.spec.origin.root.clone()),
                }
            }
        };
        Ok(Found { held, session: of, key: (key, PathBuf::from(dir)) })
    }

    async fn confine(
        &self,
        Found { held, session, key }: Found,
        barrier: Option<Arc<Barrier>>,
        principal: &Principal,
    ) -> Result<Usable, Error> {
        let root = self.root(key).await?;
        let (limits, modes, stops) = (self.limits.clone(), held.modes(), barrier.clone());
        let (own, protect) = (self.own.clone(), self.protect.clone());
        let homes = self.workspaces.homes().to_path_buf();
        let confined = move || {
            let files = Files::new(root, Arc::new(Rules::default()), limits)?;
            let base = files.base().to_path_buf();
            let rules =
                modes.into_iter().map(|rules| rules.with_own(&own, &base, &homes, &protect)).collect();
            Ok(files.with_access(Arc::new(held::All { rules, barrier: stops, base })))
        };
        let files = self.run(Lane::Quick, confined).await?;
        Ok(Usable { files, barrier, session, caller: principal.caller(0), leaving: None })
    }

    /// A workspace somebody may use; who writes to one that is not there makes it.
    pub(super) async fn workspace(
        &self,
        principal: &Principal,
        id: &str,
        doing: Doing,
    ) -> Result<WorkspaceInfo, Error> {
        principal.may_name_workspace(id)?;
        let known = match (self.workspaces.find(id)?, doing) {
            (Some(known), _) => known,
            (None, Doing::Writing) => {
                let (workspaces, id) = (Arc::clone(&self.workspaces), id.to_string());
                let owner = principal.caller(0).name;
                self.run_any(Lane::Quick, move || workspaces.ensure(&id, &owner)).await?
            }
            (None, Doing::Looking) => {
                return Err(Error::new(ErrorCode::FileNotFound, format!("no workspace {id:?}"))
                    .hint("workspace.create makes one, and so does a first write"));
            }
        };
        principal.may_use_workspace(&known)?;
        Ok(known)
    }

    /// The directory as it was when it was first needed; one that was removed since is looked for anew.
    async fn root(&self, key: (String, PathBuf)) -> Result<Arc<Root>, Error> {
        if let Some(root) = self.roots().find(&key) {
            return Ok(root);
        }
        let dir = key.1.clone();
        let root = Arc::new(self.run(Lane::Quick, move || Root::open(&dir)).await?);
        Ok(self.roots().keep(key, root))
    }

    fn roots(&self) -> std::sync::MutexGuard<'_, Roots> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> trl_files::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.run_any(lane, move || work().map_err(told)).await
    }

    async fn run_any<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let lane = match lane {
            Lane::Quick => &self.quick,
            Lane::Search => &self.searches,
        };
        let ended = || Error::new(ErrorCode::ShuttingDown, "the daemon is ending");
        let place = Arc::clone(lane).acquire_owned().await.map_err(|_| ended())?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        working.await.map_err(|e| Error::internal(format!("the work was not finished: {e}")))?
    }

    /// A place among the transfers; nobody waits for one, since others may hold theirs for long.
    pub(super) fn transfer(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.transfers)
            .try_acquire_owned()
            .map_err(|_| crowded("files being transferred", TRANSFERS))
    }

    pub(super) fn watch_place(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.watches).try_acquire_owned().map_err(|_| crowded("watches", WATCHES))
    }
}

fn crowded(what: &str, most: usize) -> Error {
    Error::new(ErrorCode::ResourcePressure, format!("there are {most} {what}, the most at once"))
}

pub(super) fn not_for_viewers() -> Error {
    Error::new(ErrorCode::Forbidden, "viewers see the files of workspaces, and this session is in none")
}

impl Roots {
    fn find(&mut self, key: &(String, PathBuf)) -> Option<Arc<Root>> {
        self.uses += 1;
        let (root, used) = self.open.get_mut(key)?;
        if root.is_gone() {
            self.open.remove(key);
            return None;
        }
        *used = self.uses;
        Some(Arc::clone(root))
    }

    fn keep(&mut self, key: (String, PathBuf), root: Arc<Root>) -> Arc<Root> {
        if let Some(there) = self.find(&key) {
            return there;
        }
        if self.open.len() >= ROOTS
            && let Some(oldest) =
                self.open.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone())
        {
            self.open.remove(&oldest);
        }
        self.open.insert(key, (Arc::clone(&root), self.uses));
        root
    }
}

/// A refusal in the words of the wire.
pub(super) fn told(error: trl_files::Error) -> Error {
    use trl_files::Error as Fault;
    use trl_files::snapshot::Fault as Snapshot;
    let code = match &error {
        Fault::NotFound { .. } => ErrorCode::FileNotFound,
        Fault::Outside { .. } => ErrorCode::FileOutsideWorkspace,
        Fault::Denied { .. } => ErrorCode::SandboxDenied,
        Fault::Forbidden { .. } => ErrorCode::Forbidden,
        Fault::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        Fault::Full => ErrorCode::StorageFull,
        Fault::Invalid { .. } => ErrorCode::InvalidParams,
        Fault::Exists { .. } | Fault::Changed { .. } => ErrorCode::InvalidParams,
        Fault::Snapshot(fault) => match fault {
            Snapshot::Unknown { .. } => ErrorCode::FileNotFound,
            Snapshot::TooMuch { .. } => ErrorCode::PayloadTooLarge,
            Snapshot::Busy => ErrorCode::ResourcePressure,
            Snapshot::NoGit => ErrorCode::InvalidParams,
            Snapshot::Damaged { .. } | Snapshot::Git { .. } => ErrorCode::InternalError,
        },
        Fault::Io { .. } => ErrorCode::InternalError,
    };
    let told = Error::new(code, error.to_string());
    match error {
        Fault::Outside { .. } => told.hint("paths are relative to the workspace, and no link may leave it"),
        Fault::TooLarge { .. } => told.hint("files.max_bytes in the config"),
        Fault::Exists { .. } => told.detail("reason", "exists"),
        Fault::Changed { .. } => told.detail("reason", "changed"),
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_directory_is_closed_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut roots = Roots::default();
        let key = |n: usize| (n.to_string(), dir.path().to_path_buf());
        let open = || Arc::new(Root::open(dir.path()).unwrap());
        for n in 0..ROOTS {
            roots.keep(key(n), open());
        }
        assert!(roots.find(&key(0)).is_some());
        roots.keep(key(ROOTS), open());
        assert_eq!(roots.open.len(), ROOTS);
        assert!(roots.find(&key(0)).is_some() && roots.find(&key(1)).is_none());
    }
}
