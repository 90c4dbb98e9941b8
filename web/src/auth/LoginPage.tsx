import { useState, type JSX, type SyntheticEvent } from "react";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { Logo } from "../ui/icons";
import { logIn, type Visit } from "./token";
import "./login.css";

type Why = Extract<Visit, { kind: "out" }>["why"];

const reasons: Record<Why, Key> = {
  first: "login.first",
  refused: "login.refused",
  left: "login.left",
};

type Outcome = "ready" | "asking" | "wrong" | "wait" | "unreachable";

/** Whether the daemon takes this token. */
async function tryToken(token: string): Promise<Outcome> {
  try {
    const response = await fetch("/metrics", {
      headers: { Authorization: `Bearer ${token}` },
      credentials: "omit",
    });
    if (response.status === 429) return "wait";
    return response.status === 401 ? "wrong" : "ready";
  } catch {
    return "unreachable";
  }
}

const failures: Partial<Record<Outcome, Key>> = {
  wrong: "login.wrong",
  wait: "login.wait",
  unreachable: "login.unreachable",
};

export function LoginPage({ why }: { why: Why }): JSX.Element {
  const t = useT();
  const [token, setToken] = useState("");
  const [outcome, setOutcome] = useState<Outcome>("ready");
  const failure = failures[outcome];

  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (given === "") return;
    setOutcome("asking");
    const answer = await tryToken(given);
    if (answer === "ready") logIn(given);
    else setOutcome(answer);
  };

  return (
    <main className="login">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <Logo size={40} />
        <h1>{t("login.title")}</h1>
        <p className={why === "refused" ? "warn-text" : "muted"}>{t(reasons[why])}</p>
        <label htmlFor="token">{t("login.token")}</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          // Whoever was thrown out may be typing something that is no token.
          autoFocus={why !== "refused"}
          value={token}
          aria-invalid={failure !== undefined}
          aria-describedby="login-help"
          onChange={(event) => setToken(event.target.value)}
        />
        {failure !== undefined && (
          <p role="alert" className="danger-text">
            {t(failure)}
          </p>
        )}
        <Button type="submit" kind="primary" disabled={outcome === "asking"}>
          {t("login.submit")}
        </Button>
        <p id="login-help" className="muted small">
          {t("login.help")} <code>trl token new me --role operator</code>
        </p>
      </form>
    </main>
  );
}
