/** A command of the agent, with its output as it comes, and the question that it may wait for. */
import { createContext, useContext, type JSX } from "react";
import { To } from "../app/To";
import { useT } from "../i18n";
import type { Conversation } from "../sessions/conversation";
import { ExecutionBlock } from "../sessions/ExecutionBlock";
import { useStore } from "../ui/store";
import { AskedHere } from "./AskedHere";

/** The session's commands, which the page follows. */
export const Commands = createContext<Conversation | null>(null);

interface Named {
  executionId: string;
  command: string;
  /** Nothing more comes of its message: what the daemon does not list now, it has forgotten. */
  isOver: boolean;
}

export function CommandBlock(named: Named): JSX.Element | null {
  const conversation = useContext(Commands);
  return conversation === null ? null : <Followed conversation={conversation} {...named} />;
}

function Followed({
  conversation,
  executionId,
  command,
  isOver,
}: Named & { conversation: Conversation }): JSX.Element {
  const t = useT();
  const { session, executions } = useStore(conversation.state);
  const view = executions.find(({ info }) => info.execution_id === executionId);
  return (
    <>
      {view !== undefined && <ExecutionBlock view={view} onLoad={() => conversation.load(executionId)} />}
      {view === undefined && (
        <article className="block" aria-label={command}>
          <header>
            <pre className="block-command">{command}</pre>
          </header>
          {isOver && session !== null && (
            <p className="block-foot muted small">
              {t("chat.gone")}{" "}
              <To route={{ page: "history", session: session.session_id }}>{t("nav.history")}</To>
            </p>
          )}
        </article>
      )}
      <AskedHere isMine={({ execution_id }) => execution_id === executionId} />
    </>
  );
}
