/** One screen: what this is, ready-made starting points, and what to paste elsewhere. */
import { useEffect, useId, useState, type JSX, type KeyboardEvent } from "react";
import { can, useDaemonInfo } from "../api/daemon";
import { call, told } from "../api/http";
import { tellIfHeld } from "../approvals/held";
import { useT, type Key } from "../i18n";
import { CopyText } from "../ui/CopyText";
import { Icon } from "../ui/icons";
import { toast } from "../ui/toasts";
import { callSnippet, cliSnippet, httpSnippet, terminalSnippet, type Place } from "./snippets";
import { starts, type Start } from "./starts";
import { welcomed } from "./welcomed";
import "./welcome.css";

const ways: { label: Key; text: Key; snippet: ((place: Place) => string) | null }[] = [
  { label: "welcome.cli", text: "welcome.cliText", snippet: cliSnippet },
  { label: "welcome.term", text: "welcome.termText", snippet: terminalSnippet },
  { label: "welcome.call", text: "welcome.callText", snippet: callSnippet },
  { label: "welcome.http", text: "welcome.httpText", snippet: httpSnippet },
  { label: "welcome.mcp", text: "welcome.mcpText", snippet: null },
];

export default function WelcomePage(): JSX.Element {
  const t = useT();
  const info = useDaemonInfo();
  useEffect(() => welcomed.set(true), []);
  return (
    <div className="page-body welcome">
      <div>
        <h1>{t("welcome.title")}</h1>
        <p className="muted lead">{t("welcome.lead")}</p>
      </div>
      <section aria-label={t("welcome.start")}>
        <h2>{t("welcome.start")}</h2>
        <div className="starts">
          {starts
            .filter(({ needs }) => needs === undefined || can(info, needs))
            .map((start) => (
              <StartCard key={start.title} start={start} />
            ))}
        </div>
      </section>
      <section aria-label={t("welcome.elsewhere")}>
        <h2>{t("welcome.elsewhere")}</h2>
        <Ways />
      </section>
      <ul className="muted small hints">
        <li>{t("welcome.hintClose")}</li>
        <li>{t("welcome.hintShare")}</li>
        <li>{t("welcome.hintApprovals")}</li>
        <li>{t("welcome.hintHistory")}</li>
      </ul>
    </div>
  );
}

function StartCard({ start: { icon, title, text, run } }: { start: Start }): JSX.Element {
  const t = useT();
  const [isBusy, setBusy] = useState(false);
  const start = () => {
    setBusy(true);
    tellIfHeld(run())
      .catch((error: unknown) => toast(told(error), { kind: "error" }))
      .finally(() => setBusy(false));
  };
  return (
    <button type="button" className="card start" disabled={isBusy} onClick={start}>
      <span className="start-icon">
        <Icon name={icon} />
      </span>
      <span className="start-title">{t(title)}</span>
      <span className="muted">{t(text)}</span>
    </button>
  );
}

/** The ways in for agents and people elsewhere, one at a time. */
function Ways(): JSX.Element {
  const t = useT();
  const id = useId();
  const [at, setAt] = useState(0);
  const place = usePlace();
  const shown = ways[at];
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = (at + step + ways.length) % ways.length;
    setAt(next);
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div className="card ways">
      <div role="tablist" aria-label={t("welcome.elsewhere")} onKeyDown={press}>
        {ways.map(({ label }, i) => (
          <button
            key={label}
            type="button"
            role="tab"
            id={`${id}-${i}`}
            aria-selected={i === at}
            aria-controls={`${id}-panel`}
            tabIndex={i === at ? 0 : -1}
            onClick={() => setAt(i)}
          >
            {t(label)}
          </button>
        ))}
      </div>
      {shown !== undefined && (
        <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`}>
          <p className="muted">{t(shown.text)}</p>
          {shown.snippet !== null && <CopyText text={shown.snippet(place)} />}
        </div>
      )}
    </div>
  );
}

function usePlace(): Place {
  const [socket, setSocket] = useState<string | null>(null);
  useEffect(() => {
    call("system.info", {}).then(
      (info) => setSocket(info.socket ?? null),
      () => undefined,
    );
  }, []);
  return { origin: location.origin, socket };
}
