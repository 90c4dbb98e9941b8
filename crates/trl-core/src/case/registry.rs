//! All cases there are, looked at when somebody asks.
//!
//! 1. A case is `ID.yaml` on a [`Shelf`]: the directory of cases, then `.trl/cases/` of the workspace in question. The first wins,
//!    so that no file an agent wrote takes the place of one of the operator's.
//! 2. Each time the file is opened and compared with what was read of it before; only another version is read and parsed.
//! 3. A file of a workspace is trusted while a pin has its digest. Else it narrows the default case, or what holds
//!    without a case.
//!
//! One broken file is that file's trouble alone: it is listed with its errors, and a session from it is `CASE_INVALID`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trl_proto::case::{
    CaseDetail, CaseError, CaseInfo, CaseList, CaseOrigin, CaseSpec, CaseTrustParams, CaseValidated,
};
use trl_proto::nearest::nearest;
use trl_proto::{Error, ErrorCode};

use super::check::{ID_RULE, valid_id};
use super::files::{Shelf, Version};
use super::narrow::{Floor, narrowed};
use super::parse::{digest, parse};
use super::pins::Pins;
use super::{Case, Trust};
use crate::session::spec::checked_dir;
use crate::settings::{CaseSettings, Settings};
use crate::workspace::{Workspaces, checked_id};

/// Parsed files remembered; beyond that all are forgotten, which costs time and nothing else.
const MOST_REMEMBERED: usize = 16_384;
/// A request nobody answers in this time is denied, unless a case says otherwise.
const APPROVAL_TIMEOUT_S: f64 = 1800.0;

/// What one list may read anew: the daemon does nothing else meanwhile, and anybody can fill a workspace.
const MOST_READ: u64 = 4 << 20;

/// What there is to see of a case.
enum Look {
    There(Arc<Parsed>),
    Missing,
    /// More than may be read now.
    TooMuch,
}

/// What was read of a file.
#[derive(Debug)]
struct Parsed {
    digest: Option<String>,
    outcome: Result<CaseSpec, Vec<CaseError>>,
}

/// Where a request's workspace is: by its id, or its directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Where<'a> {
    pub workspace_id: Option<&'a str>,
    pub path: Option<&'a str>,
}

#[derive(Debug)]
pub struct Cases {
    settings: CaseSettings,
    floor: Floor,
    pins: Pins,
    workspaces: Option<Workspaces>,
    parsed: Mutex<HashMap<PathBuf, (Version, Arc<Parsed>)>>,
}

impl Cases {
    pub fn new(settings: &Settings) -> Self {
        let seconds = |duration: std::time::Duration| duration.as_secs_f64();
        let floor = Floor {
            limits: settings.limits,
            sandbox: settings.sandbox_mode.into(),
            timeout_s: seconds(settings.command_timeout),
            idle_ttl_s: seconds(settings.idle_ttl),
            absolute_ttl_s: seconds(settings.absolute_ttl),
            approval_timeout_s: APPROVAL_TIMEOUT_S,
        };
        let pins = Pins::new(settings.cases.data_dir.as_ref().map(|dir| dir.join("case-pins.json")));
        let workspaces = settings.cases.data_dir.as_deref().map(Workspaces::new);
        Self { settings: settings.cases.clone(), floor, pins, workspaces, parsed: Mutex::default() }
    }

    /// The id of the case of whatever names none.
    pub fn default_id(&self) -> Option<&str> {
        self.settings.default.as_deref()
    }

    /// The directory a request's workspace is in, if it has one.
    pub fn workspace(&self, place: Where<'_>) -> Result<Option<PathBuf>, Error> {
        match (place.workspace_id, place.path) {
            (Some(_), Some(_)) => Err(Error::invalid("`workspace_id` and `path` exclude each other")),
            (Some(id), None) => {
                checked_id(id)?;
                let Some(workspaces) = &self.workspaces else { return Ok(None) };
                let known = workspaces.find(id)?.map(|known| PathBuf::from(known.dir));
                Ok(Some(known.unwrap_or_else(|| workspaces.homes().join(id))))
            }
            (None, Some(path)) => checked_dir(path).map(|path| Some(path.into())),
            (None, None) => Ok(None),
        }
    }

    /// The directory of a workspace that has one from us, if this is in it.
    pub fn home_around(&self, dir: &Path) -> Option<PathBuf> {
        let homes = self.workspaces.as_ref()?.homes().canonicalize().ok()?;
        let dir = dir.canonicalize().ok()?;
        let name = dir.strip_prefix(&homes).ok()?.components().next()?;
        Some(homes.join(name))
    }

    /// The case of a request: the one it names, or the default.
    pub fn of_request(&self, case_id: Option<&str>, place: Where<'_>) -> Result<Option<Arc<Case>>, Error> {
        match case_id {
            Some(id) => self.find(id, self.workspace(place)?.as_deref()).map(Some),
            None => self.default_case(),
        }
    }

    /// Only ever the operator's. One that cannot be had is an error: without it sessions would be freer than meant.
    pub fn default_case(&self) -> Result<Option<Arc<Case>>, Error> {
        let Some(id) = self.default_id() else { return Ok(None) };
        let found = self.find(id, None);
        found.map(Some).map_err(|error| Error {
            hint: Some("it is the default case: see the setting cases.default".into()),
            ..error
        })
    }

    /// A case sessions can be created from.
    pub fn find(&self, id: &str, workspace: Option<&Path>) -> Result<Arc<Case>, Error> {
        if !valid_id(id) {
            return Err(Error::invalid("`case_id` cannot be the id of a case").hint(ID_RULE));
        }
        for shelf in self.shelves(workspace) {
            if let Some(parsed) = self.look(&shelf, id) {
                return self.case(&shelf, id, &parsed).map(Arc::new);
            }
        }
        Err(self.not_found(id, workspace))
    }

    pub fn list(&self, workspace: Option<&Path>) -> CaseList {
        let mut list = CaseList { cases: Vec::new(), left_out: 0 };
        let mut unread = MOST_READ;
        for shelf in self.shelves(workspace) {
            let names = shelf.names();
            list.left_out += names.left_out;
            for id in names.ids {
                match self.look_within(&shelf, &id, &mut unread) {
                    Look::There(parsed) => list.cases.push(self.info(&shelf, &id, &parsed)),
                    Look::TooMuch => list.left_out += 1,
                    Look::Missing => {}
                }
            }
            for (name, error) in names.odd {
                let parsed = Parsed { digest: None, outcome: Err(vec![error]) };
                list.cases.push(self.info(&shelf, &name, &parsed));
            }
        }
        list
    }

    pub fn get(&self, id: &str, workspace: Option<&Path>) -> Result<CaseDetail, Error> {
        let case = self.find(id, workspace)?;
        let env = case.spec.env.iter().flat_map(|env| env.keys());
        let mut env_keys: Vec<String> = env.chain(case.spec.secret_env.iter().flatten()).cloned().collect();
        env_keys.sort();
        env_keys.dedup();
        Ok(CaseDetail { info: self.info_of(&case), case: case.spec.clone(), env_keys })
    }

    /// Lets all of a workspace's case take effect while the file is the one that was seen, or takes that back.
    pub fn trust(&self, params: &CaseTrustParams, by: &str) -> Result<CaseInfo, Error> {
        let place = Where { workspace_id: params.workspace_id.as_deref(), path: params.path.as_deref() };
        let Some(workspace) = self.workspace(place)? else {
            return Err(Error::invalid("`workspace_id` or `path` is needed")
                .hint("cases in the directory of cases are trusted"));
        };
        let id = &params.case_id;
        let shelf = Shelf::Workspace(workspace.clone());
        let path = shelf.path(id);
        if params.trust == Some(false) {
            self.pins.remove(&path)?;
            let parsed = self.look(&shelf, id).ok_or_else(|| self.not_found(id, Some(&workspace)))?;
            return Ok(self.info(&shelf, id, &parsed));
        }
        let case = self.find(id, Some(&workspace))?;
        if case.origin == CaseOrigin::Config {
            return Err(Error::invalid(format!("`{id}` is a case of the daemon's own, which is trusted"))
                .hint("a workspace cannot have another of that id"));
        }
        if case.digest != params.digest {
            let message = format!("{} is not the file that was seen", path.display());
            return Err(Error::new(ErrorCode::CaseInvalid, message)
                .hint("look at it again; case.get says its digest")
                .detail("digest", case.digest.as_str()));
        }
        self.pins.add(&path, &case.digest, by)?;
        Ok(self.info_of(&*self.find(id, Some(&workspace))?))
    }

    /// Is this text a case?
    pub fn validate(text: &str, id: Option<&str>) -> CaseValidated {
        let errors = parse(text.as_bytes(), id).err().unwrap_or_default();
        CaseValidated { valid: errors.is_empty(), errors, digest: digest(text.as_bytes()) }
    }

    fn shelves(&self, workspace: Option<&Path>) -> Vec<Shelf> {
        let config = self.settings.dir.clone().map(Shelf::Config);
        config.into_iter().chain(workspace.map(|dir| Shelf::Workspace(dir.into()))).collect()
    }

    /// The file as it is now; None when there is none.
    fn look(&self, shelf: &Shelf, id: &str) -> Option<Arc<Parsed>> {
        let mut unread = u64::MAX;
        match self.look_within(shelf, id, &mut unread) {
            Look::There(parsed) => Some(parsed),
            Look::Missing | Look::TooMuch => None,
        }
    }

    /// The same, reading no more than `unread`.
    fn look_within(&self, shelf: &Shelf, id: &str, unread: &mut u64) -> Look {
        let broken = |error| Look::There(Arc::new(Parsed { digest: None, outcome: Err(vec![error]) }));
        let opened = match shelf.open(id) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Look::Missing,
            Err(error) => return broken(error),
        };
        let (path, version) = (shelf.path(id), opened.version);
        let mut known = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, parsed)) = known.get(&path)
            && seen.is_same(&version)
        {
            return Look::There(Arc::clone(parsed));
        }
        match unread.checked_sub(version.to_read()) {
            Some(rest) => *unread = rest,
            None => return Look::TooMuch,
        }
        let bytes = match opened.read() {
            Ok(bytes) => bytes,
            Err(error) => return broken(error),
        };
        let parsed = Arc::new(Parsed { digest: Some(digest(&bytes)), outcome: parse(&bytes, Some(id)) });
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.insert(path, (version, Arc::clone(&parsed)));
        Look::There(parsed)
    }

    fn case(&self, shelf: &Shelf, id: &str, parsed: &Parsed) -> Result<Case, Error> {
        let source = shelf.path(id);
        let spec = parsed.outcome.as_ref().map_err(|errors| invalid(&source, errors))?;
        let digest = parsed.digest.clone().unwrap_or_default();
        let whole = match shelf {
            Shelf::Config(_) => true,
            Shelf::Workspace(_) => self.trusts(&source, &digest),
        };
        let (spec, ignored, trust) = if whole {
            (spec.clone(), Vec::new(), Trust::Whole)
        } else {
            let (spec, ignored) = self.narrowing(spec)?;
            (spec, ignored, Trust::Narrowing)
        };
        let workspace = match shelf {
            Shelf::Config(_) => None,
            Shelf::Workspace(dir) => Some(dir.clone()),
        };
        let (id, origin, fallback) = (id.into(), shelf.origin(), None);
        Ok(Case { id, spec, source, origin, digest, trust, ignored, workspace, fallback })
    }

    /// What an untrusted case makes of the default case, and its fields without effect.
    pub(super) fn narrowing(&self, untrusted: &CaseSpec) -> Result<(CaseSpec, Vec<String>), Error> {
        let base = self.default_case()?.map(|case| case.spec.clone()).unwrap_or_default();
        Ok(narrowed(&base, &self.floor, untrusted))
    }

    /// Whether an operator trusts this version of a workspace's file.
    pub(super) fn trusts(&self, file: &Path, digest: &str) -> bool {
        self.pins.holds(file, digest)
    }

    fn info(&self, shelf: &Shelf, id: &str, parsed: &Parsed) -> CaseInfo {
        let shadowed = shelf.origin() == CaseOrigin::Workspace
            && self.shelves(None).iter().any(|config| matches!(config.open(id), Ok(Some(_)) | Err(_)));
        let (case, mut errors) = match (&parsed.outcome, self.case(shelf, id, parsed)) {
            (Err(errors), _) => (None, errors.clone()),
            (Ok(_), Ok(case)) => (Some(case), Vec::new()),
            (Ok(_), Err(error)) => (None, vec![super::parse::whole(error.message)]),
        };
        if shadowed {
            errors.push(super::parse::whole("the daemon has a case of this id, which wins"));
        }
        match case {
            Some(case) => CaseInfo { errors, ..self.info_of(&case) },
            None => CaseInfo {
                case_id: id.into(),
                description: None,
                source: shelf.path(id).display().to_string(),
                origin: shelf.origin(),
                digest: parsed.digest.clone(),
                trusted: false,
                default: self.is_default(shelf.origin(), id),
                ignored: Vec::new(),
                errors,
            },
        }
    }

    fn info_of(&self, case: &Case) -> CaseInfo {
        CaseInfo {
            case_id: case.id.clone(),
            description: case.spec.description.clone(),
            source: case.source.display().to_string(),
            origin: case.origin,
            digest: Some(case.digest.clone()),
            trusted: case.is_trusted(),
            default: self.is_default(case.origin, &case.id),
            ignored: case.ignored.clone(),
            errors: Vec::new(),
        }
    }

    fn is_default(&self, origin: CaseOrigin, id: &str) -> bool {
        origin == CaseOrigin::Config && self.default_id() == Some(id)
    }

    fn not_found(&self, id: &str, workspace: Option<&Path>) -> Error {
        let shelves = self.shelves(workspace);
        if let Some((old, shelf)) = shelves.iter().find_map(|shelf| Some((shelf.outdated(id)?, shelf))) {
            let message = format!("{} is not where a workspace has its cases", old.display());
            return Error::new(ErrorCode::CaseNotFound, message)
                .hint(format!("move it to {}", shelf.path(id).display()));
        }
        let ids: Vec<String> = shelves.iter().flat_map(|shelf| shelf.names().ids).collect();
        let error = Error::new(ErrorCode::CaseNotFound, format!("there is no case `{id}`"));
        let place = shelves.iter().map(|shelf| shelf.dir().display().to_string()).collect::<Vec<_>>();
        match nearest(id, ids.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None if workspace.is_some_and(|dir| !dir.is_dir()) => error.hint("there is no such workspace"),
            None => error.hint(format!("cases are in {}", place.join(" and "))),
        }
    }
}

/// Why no session can be created from the file at `source`.
fn invalid(source: &Path, errors: &[CaseError]) -> Error {
    let file = source.display().to_string();
    let first = errors.first();
    let message = first.map_or_else(|| file.clone(), |error| error.in_file(&file));
    let more = match errors.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let error = Error::new(ErrorCode::CaseInvalid, message + &more)
        .detail("source", file)
        .detail("errors", serde_json::to_value(errors).unwrap_or_default());
    match first.and_then(|error| error.hint.clone()) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct World {
        dir: tempfile::TempDir,
        cases: Cases,
    }

    impl World {
        fn new(default: Option<&str>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in ["cases", "ws/.trl/cases"] {
                fs::create_dir_all(dir.path().join(name)).unwrap();
                fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
            }
            let settings = Settings {
                cases: CaseSettings {
                    dir: Some(dir.path().join("cases")),
                    default: default.map(String::from),
                    data_dir: Some(dir.path().join("data")),
                },
                ..Settings::default()
            };
            Self { cases: Cases::new(&settings), dir }
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.dir.path().join(path);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }

        fn workspace(&self) -> PathBuf {
            self.dir.path().join("ws")
        }

        fn find(&self, id: &str) -> Result<Arc<Case>, Error> {
            self.cases.find(id, Some(&self.workspace()))
        }

        fn trust(&self, id: &str, digest: &str) -> Result<CaseInfo, Error> {
            let path = Some(self.workspace().to_str().unwrap().to_string());
            let params = CaseTrustParams {
                case_id: id.into(),
                path,
                digest: digest.into(),
                ..CaseTrustParams::default()
            };
            self.cases.trust(&params, "operator")
        }
    }

    #[test]
    fn a_changed_file_is_a_changed_case_and_who_has_the_old_one_keeps_it() {
        let world = World::new(None);
        world.put("cases/a.yaml", "description: one\n");
        let old = world.find("a").unwrap();
        // as many bytes, within the same tick
        world.put("cases/a.yaml", "description: two\n");
        let new = world.find("a").unwrap();
        assert_eq!(old.spec.description.as_deref(), Some("one"));
        assert_eq!(new.spec.description.as_deref(), Some("two"));
        fs::remove_file(world.dir.path().join("cases/a.yaml")).unwrap();
        assert_eq!(world.find("a").unwrap_err().code, ErrorCode::CaseNotFound);
    }

    #[test]
    fn one_broken_file_hides_no_other() {
        let world = World::new(None);
        world.put("cases/a.yaml", "id: a\nsandox: off\n");
        world.put("cases/b.yaml", "id: b\n");
        let error = world.find("a").unwrap_err();
        assert_eq!(error.code, ErrorCode::CaseInvalid);
        assert!(
            error.message.ends_with("a.yaml:2:1: unknown field `sandox`; did you mean `sandbox`?"),
            "{}",
            error.message
        );
        assert!(world.find("b").is_ok());
        let list = world.cases.list(None).cases;
        assert_eq!(
            list.iter().map(|c| (c.case_id.as_str(), c.errors.len())).collect::<Vec<_>>(),
            [("a", 1), ("b", 0)]
        );
        assert_eq!(world.find("bb").unwrap_err().hint.as_deref(), Some("did you mean b?"));
    }

    #[test]
    fn no_file_of_a_workspace_takes_the_place_of_the_operators() {
        let world = World::new(None);
        world.put("cases/a.yaml", "description: mine\n");
        world.put("ws/.trl/cases/a.yaml", "description: theirs\n");
        assert_eq!(world.find("a").unwrap().spec.description.as_deref(), Some("mine"));
        let shadowed = &world.cases.list(Some(&world.workspace())).cases[1];
        assert_eq!((shadowed.origin, shadowed.errors.len()), (CaseOrigin::Workspace, 1));
        let digest = shadowed.digest.clone().unwrap();
        assert_eq!(world.trust("a", &digest).unwrap_err().code, ErrorCode::InvalidParams);
        // nor when the operator's is broken
        world.put("cases/a.yaml", "nope: 1\n");
        assert_eq!(world.find("a").unwrap_err().code, ErrorCode::CaseInvalid);
    }

    #[test]
    fn trust_is_in_one_version_of_a_file() {
        let world = World::new(None);
        world.put("ws/.trl/cases/a.yaml", "shell: /bin/bash\nlimits: {pids: 5}\n");
        let case = world.find("a").unwrap();
        assert_eq!((case.trust, &case.ignored[..]), (Trust::Narrowing, &["shell".to_string()][..]));
        assert_eq!((case.spec.shell.as_deref(), case.spec.limits.unwrap().pids), (None, Some(5)));
        assert_eq!(world.trust("a", "0").unwrap_err().code, ErrorCode::CaseInvalid);
        assert!(world.trust("a", &case.digest).unwrap().trusted);
        let case = world.find("a").unwrap();
        assert_eq!((case.trust, case.spec.shell.as_deref()), (Trust::Whole, Some("/bin/bash")));
        world.put("ws/.trl/cases/a.yaml", "shell: /bin/bash\nlimits: {pids: 6}\n");
        assert_eq!(world.find("a").unwrap().trust, Trust::Narrowing);
    }

    #[test]
    fn what_nobody_trusts_narrows_the_default_case() {
        let world = World::new(Some("base"));
        world.put(
            "cases/base.yaml",
            "shell: /bin/bash\nlimits: {pids: 10}\napproval: {rules: [{deny: [rm]}]}\n",
        );
        world.put(
            "ws/.trl/cases/a.yaml",
            "shell: /bin/sh\nlimits: {pids: 50}\napproval: {rules: [{ask: [ls]}]}\n",
        );
        let case = world.find("a").unwrap();
        assert_eq!(case.spec.shell.as_deref(), Some("/bin/bash"));
        assert_eq!(case.spec.limits.unwrap().pids, Some(10));
        assert_eq!(case.spec.approval.as_ref().unwrap().rules.len(), 2);
        assert_eq!(case.ignored, ["limits.pids", "shell"]);
        assert_eq!(world.cases.of_request(None, Where::default()).unwrap().unwrap().id, "base");
        // without its base it would be free of it
        fs::remove_file(world.dir.path().join("cases/base.yaml")).unwrap();
        assert_eq!(world.find("a").unwrap_err().code, ErrorCode::CaseNotFound);
        assert!(world.cases.of_request(None, Where::default()).is_err());
    }

    #[test]
    fn a_full_workspace_holds_nobody_up() {
        let world = World::new(None);
        let text = format!("# {}\n", "x".repeat(200 << 10));
        for n in 0..40 {
            world.put(&format!("ws/.trl/cases/c{n:02}.yaml"), &text);
        }
        let list = world.cases.list(Some(&world.workspace()));
        assert_eq!((list.cases.len(), list.left_out), (20, 20));
        assert!(
            world.find("c39").is_err_and(|error| error.code == ErrorCode::CaseInvalid),
            "a comment is no case"
        );
    }

    #[test]
    fn the_examples_are_cases() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cases");
        let mut count = 0;
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let id = path.file_stem().unwrap().to_str().unwrap();
            let parsed = parse(&fs::read(&path).unwrap(), Some(id));
            assert!(parsed.is_ok(), "{}: {parsed:?}", path.display());
            count += 1;
        }
        assert_eq!(count, 3);
    }
}
