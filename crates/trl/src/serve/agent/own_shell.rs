//! How agents are told not to run commands themselves, where they have documented a way. Pure.
//!
//! This is a word to the agent, and no boundary: what it starts all the same is below it, in its sandbox, within its limits.

use std::path::Path;

use serde_json::{Map, Value, json};
use trl_core::env::Env;
use trl_proto::agent::ShellWord;
use trl_proto::case::{AgentSpec, OwnShell};

/// What is done about an agent's own shell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) word: ShellWord,
    /// Variables that say so.
    pub(super) env: Env,
    /// `_meta` of its session that says so.
    pub(super) meta: Option<Map<String, Value>>,
}

/// Tools of Claude Code that run commands.
const CLAUDE_TOOLS: [&str; 3] = ["Bash", "BashOutput", "KillShell"];

pub(super) fn of(agent: &AgentSpec) -> Told {
    let nothing = |word| Told { word, env: Env::default(), meta: None };
    if agent.own_shell == Some(OwnShell::On) {
        return nothing(ShellWord::On);
    }
    // It may be started by another program: `npx`, `node`, `env`.
    let named = |name: &str| {
        agent.command.iter().any(|word| {
            let file = Path::new(word).file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.split('@').next() == Some(name)
        })
    };
    if named("opencode") || named("opencode-ai") {
        let own = agent.env.as_ref().and_then(|env| env.get("OPENCODE_CONFIG_CONTENT"));
        // Whoever writes that himself knows what he wants.
        if own.is_some() {
            return nothing(ShellWord::Unknown);
        }
        let config = json!({"permission": {"bash": "deny"}}).to_string();
        let env = Env::from([("OPENCODE_CONFIG_CONTENT".to_string(), config)]);
        return Told { word: ShellWord::Off, env, meta: None };
    }
    if ["claude-agent-acp", "claude-code-acp"].into_iter().any(named) {
        let meta = json!({"claudeCode": {"options": {"disallowedTools": CLAUDE_TOOLS}}});
        return Told { word: ShellWord::Off, env: Env::default(), meta: meta.as_object().cloned() };
    }
    nothing(ShellWord::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(command: &[&str]) -> AgentSpec {
        AgentSpec { command: command.iter().map(ToString::to_string).collect(), ..AgentSpec::default() }
    }

    #[test]
    fn those_with_a_documented_way_are_told_and_others_are_not_claimed_to_be() {
        for command in
            [&["opencode", "acp"][..], &["/opt/bin/opencode", "acp"], &["npx", "opencode-ai@1.2", "acp"]]
        {
            let told = of(&agent(command));
            assert_eq!(told.word, ShellWord::Off);
            assert!(told.env["OPENCODE_CONFIG_CONTENT"].contains("deny"));
        }
        let claude = of(&agent(&["npx", "@agentclientprotocol/claude-agent-acp@0.4"]));
        assert_eq!(claude.word, ShellWord::Off);
        assert!(json!(claude.meta).to_string().contains("Bash"));
        assert_eq!(of(&agent(&["gemini", "--acp"])).word, ShellWord::Unknown);
        let free = AgentSpec { own_shell: Some(OwnShell::On), ..agent(&["opencode"]) };
        assert_eq!(of(&free), Told { word: ShellWord::On, env: Env::default(), meta: None });
    }
}
