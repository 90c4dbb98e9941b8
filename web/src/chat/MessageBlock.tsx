/** A message and all that came of it, in its order. */
import { memo, useMemo, type JSX } from "react";
import { whyNot } from "../api/text";
import type { PlanEntry, Refusal } from "../api/types";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { Icon } from "../ui/icons";
import { AskedHere } from "./AskedHere";
import { CommandBlock } from "./CommandBlock";
import { Literal, Prose } from "./Prose";
import { written } from "./prose";
import { endOf, todoOf } from "./standing";
import { ToolBlock } from "./ToolBlock";
import {
  chosen,
  commandsOf,
  shownParts,
  type Command,
  type Message,
  type Part,
  type Permission,
} from "./transcript";

export const MessageBlock = memo(function MessageBlock({
  message,
  isFirst,
  onLoad,
  onRepeat,
}: {
  message: Message;
  /** Of the whole conversation. */
  isFirst: boolean;
  onLoad: (id: string) => void;
  /** Where there is a point in sending it once more. */
  onRepeat: ((text: string) => void) | null;
}): JSX.Element {
  const t = useT();
  const { id, text, parts, isOver, isCut } = message;
  const commands = useMemo(() => commandsOf(parts), [parts]);
  return (
    <article className="message" data-message={id} aria-busy={!isOver}>
      <div className="said">
        <span className="sr-only">{t("chat.you")}</span>
        <p title={message.createdAt}>{text}</p>
      </div>
      <div className="answer">
        <span className="sr-only">{t("chat.agent")}</span>
        <Beginning message={message} isFirst={isFirst} />
        {shownParts(parts).map((part, at) => (
          <PartView key={at} part={part} commands={commands} isOver={isOver} />
        ))}
        {isCut && isOver && <Button onClick={() => onLoad(id)}>{t("chat.load")}</Button>}
        <End message={message} />
        {onRepeat !== null && (
          <Button icon="refresh" className="again" onClick={() => onRepeat(text)}>
            {t("chat.again")}
          </Button>
        )}
      </div>
    </article>
  );
});

/** What the person should know of the agent before they read what it says. */
function Beginning({
  message: { started },
  isFirst,
}: {
  message: Message;
  isFirst: boolean;
}): JSX.Element | null {
  const t = useT();
  if (started === null) return null;
  const { agent, resumed, own_shell } = started;
  const remarks = [
    resumed === "new" && !isFirst ? t("chat.new", { name: agent.title ?? agent.name }) : "",
    own_shell === "on" ? t("chat.ownShell") : "",
  ].filter((remark) => remark !== "");
  return remarks.length === 0 ? null : <p className="remark">{remarks.join(" ")}</p>;
}

function PartView({
  part,
  commands,
  isOver,
}: {
  part: Part;
  commands: ReadonlyMap<string, Command>;
  isOver: boolean;
}): JSX.Element {
  const t = useT();
  switch (part.kind) {
    case "text":
      return <Prose text={part.text} />;
    case "thought":
      return (
        <details className="thought">
          <summary>{t("chat.thought")}</summary>
          <Prose text={part.text} />
        </details>
      );
    case "tool":
      return <ToolBlock tool={part} commands={commands} isOver={isOver} />;
    case "command":
      return <CommandBlock executionId={part.executionId} command={part.command} isOver={isOver} />;
    case "plan":
      return <Plan entries={part.entries} />;
    case "permission":
      return <Asked asked={part} isOver={isOver} />;
    case "file":
      return (
        <p className="remark">
          <Icon name="file" />
          {t(part.op === "read" ? "chat.read" : "chat.wrote")} <code>{part.path}</code>
          {!part.ok && <span className="badge bad">{t("chat.failed")}</span>}
        </p>
      );
    case "mode":
      return <p className="remark">{t("chat.mode", { name: part.name })}</p>;
    case "omitted":
      return <p className="remark warn-text">{t("chat.omitted", { n: part.updates })}</p>;
    case "other":
      return (
        <details className="raw">
          <summary>{part.name}</summary>
          <Literal text={written(part.content)} label={part.name} />
        </details>
      );
  }
}

const steps: Partial<Record<string, { sign: string; label: Key }>> = {
  pending: { sign: "○", label: "chat.pending" },
  in_progress: { sign: "◐", label: "chat.inProgress" },
  completed: { sign: "●", label: "chat.completed" },
};

function Plan({ entries }: { entries: readonly PlanEntry[] }): JSX.Element {
  const t = useT();
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <section className="plan" aria-label={t("chat.plan")}>
      <h2>
        {t("chat.plan")} <span className="muted">{t("chat.planDone", { n: done, of: entries.length })}</span>
      </h2>
      <ol>
        {entries.map(({ content, status, priority }, at) => {
          const step = steps[status];
          return (
            <li key={at} data-status={status}>
              <span aria-hidden="true">{step?.sign ?? "○"}</span>
              <span>
                {content}
                <span className="sr-only"> ({step === undefined ? status : t(step.label)})</span>
              </span>
              {priority === "high" && <span className="badge warn">{t("chat.high")}</span>}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

const outcomes: Partial<Record<string, { label: Key; kind: string }>> = {
  approved: { label: "chat.approved", kind: "good" },
  rejected: { label: "chat.rejected", kind: "bad" },
  expired: { label: "chat.expired", kind: "warn" },
  cancelled: { label: "chat.withdrawn", kind: "warn" },
};

/** A permission: the question while it waits, and what was said to it. */
function Asked({ asked, isOver }: { asked: Permission; isOver: boolean }): JSX.Element {
  const t = useT();
  const { outcome, requestId, title } = asked;
  const word = outcome === null ? undefined : outcomes[outcome.state];
  const option = chosen(asked);
  return (
    <div className="asked">
      <p className="remark">
        <Icon name="approvals" />
        <span>{title}</span>
        {outcome !== null && (
          <span className={`badge ${word?.kind ?? "warn"}`}>
            {word === undefined ? outcome.state : t(word.label)}
            {option !== null && ` · ${option}`}
          </span>
        )}
        {outcome === null && !isOver && <span className="badge warn">{t("session.held")}</span>}
      </p>
      {outcome === null && <AskedHere isMine={({ request_id }) => request_id === requestId} />}
    </div>
  );
}

/** How it ended, if that is worth a word, and what can be done. */
function End({ message }: { message: Message }): JSX.Element | null {
  const t = useT();
  const { error, isOver, usage } = message;
  if (!isOver) return null;
  const end = endOf(message);
  return (
    <>
      {error !== null && <Failure error={error} />}
      {error === null && end !== null && <p className="remark warn-text">{t(end)}</p>}
      {usage !== null && usage.size > 0 && (
        <p className="remark">
          {t("chat.usage", {
            used: usage.used,
            size: usage.size,
            share: Math.round((100 * usage.used) / usage.size),
          })}
        </p>
      )}
    </>
  );
}

function Failure({ error }: { error: Refusal }): JSX.Element {
  const t = useT();
  const { stage, stderr } = error as { stage?: unknown; stderr?: unknown };
  return (
    <div className="failure">
      <p className="danger-text">
        <strong>{t("chat.error")}</strong> {whyNot(error)}
      </p>
      <p>{t(todoOf(stage))}</p>
      {typeof stderr === "string" && stderr !== "" && (
        <details className="raw">
          <summary>{t("chat.stderr")}</summary>
          <Literal text={stderr} label={t("chat.stderr")} />
        </details>
      )}
    </div>
  );
}
