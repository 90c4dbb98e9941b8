//! What an agent asks for, and gets: files of the session, commands beside its shell, answers of people. Each question is a
//! task of its own, so that none waits for another.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trl_acp::{Call, Exit, Reply};
use trl_core::Manager;
use trl_core::approval::{Answer, Asked};
use trl_core::execution::Execution;
use trl_core::manager::{Aside, What};
use trl_core::session::handle::Session;
use trl_core::session::messages::Stdin;
use trl_core::session::spec::BesideRole;
use trl_files::write::{How, Parents};
use trl_files::{Files, Rel};
use trl_proto::agent::{FileOp, OptionKind, Permission, PermissionOption, ToolCall, ToolContent, Update};
use trl_proto::exec::{Approval, CancelParams};
use trl_proto::hitl::{RequestState, Scope};
use trl_proto::start::StderrTo;
use trl_proto::{Error, ErrorCode, MessageId};

use super::super::Server;
use super::super::files::asked::{Change, Waits, Withdrawn};
use super::super::files::calls::contents;
use super::super::files::{Doing, Lane, Target, Usable, told};
use super::super::principal::Principal;
use super::news::{Happened, News};

/// The largest file that is given to an agent as text.
const LARGEST_READ: usize = 16 << 20;
/// Of what an agent wants to do, as people are shown it.
const LONGEST_SHOWN: usize = 4000;

/// Commands of one agent that it has not let go of.
#[derive(Default)]
pub(super) struct Commands(Mutex<HashMap<String, Arc<Execution>>>);

impl Commands {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Execution>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Result<Arc<Execution>, Error> {
        let known = self.all().get(id).cloned();
        known.ok_or_else(|| Error::new(ErrorCode::TerminalNotFound, format!("no terminal {id}")))
    }

    /// Ends those that run; resolves at once.
    pub(super) fn end_all(&self, manager: &Arc<Manager>) {
        for execution in self.all().values().cloned() {
            end(manager, execution);
        }
    }
}

fn end(manager: &Arc<Manager>, execution: Arc<Execution>) {
    if execution.finished().is_some() || execution.refused().is_some() {
        return;
    }
    let manager = Arc::clone(manager);
    tokio::spawn(async move {
        let params = CancelParams { execution_id: Some(execution.id.clone()), ..CancelParams::default() };
        let _ = manager.cancel(params).await;
    });
}

/// One agent's, for one message.
pub(super) struct Hands {
    pub(super) server: Arc<Server>,
    pub(super) session: Arc<Session>,
    pub(super) commands: Arc<Commands>,
    pub(super) message: MessageId,
    pub(super) news: News,
}

impl Hands {
    pub(super) async fn serve(&self, call: Call) -> Result<Reply, Error> {
        match call {
            Call::ReadFile { path, line, limit } => {
                let read = self.read(&path, line, limit).await;
                self.touched(FileOp::Read, path, read.is_ok()).await;
                Ok(Reply::File { content: read? })
            }
            Call::WriteFile { path, content } => {
                let written = self.write(&path, content).await;
                self.touched(FileOp::Write, path, written.is_ok()).await;
                written.map(|()| Reply::Done)
            }
            Call::CreateTerminal { command, args, env, cwd, most_bytes } => {
                let what = match args.is_empty() && command.contains(|c: char| !is_plain(c)) {
                    true => What::Text(command),
                    false => What::Argv([vec![command], args].concat()),
                };
                let aside = Aside {
                    role: BesideRole::Command,
                    what,
                    env: env.into_iter().collect(),
                    working_dir: cwd,
                    stdin: Stdin::Null,
                    stderr: StderrTo::Stdout,
                    max_output_bytes: most_bytes.map(|most| most.clamp(1 << 10, 16 << 20)),
                    approval: Approval::Wait,
                };
                self.run(aside).await
            }
            Call::TerminalOutput { terminal } => output(&*self.commands.find(&terminal)?),
            Call::WaitForExit { terminal } => {
                let finished = self.commands.find(&terminal)?.wait().await?;
                Ok(Reply::Exit(exit(&finished.outcome)))
            }
            Call::KillTerminal { terminal } => {
                end(&self.server.manager, self.commands.find(&terminal)?);
                Ok(Reply::Done)
            }
            Call::ReleaseTerminal { terminal } => {
                end(&self.server.manager, self.commands.find(&terminal)?);
                self.commands.all().remove(&terminal);
                Ok(Reply::Done)
            }
            Call::Permission { tool_call, options } => self.permit(tool_call, options).await,
        }
    }

    // ---- files

    fn principal(&self) -> Principal {
        Principal::OfAgent(self.session.spec.id.clone())
    }

    async fn files(&self, doing: Doing) -> Result<Usable, Error> {
        let target = Target::Session(self.session.spec.id.clone());
        self.server.files.open(&self.server, &self.principal(), target, doing).await
    }

    async fn read(&self, path: &str, line: Option<u32>, limit: Option<u32>) -> Result<String, Error> {
        let usable = self.files(Doing::Looking).await?;
        let (files, place) = (usable.files.clone(), within(&usable.files, path)?);
        let read = move || files.read(&place, 0, LARGEST_READ);
        let piece = self.server.files.run(Lane::Quick, read).await?;
        if piece.size > piece.bytes.len() as u64 {
            let message = format!("{path} has {} bytes, more than an agent is given", piece.size);
            return Err(Error::new(ErrorCode::PayloadTooLarge, message));
        }
        Ok(lines_of(&String::from_utf8_lossy(&piece.bytes), line, limit))
    }

    async fn write(&self, path: &str, content: String) -> Result<(), Error> {
        let usable = self.files(Doing::Writing).await?;
        let place = within(&usable.files, path)?;
        let shown = contents(content.as_bytes());
        let how = How { parents: Parents::Make, ..How::default() };
        let work = move |files: &Files| files.write(&place, content.as_bytes(), &how).map(drop);
        let change = Change { lane: Lane::Quick, shown, mode: Approval::Wait, work };
        let news = self.news.clone();
        let tell = move |waits: Waits| {
            news.tell_now(match waits {
                Waits::For(request) => Happened::Asked(request),
                Waits::NoMore(request) => Happened::Answered(request),
            });
        };
        change.make_telling(&self.server, usable, Some(Box::new(tell))).await.map(drop)
    }

    async fn touched(&self, op: FileOp, path: String, ok: bool) {
        self.news.tell(Happened::Did(Update::File { op, path, ok })).await;
    }

    // ---- commands

    async fn run(&self, aside: Aside) -> Result<Reply, Error> {
        let caller = self.principal().caller(0);
        let shown = match &aside.what {
            What::Text(text) => text.clone(),
            What::Argv(argv) => argv.join(" "),
        };
        let working_dir = aside.working_dir.clone().unwrap_or_else(|| self.session.spec.origin.root.clone());
        let (execution, _) = self.server.manager.start_beside(&self.session, aside, &caller).await?;
        let id = execution.id.to_string();
        self.commands.all().insert(id.clone(), Arc::clone(&execution));
        let update = Update::Terminal {
            terminal_id: id.clone(),
            execution_id: execution.id.clone(),
            command: shown,
            working_dir,
        };
        self.news.tell(Happened::Did(update)).await;
        if let Some(request) = execution.request() {
            self.news.tell(Happened::Asked(request.clone())).await;
            let news = self.news.clone();
            tokio::spawn(async move {
                execution.wait_answered().await;
                news.tell(Happened::Answered(request)).await;
            });
        }
        Ok(Reply::Terminal { id })
    }

    // ---- people

    async fn permit(&self, tool_call: ToolCall, options: Vec<PermissionOption>) -> Result<Reply, Error> {
        let permission = Permission {
            message_id: self.message.clone(),
            title: tool_call.title.clone().unwrap_or_else(|| "something".into()),
            tool_kind: tool_call.tool_kind.clone(),
            tool_call_id: Some(tool_call.tool_call_id.clone()),
            options: options.clone(),
        };
        let (title, shown) = (permission.title.clone(), shown(&tool_call));
        let asked = self.server.manager.ask_permission(&self.session, permission, shown).await?;
        let (request, answer) = match asked {
            // Somebody said yes when the daemon that asked was gone.
            Asked::Granted => return Ok(choose(&options, RequestState::Approved, Scope::Once)),
            Asked::Recorded { request, answer } => (request, answer),
        };
        let withdrawn = Withdrawn::unless_answered(&self.server, &request);
        self.news.tell(Happened::Asked(request.clone())).await;
        let update = Update::Permission {
            request_id: request.clone(),
            tool_call_id: Some(tool_call.tool_call_id),
            title,
            options: options.clone(),
        };
        self.news.tell(Happened::Did(update)).await;
        let answer = answer.await.unwrap_or(Answer::Cancelled);
        withdrawn.answered();
        let desk = &self.server.manager.engine.desk;
        let state = match answer {
            Answer::Approved { .. } => RequestState::Approved,
            Answer::Rejected { .. } | Answer::Forbidden { .. } => RequestState::Rejected,
            Answer::Expired => RequestState::Expired,
            Answer::Cancelled => RequestState::Cancelled,
        };
        let settled = desk.get(&request).await.ok().and_then(|(_, settled)| settled.resolution);
        let scope = settled.and_then(|said| said.scope).unwrap_or_default();
        desk.ran(&request);
        let reply = choose(&options, state, scope);
        let option_id = match &reply {
            Reply::Chosen(option) => Some(option.clone()),
            _ => None,
        };
        let update = Update::PermissionResolved { request_id: request.clone(), state, option_id };
        self.news.tell(Happened::Did(update)).await;
        self.news.tell(Happened::Answered(request)).await;
        Ok(reply)
    }
}

/// One of the agent's options; a no where it offers none for that.
fn choose(options: &[PermissionOption], state: RequestState, scope: Scope) -> Reply {
    use OptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let wanted = match (state, scope) {
        (RequestState::Approved, Scope::Once) => [AllowOnce, AllowAlways],
        (RequestState::Approved, Scope::Session | Scope::Always) => [AllowAlways, AllowOnce],
        (RequestState::Cancelled | RequestState::Pending, _) => return Reply::Withdrawn,
        (RequestState::Rejected | RequestState::Expired, _) => [RejectOnce, RejectAlways],
    };
    let found = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    found.map_or(Reply::Withdrawn, |option| Reply::Chosen(option.option_id.clone()))
}

/// What a person decides on: the title alone may say anything. What is not shown whole is known by its digest, so that a yes is
/// to this and nothing else.
fn shown(call: &ToolCall) -> String {
    let mut shown = call.tool_kind.clone().unwrap_or_else(|| "tool".into());
    shown.push_str(": ");
    shown.push_str(call.title.as_deref().unwrap_or("something"));
    for content in call.content.iter().flatten() {
        match content {
            ToolContent::Diff { path, new_text, .. } => {
                shown.push_str(&format!("\nchanges {path}{}", contents(new_text.as_bytes())));
            }
            ToolContent::Text { text } => shown.push_str(&format!("\n{text}")),
            ToolContent::Terminal { .. } | ToolContent::Other { .. } => {}
        }
    }
    if let Some(input) = &call.raw_input {
        shown.push_str(&format!("\n{input}"));
    }
    match shown.char_indices().nth(LONGEST_SHOWN) {
        None => shown,
        Some((end, _)) => format!("{}...{}", &shown[..end], contents(shown.as_bytes())),
    }
}

/// What needs no shell to be read.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-+@:,%".contains(c)
}

/// Agents name files by their whole path.
fn within(files: &Files, path: &str) -> Result<Rel, Error> {
    let path = Path::new(path);
    let inside = if path.is_absolute() { path.strip_prefix(files.base()).unwrap_or(path) } else { path };
    Rel::parse(inside.as_os_str().as_encoded_bytes()).map_err(told)
}

/// From a line on, so many.
fn lines_of(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    let skip = line.map_or(0, |line| line.saturating_sub(1) as usize);
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

fn output(execution: &Execution) -> Result<Reply, Error> {
    if let Some(error) = execution.refused() {
        return Err(error);
    }
    let log = &execution.stdout;
    Ok(Reply::Output {
        output: String::from_utf8_lossy(&log.snapshot()).into_owned(),
        truncated: log.omitted().is_some(),
        exit: execution.finished().map(|finished| exit(&finished.outcome)),
    })
}

fn exit(outcome: &trl_proto::exec::Outcome) -> Exit {
    match &outcome.signal {
        Some(signal) => Exit { code: None, signal: Some(signal.clone()) },
        None => Exit { code: u32::try_from(outcome.exit_code).ok(), signal: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(kinds: &[OptionKind]) -> Vec<PermissionOption> {
        let option = |kind: &OptionKind| {
            let id = format!("{kind:?}");
            PermissionOption { option_id: id.clone(), name: id, kind: *kind }
        };
        kinds.iter().map(option).collect()
    }

    #[test]
    fn a_yes_is_never_given_for_a_no() {
        use OptionKind::{AllowAlways, AllowOnce, Other, RejectOnce};
        let all = offer(&[Other, AllowAlways, AllowOnce, RejectOnce]);
        let chosen = |id: &str| Reply::Chosen(id.into());
        assert_eq!(choose(&all, RequestState::Approved, Scope::Once), chosen("AllowOnce"));
        assert_eq!(choose(&all, RequestState::Approved, Scope::Session), chosen("AllowAlways"));
        assert_eq!(choose(&all, RequestState::Rejected, Scope::Once), chosen("RejectOnce"));
        assert_eq!(choose(&all, RequestState::Expired, Scope::Once), chosen("RejectOnce"));
        let yes = offer(&[Other, AllowOnce]);
        assert_eq!(choose(&yes, RequestState::Rejected, Scope::Once), Reply::Withdrawn);
        assert_eq!(choose(&[], RequestState::Approved, Scope::Once), Reply::Withdrawn);
        assert_eq!(choose(&all, RequestState::Cancelled, Scope::Once), Reply::Withdrawn);
    }

    #[test]
    fn a_part_of_a_file_is_whole_lines() {
        let text = "one\ntwo\nthree";
        assert_eq!(lines_of(text, None, None), text);
        assert_eq!(lines_of(text, Some(2), Some(1)), "two\n");
        assert_eq!(lines_of(text, Some(3), None), "three");
        assert_eq!(lines_of(text, Some(9), Some(9)), "");
    }

    #[test]
    fn people_see_what_the_tool_is_given() {
        let call = ToolCall {
            title: Some("Run a command".into()),
            tool_kind: Some("execute".into()),
            raw_input: Some(serde_json::json!({"command": "rm -r /"})),
            ..ToolCall::default()
        };
        assert_eq!(shown(&call), "execute: Run a command\n{\"command\":\"rm -r /\"}");
    }

    /// Another text of the same length, and another end beyond what is shown, are something else.
    #[test]
    fn what_is_not_shown_whole_is_told_apart() {
        let edit = |new_text: &str, input: &str| {
            let content = ToolContent::Diff { path: "a".into(), old_text: None, new_text: new_text.into() };
            let raw_input = Some(serde_json::json!(input));
            shown(&ToolCall { content: Some(vec![content]), raw_input, ..ToolCall::default() })
        };
        assert_ne!(edit("one", ""), edit("two", ""));
        let long = "é".repeat(LONGEST_SHOWN);
        let (first, second) = (edit("", &format!("{long}1")), edit("", &format!("{long}2")));
        assert!(first != second && first.chars().count() < LONGEST_SHOWN + 60, "{first}");
    }
}
