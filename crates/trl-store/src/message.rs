//! Messages to the agents of sessions, and what came of them.
//!
//! 1. [`Store::put_message`] before anything is done about it, then [`Store::add_update`] one by one, then
//!    [`Store::end_message`].
//! 2. A message without an end was interrupted: whoever opens the file next says so.
//! 3. [`Store::messages`] is a page of them, [`Store::updates`] what came of one.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use trl_proto::agent::{AgentName, StopReason};
use trl_proto::id::{MessageId, SessionId};

use crate::error::{Result, StoreError};
use crate::moment::Moment;
use crate::queue::{Haste, Label, Ticket};
use crate::redact::{Clean, Redact, Redactor};
use crate::store::Store;
use crate::word;

/// A message that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub id: MessageId,
    pub session_id: SessionId,
    pub owner: String,
    pub text: String,
    pub created_at: Moment,
}

/// Something that was done about it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewUpdate {
    pub message_id: MessageId,
    pub seq: u64,
    pub at: Moment,
    pub what: Value,
}

/// Its end.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageEnd {
    pub id: MessageId,
    pub at: Moment,
    pub stop_reason: StopReason,
    pub error: Option<Value>,
}

/// As it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    pub id: MessageId,
    pub session_id: SessionId,
    pub owner: String,
    pub text: String,
    pub created_at: Moment,
    pub ended_at: Option<Moment>,
    pub stop_reason: Option<StopReason>,
    pub error: Option<Value>,
    /// Of its last update.
    pub last_seq: u64,
    /// Bytes of its updates.
    pub bytes: u64,
}

/// What an agent calls its conversation with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRecord {
    pub session_id: SessionId,
    pub agent_session_id: String,
    pub agent: AgentName,
}

impl Redact for NewMessage {
    fn redact(&mut self, with: &Redactor) {
        with.string(&mut self.text);
    }
}

impl Redact for NewUpdate {
    fn redact(&mut self, with: &Redactor) {
        with.json(&mut self.what);
    }
}

impl Redact for MessageEnd {
    fn redact(&mut self, with: &Redactor) {
        if let Some(error) = &mut self.error {
            with.json(error);
        }
    }
}

impl Store {
    pub fn put_message(&self, new: Clean<NewMessage>) -> Ticket<()> {
        let new = new.into_inner();
        let label = Label { name: "put_message", haste: Haste::Now, bytes: new.text.len() };
        self.write(label, move |conn| {
            let sql =
                "INSERT INTO messages (id, session_id, owner, text, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            let (id, session) = (new.id.as_str(), new.session_id.as_str());
            conn.prepare_cached(sql)?.execute(params![id, session, new.owner, new.text, new.created_at])?;
            Ok(())
        })
    }

    pub fn add_update(&self, new: Clean<NewUpdate>) -> Ticket<()> {
        let NewUpdate { message_id, seq, at, what } = new.into_inner();
        let what = what.to_string();
        let label = Label { name: "add_update", haste: Haste::Soon, bytes: what.len() };
        self.write(label, move |conn| {
            let sql = "INSERT INTO updates (message_id, seq, at, what) VALUES (?1, ?2, ?3, ?4)";
            conn.prepare_cached(sql)?.execute(params![message_id.as_str(), seq, at, what])?;
            Ok(())
        })
    }

    pub fn end_message(&self, end: Clean<MessageEnd>) -> Ticket<()> {
        let end = end.into_inner();
        let error = end.error.map(|error| error.to_string());
        let label = Label { name: "end_message", haste: Haste::Now, bytes: 0 };
        self.write(label, move |conn| {
            let sql = "UPDATE messages SET ended_at = ?2, stop_reason = ?3, error = ?4
                       WHERE id = ?1 AND stop_reason IS NULL";
            let values = params![end.id.as_str(), end.at, end.stop_reason.name(), error];
            conn.prepare_cached(sql)?.execute(values)?;
            Ok(())
        })
    }

    /// The newest `limit` before one of them, or before all that come; the newest first.
    pub async fn messages(
        &self,
        session: &SessionId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Vec<MessageRecord>> {
        let (session, before) = (session.clone(), before.cloned());
        self.read_latest(move |conn| page(conn, &session, before.as_ref(), limit)).await
    }

    pub async fn message(&self, id: &MessageId) -> Result<Option<MessageRecord>> {
        let id = id.clone();
        self.read_latest(move |conn| {
            let mut statement = conn.prepare_cached(&format!("{SELECT} WHERE id = ?1"))?;
            statement.query_row([id.as_str()], |row| Ok(read(row))).optional()?.transpose()
        })
        .await
    }

    /// Those after `since`, at most `limit`, with their times.
    pub async fn updates(
        &self,
        id: &MessageId,
        since: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Moment, Value)>> {
        let id = id.clone();
        self.read_latest(move |conn| {
            let sql =
                "SELECT seq, at, what FROM updates WHERE message_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![id.as_str(), since, limit])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((row.get(0)?, row.get(1)?, json(&row.get::<_, String>(2)?)?));
            }
            Ok(found)
        })
        .await
    }

    /// How an agent is given its conversation back.
    pub fn put_agent(&self, record: AgentRecord) -> Ticket<()> {
        let label = Label { name: "put_agent", haste: Haste::Now, bytes: 0 };
        self.write(label, move |conn| {
            let agent = serde_json::to_string(&record.agent).unwrap_or_default();
            let sql = "INSERT INTO agents (session_id, agent_session_id, agent) VALUES (?1, ?2, ?3)
                       ON CONFLICT (session_id) DO UPDATE SET agent_session_id = ?2, agent = ?3";
            let values = params![record.session_id.as_str(), record.agent_session_id, agent];
            conn.prepare_cached(sql)?.execute(values)?;
            Ok(())
        })
    }

    pub async fn agent(&self, session: &SessionId) -> Result<Option<AgentRecord>> {
        let session_id = session.clone();
        self.read_latest(move |conn| {
            let sql = "SELECT agent_session_id, agent FROM agents WHERE session_id = ?1";
            let mut statement = conn.prepare_cached(sql)?;
            let found = statement
                .query_row([session_id.as_str()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))
                .optional()?;
            Ok(found.map(|(agent_session_id, agent)| AgentRecord {
                session_id,
                agent_session_id,
                agent: serde_json::from_str(&agent).unwrap_or_default(),
            }))
        })
        .await
    }
}

const SELECT: &str = "SELECT id, session_id, owner, text, created_at, ended_at, stop_reason, error,
    (SELECT coalesce(max(seq), 0) FROM updates WHERE message_id = messages.id),
    (SELECT coalesce(sum(length(what)), 0) FROM updates WHERE message_id = messages.id) FROM messages";

fn page(
    conn: &Connection,
    session: &SessionId,
    before: Option<&MessageId>,
    limit: usize,
) -> Result<Vec<MessageRecord>> {
    let sql = format!(
        "{SELECT} WHERE session_id = ?1 AND seq < coalesce((SELECT seq FROM messages WHERE id = ?2), ?3)
         ORDER BY seq DESC LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows =
        statement.query(params![session.as_str(), before.map(MessageId::as_str), i64::MAX, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<MessageRecord> {
    let error: Option<String> = row.get(7)?;
    Ok(MessageRecord {
        id: word::id(&row.get::<_, String>(0)?)?,
        session_id: word::id(&row.get::<_, String>(1)?)?,
        owner: row.get(2)?,
        text: row.get(3)?,
        created_at: row.get(4)?,
        ended_at: row.get(5)?,
        stop_reason: row.get::<_, Option<String>>(6)?.as_deref().and_then(StopReason::named),
        error: error.as_deref().map(json).transpose()?,
        last_seq: row.get(8)?,
        bytes: row.get(9)?,
    })
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| StoreError::Internal(e.to_string()))
}

/// Nobody works on what an earlier process was sent.
pub(crate) fn settle(conn: &Connection, now: Moment) -> Result<u64> {
    let sql = "UPDATE messages SET stop_reason = ?1, ended_at = ?2 WHERE stop_reason IS NULL";
    Ok(conn.execute(sql, params![StopReason::Interrupted.name(), now])? as u64)
}

/// The oldest that are over, at most `most`.
pub(crate) fn prune(conn: &Connection, too_old: Moment, most: usize) -> Result<u64> {
    let sql =
        "SELECT id FROM messages WHERE stop_reason IS NOT NULL AND created_at < ?1 ORDER BY seq LIMIT ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let victims: rusqlite::Result<Vec<String>> =
        statement.query_map(params![too_old, most], |row| row.get(0))?.collect();
    let victims = victims?;
    for id in &victims {
        conn.prepare_cached("DELETE FROM updates WHERE message_id = ?1")?.execute([id])?;
        conn.prepare_cached("DELETE FROM messages WHERE id = ?1")?.execute([id])?;
    }
    Ok(victims.len() as u64)
}

pub(crate) fn delete(conn: &Connection, session: &SessionId) -> Result<()> {
    let of = "(SELECT id FROM messages WHERE session_id = ?1)";
    conn.execute(&format!("DELETE FROM updates WHERE message_id IN {of}"), [session.as_str()])?;
    conn.execute("DELETE FROM messages WHERE session_id = ?1", [session.as_str()])?;
    conn.execute("DELETE FROM agents WHERE session_id = ?1", [session.as_str()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Options;

    fn new(session: &SessionId, text: &str) -> NewMessage {
        let (id, created_at) = (MessageId::random(), Moment::now());
        NewMessage { id, session_id: session.clone(), owner: "agent".into(), text: text.into(), created_at }
    }

    #[tokio::test]
    async fn messages_are_read_back_clean_and_what_was_interrupted_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let (session, redactor) = (SessionId::random(), Redactor::new(["hunter22"]));
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let (first, second) = (new(&session, "my password is hunter22"), new(&session, "go on"));
        for message in [&first, &second] {
            store.put_message(redactor.clean(message.clone())).await.unwrap();
            for seq in 1..=3 {
                let what = json!({"kind": "text", "text": "hunter22 it is"});
                let update = NewUpdate { message_id: message.id.clone(), seq, at: Moment::now(), what };
                store.add_update(redactor.clean(update)).await.unwrap();
            }
        }
        let end = MessageEnd {
            id: first.id.clone(),
            at: Moment::now(),
            stop_reason: StopReason::EndTurn,
            error: None,
        };
        store.end_message(redactor.clean(end)).await.unwrap();
        store.close().await;

        let store = Store::open(dir.path(), Options::default()).unwrap();
        let all = store.messages(&session, None, 10).await.unwrap();
        let reasons: Vec<_> = all.iter().map(|m| (m.id.clone(), m.stop_reason, m.last_seq)).collect();
        assert_eq!(
            reasons,
            [
                (second.id.clone(), Some(StopReason::Interrupted), 3),
                (first.id.clone(), Some(StopReason::EndTurn), 3)
            ]
        );
        assert!(!all[1].text.contains("hunter22"), "{}", all[1].text);
        let updates = store.updates(&first.id, 1, 10).await.unwrap();
        assert_eq!(updates.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), [2, 3]);
        assert!(!updates[0].2.to_string().contains("hunter22"));
        assert_eq!(store.messages(&session, Some(&second.id), 10).await.unwrap().len(), 1);
        store.delete_session(&session).await.unwrap();
        assert!(store.messages(&session, None, 10).await.unwrap().is_empty());
        assert!(store.updates(&first.id, 0, 10).await.unwrap().is_empty());
        store.close().await;
    }

    #[tokio::test]
    async fn an_agent_is_known_by_its_newest_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let session_id = SessionId::random();
        for id in ["one", "two"] {
            let agent = AgentName { name: "x".into(), ..AgentName::default() };
            let record = AgentRecord { session_id: session_id.clone(), agent_session_id: id.into(), agent };
            store.put_agent(record).await.unwrap();
        }
        assert_eq!(store.agent(&session_id).await.unwrap().unwrap().agent_session_id, "two");
        assert_eq!(store.agent(&SessionId::random()).await.unwrap(), None);
        store.close().await;
    }
}
