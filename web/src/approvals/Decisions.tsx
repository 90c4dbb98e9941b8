/** What was decided, by whom, newest first: the daemon's own record, read when somebody wants it. */
import { useEffect, useState, type JSX } from "react";
import { feed } from "../api/feed";
import { call, told } from "../api/http";
import type { Decided } from "../api/types";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { ago, useNow } from "../ui/time";
import { toast } from "../ui/toasts";
import { AT_ONCE, decided, withNewest, withOlder, type Log } from "./decisions";

const words: Partial<Record<string, { label: Key; badge: string }>> = {
  approved: { label: "decisions.approved", badge: "good" },
  granted: { label: "decisions.granted", badge: "good" },
  rejected: { label: "decisions.rejected", badge: "bad" },
  denied: { label: "decisions.denied", badge: "bad" },
  expired: { label: "decisions.expired", badge: "warn" },
  cancelled: { label: "decisions.cancelled", badge: "warn" },
};

export function Decisions(): JSX.Element {
  const t = useT();
  const [isShown, setShown] = useState(false);
  return (
    <section className="history" aria-label={t("decisions.title")}>
      <div className="card-head">
        <h2>{t("decisions.title")}</h2>
        <Button kind="quiet" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {t(isShown ? "decisions.hide" : "decisions.show")}
        </Button>
      </div>
      {isShown && <Entries />}
    </section>
  );
}

function Entries(): JSX.Element {
  const t = useT();
  const now = useNow(5_000);
  const { log, more } = useLog();
  const shown = log === null ? [] : decided(log);
  return (
    <>
      {log !== null && shown.length === 0 && <p className="muted">{t("decisions.none")}</p>}
      {shown.length > 0 && (
        <ol className="card settled">
          {shown.map((entry) => (
            <Row key={entry.seq} entry={entry} now={now} />
          ))}
        </ol>
      )}
      {log?.hasMore === true && <Button onClick={more}>{t("decisions.more")}</Button>}
    </>
  );
}

/** What is read so far, followed while it is shown. */
function useLog(): { log: Log | null; more: () => void } {
  const [log, setLog] = useState<Log | null>(null);
  useEffect(() => {
    let isOver = false;
    const newest = () => {
      call("hitl.audit", { limit: AT_ONCE }).then(({ entries }) => {
        if (!isOver) setLog((known) => withNewest(known, entries));
      }, failed);
    };
    newest();
    const stop = feed.listen((event) => {
      if (event === null || event.kind.startsWith("hitl.")) newest();
    });
    return () => {
      isOver = true;
      stop();
    };
  }, []);
  const more = () => {
    const last = log?.entries.at(-1);
    if (last === undefined) return;
    call("hitl.audit", { limit: AT_ONCE, before: last.seq }).then(
      ({ entries }) => setLog((known) => known && withOlder(known, entries)),
      failed,
    );
  };
  return { log, more };
}

function failed(error: unknown): void {
  toast(told(error), { kind: "error" });
}

function Row({ entry, now }: { entry: Decided; now: number }): JSX.Element {
  const t = useT();
  const { what, by, scope, reason, command, time } = entry;
  const word = words[what];
  const facts = [
    by ?? null,
    scope == null || scope === "once"
      ? null
      : t(scope === "always" ? "approvals.always" : "approvals.session"),
    reason ?? null,
  ].filter((fact) => fact !== null);
  return (
    <li>
      <span className={`badge ${word?.badge ?? "busy"}`}>{word === undefined ? what : t(word.label)}</span>
      <code title={command}>{command}</code>
      <span className="muted">{facts.join(" · ")}</span>
      <span className="muted nowrap" title={time}>
        {ago(t, time, now)}
      </span>
    </li>
  );
}
