//! Cases of a workspace that an operator has trusted, each as the file was then.

use rusqlite::{Connection, Row, params};
use serde_json::json;

use crate::audit::{self, AuditEntry};
use crate::error::Result;
use crate::moment::Moment;
use crate::queue::{Label, Ticket};
use crate::store::Store;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPin {
    /// Of the file.
    pub path: String,
    pub case_id: String,
    /// Of its content: another content is not trusted.
    pub digest: String,
    pub by: String,
    pub at: Moment,
}

impl Store {
    /// In place of an earlier pin of the same file.
    pub fn trust_case(&self, pin: TrustPin) -> Ticket<()> {
        self.write(Label::durable("trust", pin.path.len()), move |conn| pin_it(conn, &pin))
    }

    /// Says whether it was trusted.
    pub fn distrust_case(&self, path: &str, by: &str, now: Moment) -> Ticket<bool> {
        let (path, by) = (path.to_string(), by.to_string());
        self.write(Label::durable("distrust", path.len()), move |conn| {
            let removed = conn.prepare_cached("DELETE FROM trust WHERE path = ?1")?.execute([&path])?;
            if removed > 0 {
                let detail = json!({ "path": path });
                audit::append(conn, &AuditEntry { detail, ..AuditEntry::new(now, &by, "case.distrusted") })?;
            }
            Ok(removed > 0)
        })
    }

    /// All of them, by path.
    pub async fn trusted_cases(&self) -> Result<Vec<TrustPin>> {
        let work = |conn: &Connection| {
            let mut statement =
                conn.prepare("SELECT path, case_id, digest, who, at FROM trust ORDER BY path")?;
            let pins: rusqlite::Result<Vec<TrustPin>> = statement.query_map([], read)?.collect();
            Ok(pins?)
        };
        self.read(work).await
    }
}

fn pin_it(conn: &Connection, pin: &TrustPin) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO trust (path, case_id, digest, who, at) VALUES (?1, ?2, ?3, ?4, ?5)";
    conn.prepare_cached(sql)?.execute(params![pin.path, pin.case_id, pin.digest, pin.by, pin.at])?;
    let detail = json!({ "path": pin.path, "case_id": pin.case_id, "digest": pin.digest });
    audit::append(conn, &AuditEntry { detail, ..AuditEntry::new(pin.at, &pin.by, "case.trusted") })?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<TrustPin> {
    Ok(TrustPin {
        path: row.get(0)?,
        case_id: row.get(1)?,
        digest: row.get(2)?,
        by: row.get(3)?,
        at: row.get(4)?,
    })
}
