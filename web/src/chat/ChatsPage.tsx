/** Conversations: those there are, and the beginning of another. */
import { useEffect, useState, type JSX, type SyntheticEvent } from "react";
import { told } from "../api/http";
import type { CaseInfo } from "../api/types";
import { To } from "../app/To";
import { useT } from "../i18n";
import { sessions } from "../sessions/sessions";
import { StatePill } from "../sessions/StatePill";
import { Button } from "../ui/Button";
import { Icon } from "../ui/icons";
import { useStore } from "../ui/store";
import { ago, useNow } from "../ui/time";
import { begin, useAgentCases } from "./cases";
import "../sessions/sessions.css";
import "./chat.css";

export default function ChatsPage(): JSX.Element {
  const t = useT();
  const cases = useAgentCases();
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.chat")}</h1>
      </div>
      {cases?.length === 0 && <NoAgents />}
      {cases !== null && cases.length > 0 && <NewChat cases={cases} />}
      <Chats />
    </div>
  );
}

const EXAMPLE = `agent:
  command: [opencode, acp]`;

function NoAgents(): JSX.Element {
  const t = useT();
  return (
    <div className="card empty">
      <span className="empty-icon">
        <Icon name="chat" />
      </span>
      <h2>{t("chat.noCases")}</h2>
      <p className="muted">{t("chat.noCasesHint")}</p>
      <pre className="chat-example">{EXAMPLE}</pre>
      <To route={{ page: "cases" }}>{t("nav.cases")}</To>
    </div>
  );
}

function NewChat({ cases }: { cases: readonly CaseInfo[] }): JSX.Element {
  const t = useT();
  const [chosen, setChosen] = useState(cases[0]?.case_id ?? "");
  const [dir, setDir] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const about = cases.find(({ case_id }) => case_id === chosen)?.description;
  const start = (event: SyntheticEvent) => {
    event.preventDefault();
    begin({ case_id: chosen, ...(dir === "" ? {} : { working_dir: dir }) }).catch((error: unknown) =>
      setFailure(told(error)),
    );
  };
  return (
    <form className="card new-session" aria-label={t("chat.begin")} onSubmit={start}>
      <label>
        {t("chat.case")}
        <select value={chosen} onChange={({ target }) => setChosen(target.value)}>
          {cases.map(({ case_id }) => (
            <option key={case_id}>{case_id}</option>
          ))}
        </select>
      </label>
      <label>
        {t("sessions.dir")}
        <input value={dir} placeholder="~" onChange={({ target }) => setDir(target.value)} />
      </label>
      <Button type="submit" kind="primary" icon="chat">
        {t("chat.begin")}
      </Button>
      {about != null && <p className="muted chat-about">{about}</p>}
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
    </form>
  );
}

/** Sessions whose case names an agent, the one that was busy last first. */
function Chats(): JSX.Element | null {
  const t = useT();
  const now = useNow(5_000);
  useEffect(() => sessions.follow(), []);
  const { listed, failure } = useStore(sessions.state);
  const chats = listed.filter(({ session }) => session.agent != null);
  if (failure !== null) return <p className="danger-text">{failure}</p>;
  if (chats.length === 0) return null;
  return (
    <section className="history" aria-label={t("chat.all")}>
      <h2>{t("chat.all")}</h2>
      <ul className="card chats">
        {chats.map(({ session: { session_id, name, case_id, state, working_dir, last_activity } }) => (
          <li key={session_id}>
            <To route={{ page: "chat", session: session_id }}>{name ?? case_id ?? session_id}</To>
            <StatePill state={state} />
            <code className="muted">{working_dir}</code>
            <span className="muted nowrap" title={last_activity}>
              {ago(t, last_activity, now)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
