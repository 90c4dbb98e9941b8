//! An agent that runs by itself does a command with TRL's tools.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use serde_json::Value;
use trl_testkit::{PATIENCE, comes_true};

use super::{NO_NETWORK, Order, SYSTEM_PATH, World, gemini_home, opencode, programs};

/// A block of code in the section of docs/integrations.md about this agent.
fn documented(agent: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/integrations.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("\n## ").find(|section| section.lines().next() == Some(agent));
    let section = section.unwrap_or_else(|| panic!("nothing about {agent}"));
    let block =
        section.split_once(&format!("\n```{language}\n")).and_then(|(_, rest)| rest.split_once("\n```"));
    block.unwrap_or_else(|| panic!("nothing in {language} about {agent}")).0.to_string()
}

fn documented_json(agent: &str) -> Value {
    serde_json::from_str(&documented(agent, "json")).unwrap()
}

impl World {
    /// The agent's program in the project, with this daemon's environment and what it says; to its end.
    fn run(&self, words: &[&str], env: &[(&str, &str)]) -> (ExitStatus, String) {
        let dir = self.daemon.dir();
        let known = self.daemon.command();
        let known = known.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let path = format!("{}:{}:{SYSTEM_PATH}", dir.text("bin"), programs().display());
        let out = fs::File::create(dir.join("agent.out")).unwrap();
        let mut child = Command::new(programs().join(words[0]))
            .args(&words[1..])
            .current_dir(self.project())
            .env_clear()
            .envs(known)
            .env("PATH", path)
            .envs(NO_NETWORK)
            .envs(env.iter().copied())
            .stdin(std::process::Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(fs::File::create(dir.join("agent.err")).unwrap())
            .spawn()
            .unwrap();
        let ended = comes_true(PATIENCE, &mut || child.try_wait().unwrap().is_some());
        if !ended {
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
        eprintln!("{words:?}: {status}\n{}\n{}", read("agent.out"), read("agent.err"));
        assert!(ended, "it did not end; the model was asked: {}", self.model.log());
        (status, read("agent.out"))
    }

    /// It runs the command with our tool, and says what came of it.
    fn does(&self, order: &Order, words: &[&str], env: &[(&str, &str)]) {
        let (status, said) = self.run(words, env);
        assert!(status.success(), "{status}");
        assert!(said.contains(&order.prints), "its answer is without {}: {said}", order.prints);
        self.assert_ran(order);
    }
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn opencode_runs_a_command() {
    let (world, order) = (World::new(), Order::number(1));
    world.project_file("opencode.json", &opencode(&world.model, documented_json("OpenCode")));
    world.does(&order, &["opencode", "run", &order.words()], &[]);
    assert_eq!(world.model.first_call(), ("chat".into(), "trl_exec_command".into()));
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn codex_runs_a_command() {
    let (world, order) = (World::new(), Order::number(1));
    let model = format!(
        "model = \"fake\"\nmodel_provider = \"fake\"\n\n[model_providers.fake]\nname = \"a fake model\"\n\
         base_url = \"{}/v1\"\nwire_api = \"responses\"\n",
        world.model.url()
    );
    world.daemon.dir().dir("home/.codex");
    let config = format!("{model}\n{}\n", documented("Codex", "toml"));
    world.daemon.dir().file("home/.codex/config.toml", config);
    world.does(&order, &["codex", "exec", "--skip-git-repo-check", &order.words()], &[]);
    assert_eq!(world.model.first_call(), ("responses".into(), "exec_command".into()));
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn claude_code_runs_a_command() {
    let (world, order) = (World::new(), Order::number(1));
    let line = documented("Claude Code", "console");
    let line = line.lines().find_map(|line| line.strip_prefix("$ ")).unwrap();
    let add: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
    assert!(world.run(&add, &[]).0.success());
    let url = world.model.url();
    // Its search for tools is for models that can search.
    let env = [
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("ANTHROPIC_API_KEY", "none"),
        ("ENABLE_TOOL_SEARCH", "false"),
    ];
    let words = ["claude", "--allowedTools", "mcp__trl__exec_command", "-p", &order.words()];
    world.does(&order, &words, &env);
    assert_eq!(world.model.first_call(), ("anthropic".into(), "mcp__trl__exec_command".into()));
}

#[test]
#[ignore = "the step npm-agents of cargo xtask test --all gets the agents"]
fn gemini_cli_runs_a_command() {
    let (world, order) = (World::new(), Order::number(1));
    gemini_home(&world, documented_json("Gemini CLI"));
    let url = world.model.url();
    let env = [("GOOGLE_GEMINI_BASE_URL", url.as_str()), ("GEMINI_API_KEY", "none")];
    // Which model it is, it would ask another one.
    world.does(&order, &["gemini", "-m", "gemini-2.5-pro", "-p", &order.words()], &env);
    assert_eq!(world.model.first_call(), ("gemini".into(), "mcp_trl_exec_command".into()));
}
