import { useState, type JSX } from "react";
import { isOperator, useDaemonInfo } from "../api/daemon";
import { call, told } from "../api/http";
import type { RuntimeInfo, RuntimeState } from "../api/types";
import { useT, type Key, type T } from "../i18n";
import { Button } from "../ui/Button";
import { engineOf, nameOf, roundTrip, standings, useRuntimes } from "./runtimes";
import "../sessions/sessions.css";

const LOOK_MS = 2_000;

/** Where sessions can live, and how it stands with each. */
export function Runtimes(): JSX.Element | null {
  const t = useT();
  const runtimes = useRuntimes(LOOK_MS);
  const mayCheck = isOperator(useDaemonInfo());
  if (runtimes.length === 0) return null;
  return (
    <section className="card table-card" aria-label={t("runtimes.title")}>
      <table className="table" aria-label={t("runtimes.title")}>
        <thead>
          <tr>
            <th>{t("sessions.runtime")}</th>
            <th>{t("sessions.state")}</th>
            <th>{t("nav.sessions")}</th>
            <th className="wide-only">{t("runtimes.kind")}</th>
            <th className="wide-only">{t("runtimes.engine")}</th>
            {mayCheck && <th>{t("runtimes.check")}</th>}
          </tr>
        </thead>
        <tbody>
          {runtimes.map((runtime) => (
            <tr key={nameOf(runtime)}>
              <td>{nameOf(runtime)}</td>
              <td>
                <Standing state={runtime.state} />
                {runtime.trouble != null && <p className="danger-text small">{runtime.trouble}</p>}
              </td>
              <td>{runtime.sessions}</td>
              <td className="wide-only muted">{runtime.kind}</td>
              <td className="wide-only muted">{engineOf(runtime) || "–"}</td>
              {mayCheck && (
                <td>
                  <Check runtime={runtime} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Standing({ state }: { state: RuntimeState }): JSX.Element {
  const t = useT();
  // A newer daemon may know states that this page does not.
  const known = (standings as Partial<Record<string, { label: Key; dot: string }>>)[state];
  return (
    <span className="pill">
      <span className={`dot ${known?.dot ?? ""}`} aria-hidden="true" />
      {known === undefined ? state : t(known.label)}
    </span>
  );
}

/** Asks its engine, which is started there if need be. */
function Check({ runtime }: { runtime: RuntimeInfo }): JSX.Element {
  const t = useT();
  const name = nameOf(runtime);
  const [said, setSaid] = useState("");
  const [isAsking, setAsking] = useState(false);
  const ask = async () => {
    setAsking(true);
    setSaid(await answer(t, name));
    setAsking(false);
  };
  return (
    <span className="nowrap">
      <Button
        icon="refresh"
        kind="quiet"
        disabled={isAsking}
        aria-label={`${t("runtimes.check")} ${name}`}
        onClick={() => void ask()}
      >
        {t("runtimes.check")}
      </Button>{" "}
      <span className="muted small" role="status">
        {isAsking ? t("runtimes.asking") : said}
      </span>
    </span>
  );
}

async function answer(t: T, name: string): Promise<string> {
  try {
    const health = await call("runtime.health", { name });
    return health.healthy ? t("runtimes.answers", { time: roundTrip(health) }) : t("runtimes.silent");
  } catch (error) {
    return told(error);
  }
}
