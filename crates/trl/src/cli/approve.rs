//! `trl approve` and `trl reject`: a person answers what waits. For the operator only.
//!
//! 1. With ids: those, at once.
//! 2. At a terminal without ids: one after the other, oldest first, each shown whole ([`card`]) and answered with one key; then
//!    it waits for more.
//! 3. Otherwise: the list.

use std::io::IsTerminal;

use trl_client::{Answer, Approvals};
use trl_proto::event::{Kind, SubscribeParams, Subscribed};
use trl_proto::hitl::{ApprovalRequest, Decision, RequestList, RequestListParams, Scope};
use trl_proto::{Method, RequestId, Untrusted, by_name};
use trl_sys::pty::Size;
use trl_sys::tty::Tty;

use super::card;
use super::failure::Failure;
use super::print::{self, Format, Output};
use super::session::ago;
use super::table::Table;
use crate::client::{self, Auth, ClientError, Connection, Pushes, Start};
use crate::config::Config;

const HELP: &str = "y yes, once   s yes, for this session   a always   e edit   n no   r no, with a reason   k later   q leave";

const MORE: &str = "space shows more   n no   r no, with a reason   k later   q leave";

/// Of a terminal that does not say how large it is.
const USUAL: Size = Size { cols: 80, rows: 24 };

/// Characters of a command in the list.
const LISTED: usize = 60;

/// ^C and ^D.
const INTERRUPT: u8 = 3;
const END: u8 = 4;

#[derive(Debug, clap::Args)]
pub(super) struct ApproveArgs {
    /// Requests to approve; without any, go through all that wait
    requests: Vec<RequestId>,
    /// How far the yes reaches: once, session or always
    #[arg(long, value_parser = by_name::<Scope>, requires = "requests")]
    scope: Option<Scope>,
    /// Run this in its place
    #[arg(long, value_name = "COMMAND", requires = "requests")]
    edit: Option<String>,
    /// List what waits, and answer nothing
    #[arg(long, conflicts_with = "requests")]
    list: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub(super) struct RejectArgs {
    #[arg(required = true)]
    requests: Vec<RequestId>,
    /// Told to whoever asked
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn approve(config: &Config, args: ApproveArgs) -> Result<u8, Failure> {
    let (client, pushes) = client::connect(config, Start::Never, Auth::Required).await?;
    let requests = Approvals::new(client.clone());
    if !args.requests.is_empty() {
        for id in &args.requests {
            let command = args.edit.clone();
            let answer = Answer { decision: Decision::Approve, scope: args.scope, command, reason: None };
            answer_one(&requests, id, answer, args.output).await?;
        }
    } else if args.list || args.output.format() == Format::Json || !std::io::stdin().is_terminal() {
        list(&requests, args.output).await?;
    } else {
        return go_through(&client, pushes).await;
    }
    Ok(0)
}

pub(super) async fn reject(config: &Config, args: RejectArgs) -> Result<u8, Failure> {
    let (client, _pushes) = client::connect(config, Start::Never, Auth::Required).await?;
    let requests = Approvals::new(client);
    for id in &args.requests {
        answer_one(&requests, id, Answer::reject(args.reason.clone()), args.output).await?;
    }
    Ok(0)
}

async fn answer_one(
    requests: &Approvals,
    id: &RequestId,
    answer: Answer,
    output: Output,
) -> Result<(), Failure> {
    let seen = requests.get(id).await?;
    let settled = requests.respond(&seen, answer).await?;
    match output.format() {
        Format::Json => print::json(&settled),
        Format::People => print::line(&format!("{} {}", settled.request_id, outcome(&settled))),
    }
}

async fn list(requests: &Approvals, output: Output) -> Result<(), Failure> {
    let list = RequestList { requests: requests.list(RequestListParams::default()).await? };
    if output.format() == Format::Json {
        return print::json(&list);
    }
    let mut table = Table::new(&["REQUEST", "SESSION", "WAITS", "DIRECTORY", "COMMAND"]);
    for request in list.requests {
        table.row([
            request.request_id.to_string(),
            place(&request),
            ago(&request.created_at),
            request.working_dir,
            card::brief(&request.command, LISTED),
        ]);
    }
    print::text(&table.render())
}

pub(super) fn place(request: &ApprovalRequest) -> String {
    let session = request.session_id.as_ref().map(ToString::to_string);
    let id = session.or(request.terminal_id.as_ref().map(ToString::to_string)).unwrap_or_default();
    request.session_name.clone().unwrap_or(id)
}

/// Until somebody has had enough.
async fn go_through(client: &Connection, mut pushes: Pushes) -> Result<u8, Failure> {
    let kinds = Some(vec![Kind::HitlRequested, Kind::HitlResolved]);
    let params = SubscribeParams { kinds, ..SubscribeParams::default() };
    let _subscribed: Subscribed = client.call(Method::EventsSubscribe, &params).await?;
    let requests = Approvals::new(client.clone());
    let mut later: Vec<RequestId> = Vec::new();
    let mut waits = false;
    loop {
        let list = requests.list(RequestListParams::default()).await?;
        let next = list.into_iter().find(|request| !later.contains(&request.request_id));
        let Some(request) = next else {
            if !std::mem::replace(&mut waits, true) {
                print::line("Nothing waits. What comes is shown here; ^C leaves.")?;
            }
            if pushes.next().await.is_none() {
                return Err(ClientError::Lost.into());
            }
            continue;
        };
        waits = false;
        match review(&request).await? {
            Reply::Leave => return Ok(0),
            Reply::Later => later.push(request.request_id),
            Reply::Say(answer) => match requests.respond(&request, answer).await {
                Ok(settled) => print::text(&format!("   {}\n\n", outcome(&settled)))?,
                // Somebody else was faster, or it has expired: that is news, not a failure.
                Err(ClientError::Refused(error)) => {
                    print::text(&format!("   {}\n\n", Untrusted::new(&error.message)))?
                }
                Err(error) => return Err(error.into()),
            },
        }
    }
}

pub(super) enum Reply {
    Say(Answer),
    Later,
    Leave,
}

/// Shows all of a request on the terminal, page by page, and reads the answer. Nothing is approved by a key before the last page
/// was shown, and keys that were pressed before the first one count for nothing.
pub(super) async fn review(request: &ApprovalRequest) -> Result<Reply, Failure> {
    let tty = Tty::take()?;
    let size = tty.size().filter(|size| size.cols > 0 && size.rows > 0).unwrap_or(USUAL);
    tty.discard()?;
    drop(tty);
    let below = card::rows(HELP, size).len().max(card::rows(MORE, size).len()) + 1;
    let pages = card::pages(&card::lines(request), size, below);
    for (at, page) in pages.iter().enumerate() {
        print::to_terminal(page)?;
        if at + 1 < pages.len() {
            print::to_terminal(&[format!("── page {} of {}: {MORE}", at + 1, pages.len())])?;
            if let Some(reply) = turn().await? {
                return Ok(reply);
            }
        }
    }
    ask(request).await
}

/// On to the next page, or an answer that needs no more of them.
async fn turn() -> Result<Option<Reply>, Failure> {
    loop {
        match read_key().await? {
            b' ' | b'\r' => return Ok(None),
            b'y' | b's' | b'a' | b'e' => print::to_terminal(&["   read all of it first: space shows more"])?,
            b'n' => return Ok(Some(Reply::Say(Answer::reject(None)))),
            b'r' => return Ok(Some(Reply::Say(Answer::reject(read_line("reason: ")?)))),
            b'k' => return Ok(Some(Reply::Later)),
            b'q' | INTERRUPT | END => return Ok(Some(Reply::Leave)),
            _ => {}
        }
    }
}

/// One key; those that need more words read a line.
async fn ask(request: &ApprovalRequest) -> Result<Reply, Failure> {
    print::to_terminal(&[HELP])?;
    loop {
        return Ok(match read_key().await? {
            b'y' => Reply::Say(Answer::approve(Scope::Once)),
            b's' if request.scopes.contains(&Scope::Session) => Reply::Say(Answer::approve(Scope::Session)),
            b'a' if request.scopes.contains(&Scope::Always) => Reply::Say(Answer::approve(Scope::Always)),
            b'n' => Reply::Say(Answer::reject(None)),
            b'r' => Reply::Say(Answer::reject(read_line("reason: ")?)),
            b'e' => match read_line("run this instead: ")? {
                Some(command) => Reply::Say(Answer::edited(command)),
                None => continue,
            },
            b'k' => Reply::Later,
            b'q' | INTERRUPT | END => Reply::Leave,
            b's' | b'a' => {
                print::to_terminal(&["   this one can only be approved once"])?;
                continue;
            }
            _ => continue,
        });
    }
}

/// The terminal is ours for the one key only.
async fn read_key() -> Result<u8, Failure> {
    let tty = Tty::take()?;
    let typed = tty.read().await;
    tty.restore();
    Ok(typed?.first().copied().unwrap_or(END))
}

/// None when it is empty.
fn read_line(prompt: &str) -> Result<Option<String>, Failure> {
    print::prompt(prompt)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let line = line.trim_end_matches('\n');
    Ok((!line.is_empty()).then(|| line.to_string()))
}

pub(super) fn outcome(request: &ApprovalRequest) -> String {
    serde_json::to_value(request.state).ok().and_then(|s| s.as_str().map(String::from)).unwrap_or_default()
}
