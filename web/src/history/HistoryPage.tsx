/** What was run, in all sessions or in one, whether they still are or not: newest first, with search. */
import { useEffect, useState, type JSX, type SyntheticEvent } from "react";
import type { HistoryEntry } from "../api/types";
import { feed } from "../api/feed";
import { call, told } from "../api/http";
import { go } from "../app/router";
import { To } from "../app/To";
import { useT, type T } from "../i18n";
import { Coloured } from "../sessions/Coloured";
import { Button, IconButton } from "../ui/Button";
import { ago, duration, size, useNow } from "../ui/time";
import { toast } from "../ui/toasts";
import { AT_ONCE, endingOf, firstPage, outputOf, withNewest, withOlder, type Pages } from "./history";
import "../sessions/sessions.css";
import "./history.css";

export default function HistoryPage({ session }: { session: string | undefined }): JSX.Element {
  const t = useT();
  const [query, setQuery] = useState("");
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.history")}</h1>
        {session !== undefined && (
          <>
            <span className="muted">
              {t("history.of")} <To route={{ page: "session", id: session }}>{session}</To>
            </span>
            <ToChat key={session} session={session} />
            <IconButton icon="close" label={t("history.all")} onClick={() => go({ page: "history" })} />
          </>
        )}
        <Search onSearch={setQuery} />
      </div>
      <Entries key={`${session ?? ""} ${query}`} session={session} query={query} />
    </div>
  );
}

/** What was said is no command: it has a page of its own. */
function ToChat({ session }: { session: string }): JSX.Element | null {
  const t = useT();
  const [hasAgent, setHasAgent] = useState(false);
  useEffect(() => {
    call("session.info", { session_id: session }).then(
      ({ agent }) => setHasAgent(agent != null),
      // The daemon has forgotten the session; then there is nothing to lead to.
      () => undefined,
    );
  }, [session]);
  return hasAgent ? <To route={{ page: "chat", session }}>{t("nav.chat")}</To> : null;
}

function Search({ onSearch }: { onSearch: (query: string) => void }): JSX.Element {
  const t = useT();
  const [text, setText] = useState("");
  const search = (event: SyntheticEvent) => {
    event.preventDefault();
    onSearch(text.trim());
  };
  return (
    <form className="history-search" role="search" onSubmit={search}>
      <input
        type="search"
        value={text}
        aria-label={t("history.search")}
        placeholder={t("history.search")}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") onSearch("");
        }}
      />
      <Button type="submit" icon="search">
        {t("history.find")}
      </Button>
    </form>
  );
}

function Entries({ session, query }: { session: string | undefined; query: string }): JSX.Element {
  const t = useT();
  const now = useNow(5_000);
  const { pages, failure, more } = usePages(session, query);
  return (
    <>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
      {pages?.entries.length === 0 && (
        <p className="card muted empty">{t(query === "" ? "history.empty" : "history.notFound")}</p>
      )}
      {pages?.entries.map((entry) => (
        <Entry key={entry.seq} entry={entry} now={now} />
      ))}
      {pages?.next != null && (
        <div className="history-more">
          <Button onClick={more}>{t("history.older")}</Button>
        </div>
      )}
    </>
  );
}

/** What is read so far; what ends meanwhile is put before it. */
function usePages(
  session: string | undefined,
  query: string,
): { pages: Pages | null; failure: string | null; more: () => void } {
  const [pages, setPages] = useState<Pages | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    const newest = () => {
      call("session.history", asked(session, query)).then(
        (page) => {
          if (isOver) return;
          setFailure(null);
          setPages((known) => (known === null ? firstPage(page) : withNewest(known, page)));
        },
        (error: unknown) => {
          if (!isOver) setFailure(told(error));
        },
      );
    };
    newest();
    const stop = feed.listen((event) => {
      if (event === null || event.kind === "exec.finished") newest();
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [session, query]);
  const more = () => {
    if (pages?.next == null) return;
    call("session.history", { ...asked(session, query), before: pages.next }).then(
      (page) => setPages((known) => known && withOlder(known, page)),
      (error: unknown) => toast(told(error), { kind: "error" }),
    );
  };
  return { pages, failure, more };
}

function asked(
  session: string | undefined,
  query: string,
): { session_id?: string; query?: string; limit: number } {
  return {
    limit: AT_ONCE,
    ...(session === undefined ? {} : { session_id: session }),
    ...(query === "" ? {} : { query }),
  };
}

function Entry({ entry, now }: { entry: HistoryEntry; now: number }): JSX.Element {
  const t = useT();
  const output = outputOf(entry);
  const { stdout, stderr } = entry;
  // Of a command that a killed daemon had begun, nobody knows how much it wrote.
  const bytes = stdout.bytes == null || stderr.bytes == null ? null : stdout.bytes + stderr.bytes;
  return (
    <article className="block" aria-label={entry.command}>
      <header>
        <pre className="block-command" tabIndex={entry.command.length > 200 ? 0 : undefined}>
          {entry.command}
        </pre>
        <span className="block-status">
          {entry.duration_ms != null && <span className="muted">{duration(entry.duration_ms)}</span>}
          <EndBadge entry={entry} />
        </span>
      </header>
      <div className="block-foot muted small history-facts">
        <To route={{ page: "session", id: entry.session_id }}>{entry.session_id}</To>
        <code>{entry.working_dir}</code>
        <span title={entry.started_at}>{ago(t, entry.started_at, now)}</span>
        {entry.request_id != null && <span>{t("history.approved")}</span>}
      </div>
      {output.length > 0 && (
        <details className="history-output">
          <summary>
            {bytes === null ? t("session.output") : t("history.output", { size: size(bytes) })}
          </summary>
          <pre className="output" tabIndex={0} aria-label={t("session.output")}>
            {output.map((segment, at) =>
              segment.kind === "text" ? (
                <span key={at} className={segment.stream}>
                  <Coloured text={segment.text} />
                </span>
              ) : (
                <span key={at} className="gap">
                  {t("history.gap", {
                    size: size(segment.range.to - segment.range.from),
                    stream: segment.stream,
                  })}
                </span>
              ),
            )}
          </pre>
        </details>
      )}
    </article>
  );
}

function EndBadge({ entry }: { entry: HistoryEntry }): JSX.Element {
  const t = useT();
  const { text, badge } = endWords(t, entry);
  return <span className={`badge ${badge}`}>{text}</span>;
}

function endWords(t: T, entry: HistoryEntry): { text: string; badge: string } {
  const ending = endingOf(entry);
  switch (ending.kind) {
    case "exit":
      return { text: t("session.exit", { code: ending.code }), badge: ending.code === 0 ? "good" : "bad" };
    case "killed":
      return { text: ending.signal, badge: "bad" };
    case "cancelled":
      return { text: t("history.cancelled"), badge: "warn" };
    case "timedOut":
      return { text: t("history.timedOut"), badge: "bad" };
    case "unknown":
      return { text: t("session.unknown"), badge: "bad" };
    case "underWay":
      return { text: t("state.running"), badge: "busy" };
  }
}
