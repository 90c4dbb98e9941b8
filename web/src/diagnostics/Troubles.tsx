import type { JSX } from "react";
import { go, pathOf } from "../app/router";
import type { Happening } from "../api/types";
import { useT, type T } from "../i18n";
import { useStore } from "../ui/store";
import { troubles } from "./troubles";

function words(t: T, event: Happening): string {
  switch (event.kind) {
    case "exec.finished":
      return event.timed_out ? t("trouble.timeout") : t("trouble.failed", { code: event.exit_code });
    case "shell.replaced":
      return t("trouble.shell");
    case "terminal.ended":
      return t("trouble.terminal", { code: event.exit_code });
    default:
      return t("trouble.missed");
  }
}

export function Troubles(): JSX.Element {
  const t = useT();
  const list = useStore(troubles);
  return (
    <section className="card">
      <h2>{t("trouble.title")}</h2>
      {list.length === 0 && <p className="muted">{t("trouble.none")}</p>}
      <ul className="troubles">
        {list.map((event) => (
          <li key={event.seq}>
            <time className="muted" dateTime={event.time}>
              {new Date(event.time).toLocaleTimeString()}
            </time>
            <span>{words(t, event)}</span>
            <Where event={event} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Where({ event }: { event: Happening }): JSX.Element | null {
  const session = "session_id" in event ? event.session_id : null;
  if (session == null) return "terminal_id" in event ? <code>{event.terminal_id}</code> : null;
  const to = { page: "session", id: session } as const;
  return (
    <a
      href={pathOf(to)}
      onClick={(click) => {
        click.preventDefault();
        go(to);
      }}
    >
      <code>{session}</code>
    </a>
  );
}
