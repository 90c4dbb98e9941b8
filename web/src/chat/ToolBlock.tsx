/** A tool that the agent uses: what it is, how far it is, and what came of it. */
import { memo, useState, type JSX } from "react";
import type { AgentToolContent } from "../api/types";
import { useT, type Key } from "../i18n";
import { Icon, type IconName } from "../ui/icons";
import { CommandBlock } from "./CommandBlock";
import { DiffView } from "./DiffView";
import { Literal, Prose } from "./Prose";
import { written } from "./prose";
import type { Command, Tool } from "./transcript";

const statuses: Partial<Record<string, { label: Key; badge: string }>> = {
  pending: { label: "chat.pending", badge: "busy" },
  in_progress: { label: "chat.inProgress", badge: "busy" },
  completed: { label: "chat.completed", badge: "good" },
  failed: { label: "chat.failed", badge: "bad" },
};

const icons: Partial<Record<string, IconName>> = {
  read: "file",
  edit: "file",
  delete: "trash",
  move: "folder",
  search: "search",
  execute: "terminal",
  fetch: "link",
};

export const ToolBlock = memo(function ToolBlock({
  tool,
  commands,
  isOver,
}: {
  tool: Tool;
  commands: ReadonlyMap<string, Command>;
  isOver: boolean;
}): JSX.Element {
  const t = useT();
  const [wanted, setWanted] = useState<boolean | null>(null);
  const { title, toolKind, status, content, locations, input, output } = tool;
  const hasMore = content.length > 0 || locations.length > 0 || input !== null || output !== null;
  // What changed, and what runs, is worth a look without being asked for.
  const speaks = content.some(({ type }) => type === "diff" || type === "terminal");
  const isOpen = hasMore && (wanted ?? (speaks || status === "failed"));
  const word = statuses[status];
  const name = title === "" ? toolKind : title;
  return (
    <article className="tool" aria-label={name}>
      <button
        type="button"
        className="tool-head"
        aria-expanded={isOpen}
        disabled={!hasMore}
        onClick={() => setWanted(!isOpen)}
      >
        <Icon name={icons[toolKind] ?? "play"} />
        <span className="tool-title">{name}</span>
        <span className={`badge ${word?.badge ?? "busy"}`}>
          {word === undefined ? status : t(word.label)}
        </span>
        {hasMore && <Icon name={isOpen ? "up" : "down"} />}
      </button>
      {isOpen && (
        <div className="tool-body">
          {locations.length > 0 && !content.some(({ type }) => type === "diff") && (
            <p className="muted small tool-places">
              {locations.map(({ path, line }, at) => (
                <code key={at}>{line == null ? path : `${path}:${line}`}</code>
              ))}
            </p>
          )}
          {content.map((one, at) => (
            <Content key={at} one={one} commands={commands} isOver={isOver} />
          ))}
          <Raw label={t("chat.input")} value={input} />
          {content.length === 0 && <Raw label={t("chat.output")} value={output} />}
        </div>
      )}
    </article>
  );
});

function Content({
  one,
  commands,
  isOver,
}: {
  one: AgentToolContent;
  commands: ReadonlyMap<string, Command>;
  isOver: boolean;
}): JSX.Element {
  const t = useT();
  switch (one.type) {
    case "text":
      return <Prose text={one.text} />;
    case "diff":
      return <DiffView path={one.path} before={one.old_text ?? null} after={one.new_text} />;
    case "terminal": {
      const command = commands.get(one.terminal_id);
      const id = command?.executionId ?? one.execution_id;
      if (id == null) return <p className="muted small">{t("chat.noOutput")}</p>;
      return <CommandBlock executionId={id} command={command?.command ?? ""} isOver={isOver} />;
    }
    case "other":
      return <Literal text={written(one.content)} label={t("chat.output")} />;
  }
}

function Raw({ label, value }: { label: string; value: unknown }): JSX.Element | null {
  if (value === null) return null;
  return (
    <details className="raw">
      <summary>{label}</summary>
      <Literal text={written(value)} label={label} />
    </details>
  );
}
