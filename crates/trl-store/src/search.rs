//! Pages of history, newest first, and full-text search in it.
//!
//! A query is words. Each must begin a word of the command or of the output that was kept; a word with marks in it
//! (`foo-bar`, `src/main.rs`) must be there as it is. Nothing in it is an operator. A query of marks alone is looked for
//! literally, in the commands of a session's newest lines.

use rusqlite::{Connection, params};
use trl_proto::id::SessionId;

use crate::error::Result;
use crate::history::{self, COLUMNS, ExecutionRecord, session_word};
use crate::store::Store;

/// The most a page has.
const LONGEST_PAGE: usize = 500;
/// Words of a query; more say nothing more.
const MOST_WORDS: usize = 32;
/// How far back a query without words looks.
const LITERAL_DEPTH: i64 = 20_000;

/// Which executions; newest first.
#[derive(Debug, Clone, Default)]
pub struct HistoryQuery {
    /// None: of all sessions.
    pub session_id: Option<SessionId>,
    /// None: whosever they are.
    pub owner: Option<String>,
    pub text: Option<String>,
    /// Only those before this one: the last `seq` of the page before.
    pub before: Option<i64>,
    /// 50 unless told otherwise.
    pub limit: Option<usize>,
}

impl Store {
    pub async fn history(&self, query: HistoryQuery) -> Result<Vec<ExecutionRecord>> {
        self.read_latest(move |conn| page(conn, &query)).await
    }
}

fn page(conn: &Connection, query: &HistoryQuery) -> Result<Vec<ExecutionRecord>> {
    let text = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    match text.map(|text| (text, expression(text, query.session_id.as_ref()))) {
        None => listed(conn, query),
        Some((_, Some(expression))) => matching(conn, query, &expression),
        Some((text, None)) => literal(conn, query, text),
    }
}

fn limit(query: &HistoryQuery) -> usize {
    query.limit.unwrap_or(50).min(LONGEST_PAGE)
}

fn before(query: &HistoryQuery) -> i64 {
    query.before.unwrap_or(i64::MAX)
}

fn listed(conn: &Connection, query: &HistoryQuery) -> Result<Vec<ExecutionRecord>> {
    let (before, limit) = (before(query), limit(query));
    match (&query.session_id, &query.owner) {
        (Some(session), owner) => {
            let sql = format!(
                "{COLUMNS} WHERE session_id = ?1 AND seq < ?2 AND (?4 IS NULL OR owner = ?4) ORDER BY seq DESC LIMIT ?3"
            );
            records(conn, &sql, params![session.as_str(), before, limit, owner])
        }
        (None, Some(owner)) => {
            let sql = format!("{COLUMNS} WHERE owner = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3");
            records(conn, &sql, params![owner, before, limit])
        }
        (None, None) => {
            let sql = format!("{COLUMNS} WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2");
            records(conn, &sql, params![before, limit])
        }
    }
}

fn matching(conn: &Connection, query: &HistoryQuery, expression: &str) -> Result<Vec<ExecutionRecord>> {
    let sql = format!(
        "{COLUMNS} WHERE seq IN (SELECT rowid FROM history WHERE history MATCH ?1 AND rowid < ?2
                                 AND (?4 IS NULL OR ?4 = (SELECT owner FROM executions WHERE seq = history.rowid))
                                 ORDER BY rowid DESC LIMIT ?3)
         ORDER BY seq DESC"
    );
    records(conn, &sql, params![expression, before(query), limit(query), query.owner])
}

fn literal(conn: &Connection, query: &HistoryQuery, text: &str) -> Result<Vec<ExecutionRecord>> {
    let sql = format!(
        "{COLUMNS} WHERE (?1 IS NULL OR session_id = ?1) AND seq < ?2 AND instr(command, ?3) > 0
           AND seq > (SELECT coalesce(max(seq), 0) FROM executions) - ?5 AND (?6 IS NULL OR owner = ?6)
         ORDER BY seq DESC LIMIT ?4"
    );
    let session = query.session_id.as_ref().map(SessionId::as_str);
    records(conn, &sql, params![session, before(query), text, limit(query), LITERAL_DEPTH, query.owner])
}

fn records(conn: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<ExecutionRecord>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(history::read(row)?);
    }
    Ok(records)
}

/// In the language of FTS5; none when there is no word in it. Each word is quoted, so that it is nothing but a word.
fn expression(text: &str, session: Option<&SessionId>) -> Option<String> {
    let has_letters = |word: &&str| word.chars().any(char::is_alphanumeric);
    let quoted = |word: &str| format!("\"{}\" *", word.replace(['"', '\0'], " "));
    let words: Vec<String> =
        text.split_whitespace().filter(has_letters).take(MOST_WORDS).map(quoted).collect();
    if words.is_empty() {
        return None;
    }
    let words = format!("{{command output}} : ({})", words.join(" AND "));
    Some(match session {
        Some(session) => format!("session : \"{}\" AND ({words})", session_word(session)),
        None => words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_quoted() {
        let session: SessionId = "s-abcdefgh".parse().unwrap();
        assert_eq!(expression("git pu", None).unwrap(), r#"{command output} : ("git" * AND "pu" *)"#);
        assert_eq!(
            expression("a\"b -- OR", Some(&session)).unwrap(),
            r#"session : "abcdefgh" AND ({command output} : ("a b" * AND "OR" *))"#
        );
        assert_eq!(expression("-- && *", None), None);
    }
}
