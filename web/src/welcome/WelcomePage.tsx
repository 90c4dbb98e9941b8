/** One screen: what this is, and what to try. */
import type { JSX } from "react";
import { DEFAULT_WORKSPACE, go } from "../app/router";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { CopyText } from "../ui/CopyText";
import { Icon, type IconName } from "../ui/icons";
import "./welcome.css";

const starts: { icon: IconName; title: Key; text: Key; label: Key; run: () => void }[] = [
  {
    icon: "terminal",
    title: "welcome.terminalTitle",
    text: "welcome.terminalText",
    label: "welcome.terminalStart",
    run: () => go({ page: "workspace", workspace: DEFAULT_WORKSPACE }),
  },
  {
    icon: "sessions",
    title: "welcome.sessionTitle",
    text: "welcome.sessionText",
    label: "welcome.sessionStart",
    run: () => go({ page: "sessions" }),
  },
  {
    icon: "diagnostics",
    title: "welcome.watchTitle",
    text: "welcome.watchText",
    label: "welcome.watchStart",
    run: () => go({ page: "diagnostics" }),
  },
];

const CLI = `trl session new --name work --shell bash
trl run -s work 'cd /tmp && export WHO=me'
trl run -s work 'echo "$WHO in $PWD"'`;

const TERM = `trl term new --name ed -- vim notes.txt
trl attach ed`;

function http(): string {
  return `curl -s ${location.origin}/rpc \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"id":1,"method":"exec.run","params":{"command":"echo hello"}}'`;
}

export default function WelcomePage(): JSX.Element {
  const t = useT();
  return (
    <div className="page-body welcome">
      <div className="page-head">
        <h1>{t("welcome.title")}</h1>
      </div>
      <p className="muted lead">{t("welcome.lead")}</p>
      <div className="starts">
        {starts.map(({ icon, title, text, label, run }) => (
          <section key={title} className="card start">
            <span className="start-icon">
              <Icon name={icon} />
            </span>
            <h2>{t(title)}</h2>
            <p className="muted">{t(text)}</p>
            <Button onClick={run}>{t(label)}</Button>
          </section>
        ))}
      </div>
      <section className="card snippets">
        <h2>{t("welcome.cli")}</h2>
        <p className="muted">{t("welcome.cliText")}</p>
        <CopyText text={CLI} />
        <h2>{t("welcome.term")}</h2>
        <p className="muted">{t("welcome.termText")}</p>
        <CopyText text={TERM} />
        <h2>{t("welcome.http")}</h2>
        <p className="muted">{t("welcome.httpText")}</p>
        <CopyText text={http()} />
      </section>
    </div>
  );
}
