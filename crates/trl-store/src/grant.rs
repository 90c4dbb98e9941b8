//! Grants: what a session may run without asking again.
//!
//! A one-shot grant is for one digest and is gone when it is taken. A grant for the session is a rule that holds until the
//! session ends; what a rule means is known elsewhere.

use rusqlite::{Connection, OptionalExtension, Row, params};
use trl_proto::id::{RequestId, SessionId};

use crate::audit::{self, AuditEntry};
use crate::error::{Result, StoreError};
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::redact::{Clean, Redact, Redactor};
use crate::store::Store;
use crate::word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantKind {
    Once { digest: String },
    Session { rule: String },
}

impl GrantKind {
    fn columns(&self) -> (&'static str, &str) {
        match self {
            Self::Once { digest } => ("once", digest),
            Self::Session { rule } => ("session", rule),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    pub session_id: SessionId,
    pub kind: GrantKind,
    /// None: as long as the session.
    pub expires_at: Option<Moment>,
}

impl Redact for NewGrant {
    /// A rule with a secret in it fits nothing any more: it asks again.
    fn redact(&mut self, with: &Redactor) {
        if let GrantKind::Session { rule } = &mut self.kind {
            with.string(rule);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub id: i64,
    pub session_id: SessionId,
    pub kind: GrantKind,
    /// The approval it comes from.
    pub request_id: Option<RequestId>,
    pub created_at: Moment,
    pub expires_at: Option<Moment>,
}

impl Store {
    pub fn add_grant(&self, new: Clean<NewGrant>, now: Moment) -> Ticket<i64> {
        self.write(Label::durable("grant", 256), move |conn| add(conn, &new, None, now))
    }

    /// Takes the one-shot grant for what this digest stands for, if there is one. Nobody else gets it.
    pub fn take_grant(&self, session: &SessionId, digest: &str, now: Moment) -> Ticket<Option<Grant>> {
        let (session, digest) = (session.clone(), digest.to_string());
        self.write(Label::durable("take_grant", 0), move |conn| take(conn, &session, &digest, now))
    }

    /// All that hold.
    pub async fn grants(&self, session: &SessionId, now: Moment) -> Result<Vec<Grant>> {
        let session = session.clone();
        self.read(move |conn| list(conn, &session, now)).await
    }

    /// Rules granted to sessions, by session.
    pub async fn session_rules(&self) -> Result<Vec<(SessionId, String)>> {
        self.read(|conn| {
            let sql = "SELECT session_id, what FROM grants WHERE kind = 'session' ORDER BY id";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut rules = Vec::new();
            while let Some(row) = rows.next()? {
                rules.push((word::id(&row.get::<_, String>(0)?)?, row.get(1)?));
            }
            Ok(rules)
        })
        .await
    }

    /// When the session ends; returns how many there were.
    pub fn drop_grants(&self, session: &SessionId) -> Ticket<u64> {
        let session = session.clone();
        self.write(Label::durable("drop_grants", 0), move |conn| {
            let mut statement = conn.prepare_cached("DELETE FROM grants WHERE session_id = ?1")?;
            Ok(statement.execute([session.as_str()])? as u64)
        })
    }
}

pub(crate) fn add(
    conn: &Connection,
    new: &NewGrant,
    request: Option<&RequestId>,
    now: Moment,
) -> Result<i64> {
    let (kind, what) = new.kind.columns();
    let sql = "INSERT INTO grants (session_id, kind, what, request_id, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let request = request.map(RequestId::as_str);
    let values = params![new.session_id.as_str(), kind, what, request, now, new.expires_at];
    conn.prepare_cached(sql)?.execute(values)?;
    Ok(conn.last_insert_rowid())
}

pub(crate) fn take(
    conn: &Connection,
    session: &SessionId,
    digest: &str,
    now: Moment,
) -> Result<Option<Grant>> {
    let sql = "DELETE FROM grants WHERE id =
                   (SELECT min(id) FROM grants WHERE session_id = ?1 AND kind = 'once' AND what = ?2
                    AND (expires_at IS NULL OR expires_at > ?3))
               RETURNING id, session_id, kind, what, request_id, created_at, expires_at";
    let mut statement = conn.prepare_cached(sql)?;
    let taken =
        statement.query_row(params![session.as_str(), digest, now], |row| Ok(read(row))).optional()?;
    let Some(grant) = taken.transpose()? else { return Ok(None) };
    let entry = AuditEntry {
        session_id: Some(session.clone()),
        request_id: grant.request_id.clone(),
        detail: serde_json::json!({ "digest": digest }),
        ..AuditEntry::new(now, "trl", "grant.used")
    };
    audit::append(conn, &entry)?;
    Ok(Some(grant))
}

fn list(conn: &Connection, session: &SessionId, now: Moment) -> Result<Vec<Grant>> {
    let sql = "SELECT id, session_id, kind, what, request_id, created_at, expires_at FROM grants
               WHERE session_id = ?1 AND (expires_at IS NULL OR expires_at > ?2) ORDER BY id";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![session.as_str(), now])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        grants.push(read(row)?);
    }
    Ok(grants)
}

fn read(row: &Row<'_>) -> Result<Grant> {
    let kind: String = row.get(2)?;
    let what: String = row.get(3)?;
    Ok(Grant {
        id: row.get(0)?,
        session_id: word::id(&row.get::<_, String>(1)?)?,
        kind: match kind.as_str() {
            "once" => GrantKind::Once { digest: what },
            "session" => GrantKind::Session { rule: what },
            other => return Err(StoreError::Internal(format!("{other:?} is no kind of grant"))),
        },
        request_id: word::optional_id(row.get(4)?)?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
    })
}
