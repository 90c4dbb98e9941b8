//! Git in a workspace: what people do with it inside, and what a program inside can make the user's git run outside.

use std::path::Path;
use std::process::Command;

use trl_testkit::{Run, Session, available, json};

use super::daemon;
use super::document::{self, Line};
use super::escapes;
use super::rows::{Needs, Row, Works, row};
use super::stage::Stage;

const WORKS: &str = "works";
const REFUSED: &str = "refused: it writes `.git/config`";

/// Each begins on a clean `main`, and leaves that behind. The last command shows that the job was done.
static JOBS: &[(&str, &str)] = &[
    (
        "make a repository, commit to it",
        "git init -q new && cd new && echo x >f && git add f && git commit -qm new && git config user.name Me",
    ),
    ("clone one", "git clone -q remote.git copy && git -C copy remote add more ../lib && git -C copy log -1"),
    ("status, log, diff, blame", "git status --short && git log -1 && git diff HEAD~1 && git blame f"),
    (
        "commit, amend",
        "echo x >>f && git commit -qam new && git commit -q --amend -m newer && git log -1 | grep -q newer",
    ),
    (
        "branch, switch, delete the branch",
        "git switch -qc topic && git switch -q main && git branch -qD topic && ! git rev-parse -q --verify topic",
    ),
    (
        "merge",
        "git switch -qc m HEAD~1 && echo m >m && git add m && git commit -qm m && git switch -q main && git merge -q --no-edit m",
    ),
    (
        "rebase",
        "git switch -qc r HEAD~1 && echo r >r && git add r && git commit -qm r && git rebase -q main && git switch -q main && git merge -q --ff-only r",
    ),
    (
        "cherry-pick, revert",
        "git switch -qc c && echo c >c && git add c && git commit -qm c && git switch -q main && git cherry-pick c && git revert --no-edit HEAD",
    ),
    ("stash", "echo s >>f && git stash -q && git stash pop -q && git diff --quiet || git checkout -q f"),
    ("tag", "git tag -am one v1 && git describe --exact-match"),
    (
        "reset, restore",
        "git reset -q --hard HEAD~1 && git restore --source HEAD~1 f && git checkout -q HEAD f",
    ),
    ("bisect", "git bisect start HEAD HEAD~2 && git bisect run true && git bisect reset"),
    ("fetch, pull", "git fetch -q && git pull -q --no-rebase && git rev-parse -q --verify origin/side"),
    ("push", "git push -q origin main && test \"$(git rev-parse main)\" = \"$(git rev-parse origin/main)\""),
    (
        "add a worktree, commit in it, remove it",
        "git worktree add -q w2 -b w2 && git -C w2 commit -q --allow-empty -m w && git worktree remove w2 && git log -1 w2",
    ),
    (
        "commit in a submodule and in a worktree that was there",
        "git -C sub commit -q --allow-empty -m s && git commit -qam sub && git -C w commit -q --allow-empty -m w",
    ),
    ("gc, fsck", "git gc -q && git fsck"),
    ("add a remote", "git remote add more lib && git remote | grep -q more"),
    (
        "set the upstream of a branch",
        "git branch -u origin/side && git rev-parse --abbrev-ref 'main@{u}' | grep -q side",
    ),
    ("add a submodule", "git submodule add -q $PWD/lib lib2 && git config submodule.lib2.url"),
];

const SETUP: &str = r#"
    cd "$1" && rm -rf .git sub && export HOME="$2" && export GIT_CONFIG_NOSYSTEM=1
    git init -q lib && git -C lib commit -q --allow-empty -m lib
    git init -q .
    for n in 1 2 3 4; do echo $n >>f; git add f; git commit -qm c$n; done
    git submodule --quiet add ./lib sub && git commit -qm sub && git worktree add -q w -b w
"#;
const REMOTE: &str = r#"
    git init -q --bare remote.git && git remote add origin "$1/remote.git"
    git push -q -u origin main && git push -q origin HEAD~1:refs/heads/side
"#;

/// A repository with a submodule `sub` and a linked worktree `w`, made by the user, and what `more` makes.
fn make_repository(stage: &Stage<'_>, more: &str) {
    let config = "[user]\nname = Tester\nemail = t@example.org\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n";
    stage.daemon.dir().file("home/.gitconfig", config);
    let home = stage.daemon.dir().join("home");
    let mut command = Command::new("sh");
    command.arg("-ec").arg(format!("{SETUP}{more}")).arg("sh").arg(&stage.workspace).arg(home);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn has_git() -> bool {
    available("git", ["/usr/bin/git", "/usr/local/bin/git"].iter().any(|path| Path::new(path).exists()))
}

fn did(session: &mut Session, job: &str) -> Run {
    session.run(&format!("(set -e; {job})"))
}

mod generated {
    use super::*;

    #[test]
    fn ordinary_jobs() {
        if !has_git() {
            return;
        }
        let daemon = daemon();
        for mode in ["off", "workspace-write"] {
            let stage = Stage::new(&daemon, &format!("jobs-{mode}"));
            make_repository(&stage, REMOTE);
            let mut session = stage.session(json!(mode));
            let mut lines = Vec::new();
            for (name, job) in JOBS {
                let run = did(&mut session, job);
                assert!(mode != "off" || run.code == 0, "{name}: {}\n{}", run.out(), run.err());
                let cell = match run.code {
                    0 => WORKS,
                    _ if run.err().contains("could not write config file") => {
                        assert_eq!(run.json["denied"]["op"], "write", "{name}: {}", run.json);
                        REFUSED
                    }
                    code => panic!("{name}: {code}: {}\n{}", run.out(), run.err()),
                };
                lines.push(Line { name, seen: Some(vec![cell]) });
            }
            if mode != "off" {
                let refused = lines.iter().filter(|line| line.seen == Some(vec![REFUSED])).count();
                assert!(refused <= 3, "{refused} of {} jobs are refused", lines.len());
                document::check("ordinary jobs of git", &["job", "workspace-write"], &lines);
            }
        }
    }

    #[test]
    fn configuration_of_git() {
        escapes::check("configuration of git", LEADS);
    }
}

/// A program that must not run, as a hook; then what is to lead to it.
macro_rules! plant {
    ($then:literal) => {
        concat!(
            "mkdir -p evil/hooks; printf '#!/bin/sh\\necho x >%s/made\\n' $OUT >evil/hooks/pre-commit; ",
            "chmod +x evil/hooks/pre-commit; ",
            $then
        )
    };
}

/// The user works in the repository, its submodule, its worktree and whatever else is there.
fn runs_outside(stage: &mut Stage<'_>, _: &Run) -> bool {
    for dir in ["", "sub", "w", "new"].map(|dir| stage.workspace.join(dir)) {
        for job in [&["add", "."][..], &["commit", "-q", "--allow-empty", "-m", "outside"]] {
            git(stage, &dir, job);
        }
    }
    stage.outside.join("made").exists()
}

fn git(stage: &Stage<'_>, dir: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.env("HOME", stage.daemon.dir().join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    let _ = git.arg("-C").arg(dir).args(words).output().unwrap();
}

fn with_repository(stage: &mut Stage<'_>) {
    make_repository(stage, "");
}

fn with_worktree_config(stage: &mut Stage<'_>) {
    make_repository(stage, "git config extensions.worktreeConfig true");
}

fn with_linked_hooks(stage: &mut Stage<'_>) {
    make_repository(stage, "mv .git/hooks mine && ln -s ../mine .git/hooks");
}

fn with_filter(stage: &mut Stage<'_>) {
    let clean = format!("git config filter.mine.clean 'echo x >{}/made; cat'", stage.outside.display());
    make_repository(stage, &clean);
}

const fn leads(name: &'static str, attempt: &'static str) -> Row {
    row(name, attempt, runs_outside).needs(Needs::Program("git")).with(with_repository)
}

/// The last ones are what cannot be protected.
static LEADS: &[Row] = &[
    leads(
        "lead a repository elsewhere by `commondir`",
        plant!("cp -r .git/HEAD .git/objects .git/refs .git/config evil/; echo ../evil >.git/commondir"),
    ),
    leads("name other hooks in its configuration", plant!("git config core.hooksPath $PWD/evil/hooks")),
    leads("name them in that of the main worktree", plant!("git config --worktree core.hooksPath $PWD/evil/hooks"))
        .with(with_worktree_config),
    leads("lead a link to hooks elsewhere", plant!("ln -sfn $PWD/evil/hooks .git/hooks")).with(with_linked_hooks),
    leads("give other files to a filter of the user's", "touch x; echo '* filter=mine' >.git/info/attributes")
        .with(with_filter),
    leads(
        "lead a linked worktree elsewhere by `commondir`",
        plant!("cp -r .git/HEAD .git/objects .git/refs .git/config evil/; echo $PWD/evil >.git/worktrees/w/commondir"),
    ),
    leads(
        "name other hooks in the configuration of a linked worktree",
        plant!("git -C w config --worktree core.hooksPath $PWD/evil/hooks"),
    )
    .with(with_worktree_config),
    leads(
        "plant a hook in a submodule",
        plant!("mkdir -p .git/modules/sub/hooks; cp evil/hooks/pre-commit .git/modules/sub/hooks/"),
    ),
    leads(
        "name other hooks in the configuration of a submodule",
        plant!("git -C sub config core.hooksPath $PWD/evil/hooks"),
    ),
    leads(
        "lead a submodule elsewhere by its file `.git`",
        plant!("git init -q r; cp evil/hooks/pre-commit r/.git/hooks/; echo gitdir: ../r/.git >sub/.git"),
    ),
    leads(
        "make a repository where there was none",
        plant!("git init -q new; mkdir -p new/.git/hooks; cp evil/hooks/pre-commit new/.git/hooks/"),
    )
    .works(Works::WorkspaceWrite),
    leads(
        "break the repository, and make its workspace a bare one",
        plant!(
            "git init -q --bare b; mv b/* .; git config -f config core.bare false; git config -f config core.worktree .; \
             git config -f config core.hooksPath $PWD/evil/hooks; echo broken >.git/HEAD"
        ),
    )
    .works(Works::WorkspaceWrite),
];

/// Repositories that were made inside and make git run programs are told of when the sandbox ends; others are not.
#[test]
fn made_repositories_are_told() {
    if !has_git() {
        return;
    }
    let daemon = daemon();
    let stage = Stage::new(&daemon, "told");
    let mut client = daemon.client();
    client.ok("events.subscribe", json!({"kinds": ["sandbox.made"]}));
    let mut told = |make: &str| {
        let mut session = stage.session(json!("workspace-write"));
        let run = did(&mut session, make);
        assert_eq!(run.code, 0, "{}", run.err());
        let id = session.id.clone();
        session.client().ok("session.destroy", json!({"session_id": id}));
        client.event("sandbox.made")
    };
    let first = told(
        "git init -q plain; git init -q new; git -C new config core.fsmonitor x; git -C new config user.email x@y; \
         mkdir -p new/.git/hooks; echo x >new/.git/hooks/pre-commit",
    );
    assert_eq!(first["path"], "new/.git", "{first}");
    assert_eq!(first["reasons"], json!(["hooks/pre-commit", "config: core.fsmonitor"]));
    assert_eq!(first["workspace"], stage.workspace.canonicalize().unwrap().to_str().unwrap());
    // what was there before is no news
    let second = told("mkdir -p bare/objects bare/refs; echo '[alias] st = !x' >bare/config");
    assert_eq!(
        (&second["path"], &second["reasons"]),
        (&json!("bare"), &json!(["config: alias.st"])),
        "{second}"
    );
}
