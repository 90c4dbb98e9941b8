/** Every session the token may see, live ones first. */
import { useEffect, useState, type JSX } from "react";
import { go } from "../app/router";
import { To } from "../app/To";
import { call, told } from "../api/http";
import { useT } from "../i18n";
import { Button } from "../ui/Button";
import { useStore } from "../ui/store";
import { ago, useNow } from "../ui/time";
import { toast } from "../ui/toasts";
import { NewSession } from "./NewSession";
import { canOpen, isOver, sessions, type Listed } from "./sessions";
import { StatePill } from "./StatePill";
import "./sessions.css";

export default function SessionsPage(): JSX.Element {
  const t = useT();
  const { listed, isKnown, failure } = useStore(sessions.state);
  const [isMaking, setMaking] = useState(false);
  useEffect(() => sessions.follow(), []);
  const live = listed.filter(({ session }) => !isOver(session.state));
  const over = listed.filter(({ session }) => isOver(session.state));
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.sessions")}</h1>
        <Button kind="primary" icon="plus" onClick={() => setMaking(true)} aria-expanded={isMaking}>
          {t("sessions.new")}
        </Button>
      </div>
      {failure !== null && <p className="danger-text">{failure}</p>}
      {isMaking && <NewSession onDone={() => setMaking(false)} />}
      {isKnown && live.length === 0 && (
        <div className="card empty">
          <h2>{t("sessions.empty")}</h2>
          <p className="muted">{t("sessions.emptyHint")}</p>
          <code>trl run &apos;echo hello&apos;</code>
        </div>
      )}
      {live.length > 0 && <Table listed={live} label={t("sessions.live")} />}
      {over.length > 0 && (
        <section className="history">
          <h2>{t("sessions.history")}</h2>
          <Table listed={over} label={t("sessions.history")} />
        </section>
      )}
    </div>
  );
}

function Table({ listed, label }: { listed: readonly Listed[]; label: string }): JSX.Element {
  const t = useT();
  const now = useNow(5_000);
  return (
    <div className="card table-card">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            <th>{t("sessions.state")}</th>
            <th>{t("sessions.name")}</th>
            <th>{t("sessions.command")}</th>
            <th className="wide-only">{t("sessions.dir")}</th>
            <th className="wide-only">{t("sessions.runtime")}</th>
            <th className="wide-only">{t("sessions.age")}</th>
            <th>{t("sessions.active")}</th>
          </tr>
        </thead>
        <tbody>
          {listed.map((one) => (
            <Row key={one.session.session_id} {...one} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ session, last, now }: Listed & { now: number }): JSX.Element {
  const t = useT();
  const command = session.running?.command ?? last?.command;
  return (
    <tr>
      <td>
        {session.state === "waiting_hitl" ? (
          <To route={{ page: "approvals" }}>
            <StatePill state={session.state} />
          </To>
        ) : (
          <StatePill state={session.state} />
        )}
      </td>
      <td>
        <To route={{ page: "session", id: session.session_id }}>{session.name ?? session.session_id}</To>
      </td>
      <td className="command">
        {command === undefined ? <span className="muted">–</span> : <code title={command}>{command}</code>}
      </td>
      <td className="wide-only">
        <code className="muted">{session.working_dir}</code>
      </td>
      <td className="wide-only muted">{session.runtime}</td>
      <td className="wide-only muted nowrap" title={session.created_at}>
        {ago(t, session.created_at, now)}
      </td>
      <td className="muted nowrap">
        {canOpen(session.state) ? (
          <Button onClick={() => void open(session.session_id)}>{t("sessions.open")}</Button>
        ) : (
          ago(t, session.last_activity, now)
        )}
      </td>
    </tr>
  );
}

async function open(session_id: string): Promise<void> {
  try {
    await call("session.get", { session_id });
    go({ page: "session", id: session_id });
  } catch (error) {
    toast(told(error), { kind: "error" });
  }
}
