import { useEffect, useState, type JSX } from "react";
import { call, told } from "../api/http";
import type { Finding, Health } from "../api/types";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { worstFirst } from "./doctor";

type Known = { kind: "asking" } | { kind: "failed"; why: string } | { kind: "found"; rows: Finding[] };

const words: Record<Health, { label: Key; badge: string }> = {
  ok: { label: "doctor.ok", badge: "good" },
  warn: { label: "doctor.warn", badge: "warn" },
  bad: { label: "doctor.bad", badge: "bad" },
  info: { label: "doctor.info", badge: "busy" },
};

async function ask(): Promise<Known> {
  try {
    const { rows } = await call("system.doctor", {});
    return { kind: "found", rows: worstFirst(rows) };
  } catch (error) {
    return { kind: "failed", why: told(error) };
  }
}

/** What the daemon finds when it looks at its machine. */
export function Doctor(): JSX.Element {
  const t = useT();
  const [known, setKnown] = useState<Known>({ kind: "asking" });
  useEffect(() => void ask().then(setKnown), []);
  const again = () => {
    setKnown({ kind: "asking" });
    void ask().then(setKnown);
  };
  return (
    <section className="card doctor" aria-label={t("doctor.title")}>
      <div className="card-head">
        <h2>{t("doctor.title")}</h2>
        <Button icon="refresh" kind="quiet" disabled={known.kind === "asking"} onClick={again}>
          {t("doctor.again")}
        </Button>
      </div>
      {known.kind === "asking" && <p className="muted">{t("doctor.asking")}</p>}
      {known.kind === "failed" && <p className="danger-text">{known.why}</p>}
      {known.kind === "found" && (
        <ul className="findings">
          {known.rows.map(({ id, title, status, value, hint }) => (
            <li key={id}>
              <span className={`badge ${words[status].badge}`}>{t(words[status].label)}</span>
              <span>{title}</span>
              <span className="finding-value">
                {value}
                {hint !== undefined && <span className="muted small">{hint}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
