/** Every terminal of the daemon, whoever made it. */
import type { JSX } from "react";
import { go, pathOf } from "../app/router";
import type { TerminalInfo } from "../api/types";
import { useT } from "../i18n";
import { useStore } from "../ui/store";
import { terminals } from "./terminals";

interface Props {
  workspace: string;
  onOpen: (terminalId: string, name: string) => void;
}

const nameOf = (one: TerminalInfo) => one.name ?? (one.title === "" ? one.terminal_id : one.title);

export function TerminalList({ workspace, onOpen }: Props): JSX.Element {
  const t = useT();
  const { list, isKnown } = useStore(terminals.state);
  const groups = Map.groupBy(list, (one) => one.workspace_id ?? "");
  const names = [...groups.keys()].sort(
    (a, b) => Number(b === workspace) - Number(a === workspace) || a.localeCompare(b),
  );
  return (
    <aside className="terminal-list" aria-label={t("workspace.list")}>
      {isKnown && list.length === 0 && <p className="muted small">{t("workspace.none")}</p>}
      {names.map((name) => (
        <section key={name}>
          <h2>
            {name === "" || name === workspace ? (
              name || t("workspace.without")
            ) : (
              <Elsewhere workspace={name} />
            )}
          </h2>
          <ul>
            {groups.get(name)?.map((one) => (
              <li key={one.terminal_id}>
                <button type="button" onClick={() => onOpen(one.terminal_id, nameOf(one))}>
                  <span className={`dot ${one.state === "running" ? "good" : ""}`} aria-hidden="true" />
                  <span className="terminal-name">{nameOf(one)}</span>
                  <span className="muted small">
                    {one.state === "running"
                      ? one.working_dir
                      : t("workspace.exited", { code: one.exit_code ?? "?" })}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

function Elsewhere({ workspace }: { workspace: string }): JSX.Element {
  const to = { page: "workspace", workspace } as const;
  return (
    <a
      href={pathOf(to)}
      onClick={(event) => {
        event.preventDefault();
        go(to);
      }}
    >
      {workspace}
    </a>
  );
}
