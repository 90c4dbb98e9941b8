/** One session: its commands as blocks, oldest first, and a line to run the next. */
import { useEffect, useMemo, type JSX } from "react";
import { go } from "../app/router";
import { To } from "../app/To";
import { can, useDaemonInfo } from "../api/daemon";
import { call, told } from "../api/http";
import type { SessionInfo } from "../api/types";
import { useT } from "../i18n";
import { HOST } from "../runtimes/runtimes";
import { Button, IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import { toast } from "../ui/toasts";
import { Conversation } from "./conversation";
import { ExecutionBlock } from "./ExecutionBlock";
import { RunBox } from "./RunBox";
import { canOpen, isOver } from "./sessions";
import { StatePill } from "./StatePill";
import "./sessions.css";

export default function SessionPage({ id }: { id: string }): JSX.Element {
  const t = useT();
  const conversation = useMemo(() => new Conversation(id), [id]);
  const { session, executions, failure } = useStore(conversation.state);
  useEffect(() => conversation.start(), [conversation]);
  return (
    <div className="session">
      <div className="session-head">
        <IconButton icon="back" label={t("session.back")} onClick={() => go({ page: "sessions" })} />
        <h1>{session?.name ?? id}</h1>
        {session !== null && <StatePill state={session.state} />}
        {session !== null && <Facts session={session} />}
        <Ways id={id} hasAgent={session?.agent != null} />
        {session !== null && <Actions session={session} />}
      </div>
      {failure !== null && <p className="danger-text session-failure">{failure}</p>}
      <div className="blocks" role="log" aria-label={t("session.commands")} tabIndex={0}>
        <div className="blocks-inner">
          {session !== null && executions.length === 0 && <p className="muted empty">{t("session.empty")}</p>}
          {executions.map((view) => (
            <ExecutionBlock
              key={view.info.execution_id}
              view={view}
              onLoad={() => conversation.load(view.info.execution_id)}
            />
          ))}
        </div>
      </div>
      {session !== null && !isOver(session.state) && (
        <RunBox conversation={conversation} state={session.state} />
      )}
    </div>
  );
}

function Facts({ session }: { session: SessionInfo }): JSX.Element {
  const t = useT();
  return (
    <dl className="facts">
      <div>
        <dt>{t("sessions.dir")}</dt>
        <dd>
          <code>{session.working_dir}</code>
        </dd>
      </div>
      <div>
        <dt>{t("sessions.shell")}</dt>
        <dd>
          <code>{session.shell}</code>
        </dd>
      </div>
      <div>
        <dt>{t("sessions.owner")}</dt>
        <dd>{session.owner}</dd>
      </div>
      {session.runtime !== HOST && (
        <div>
          <dt>{t("sessions.runtime")}</dt>
          <dd>{session.runtime}</dd>
        </div>
      )}
      {session.case_id != null && (
        <div>
          <dt>{t("sessions.case")}</dt>
          <dd>
            <To route={{ page: "cases" }}>{session.case_id}</To>
          </dd>
        </div>
      )}
      {session.ended != null && (
        <div>
          <dt>{t("session.ended")}</dt>
          <dd>{session.ended}</dd>
        </div>
      )}
    </dl>
  );
}

/** To what else there is of this session, if the daemon has it. */
function Ways({ id, hasAgent }: { id: string; hasAgent: boolean }): JSX.Element {
  const t = useT();
  const info = useDaemonInfo();
  return (
    <>
      {hasAgent && <To route={{ page: "chat", session: id }}>{t("nav.chat")}</To>}
      {can(info, "fs.list") && (
        <To route={{ page: "files", of: { kind: "session", id } }}>{t("nav.files")}</To>
      )}
      {can(info, "session.history") && <To route={{ page: "history", session: id }}>{t("nav.history")}</To>}
    </>
  );
}

function Actions({ session }: { session: SessionInfo }): JSX.Element | null {
  const t = useT();
  const { session_id, state } = session;
  const attempt = (work: () => Promise<unknown>) => () => {
    work().catch((error: unknown) => toast(told(error), { kind: "error" }));
  };
  if (state === "terminated") return null;
  return (
    <div className="session-actions">
      {canOpen(state) ? (
        <Button onClick={attempt(() => call("session.get", { session_id }))}>{t("sessions.open")}</Button>
      ) : (
        <Button onClick={attempt(() => call("session.close", { session_id }))}>{t("session.close")}</Button>
      )}
      <Button
        kind="danger"
        icon="trash"
        onClick={attempt(async () => {
          if (!window.confirm(t("session.destroySure"))) return;
          await call("session.destroy", { session_id, force: true });
        })}
      >
        {t("session.destroy")}
      </Button>
    </div>
  );
}
