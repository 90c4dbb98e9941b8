/** The line to write to the agent. Enter sends, Shift and Enter makes another line; Escape stops what runs. */
import { useState, type JSX, type SyntheticEvent } from "react";
import { ApiError, call, told } from "../api/http";
import { fateAfter } from "../approvals/inbox";
import { SecretsForm } from "../approvals/SecretsForm";
import { useT } from "../i18n";
import { Button } from "../ui/Button";
import type { Standing } from "./standing";
import type { Talk } from "./talk";

/** Why a message did not go out; with names when the session wants its secrets first. */
interface Trouble {
  why: string;
  names: readonly string[];
}

export function Composer({
  talk,
  session,
  standing,
  onSent,
  onStop,
}: {
  talk: Talk;
  session: string;
  standing: Standing;
  onSent: () => void;
  onStop: () => void;
}): JSX.Element {
  const t = useT();
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const isBusy = standing !== "absent" && standing !== "warm";

  const send = async () => {
    if (text.trim() === "" || isBusy || isSending) return;
    setSending(true);
    setTrouble(null);
    try {
      await talk.send(text);
      setText("");
      onSent();
    } catch (error) {
      setTrouble(troubleOf(error));
    } finally {
      setSending(false);
    }
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void send();
  };
  const supply = async (secret_env: Record<string, string>) => {
    try {
      await call("session.get", { session_id: session, secret_env });
    } catch (error) {
      setTrouble((before) => ({ why: told(error), names: before?.names ?? [] }));
      return;
    }
    await send();
  };

  return (
    <div className="composer">
      {trouble !== null && (
        <p role="alert" className="danger-text">
          {t("chat.notSent", { why: trouble.why })}
        </p>
      )}
      {trouble !== null && trouble.names.length > 0 && (
        <SecretsForm
          names={trouble.names}
          submit={t("chat.supply")}
          onCancel={() => setTrouble(null)}
          onSubmit={(secrets) => void supply(secrets)}
        />
      )}
      <form className="composer-line" onSubmit={submit}>
        <textarea
          value={text}
          rows={Math.min(10, text.split("\n").length)}
          autoFocus
          aria-label={t("chat.message")}
          placeholder={t("chat.placeholder")}
          enterKeyHint="send"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing || event.key !== "Enter" || event.shiftKey) return;
            submit(event);
          }}
        />
        {isBusy ? (
          <Button
            kind="danger"
            icon="stop"
            aria-keyshortcuts="Escape"
            disabled={standing === "stopping"}
            onClick={onStop}
          >
            {t(standing === "stopping" ? "chat.stopping" : "chat.stop")}
          </Button>
        ) : (
          <Button type="submit" kind="primary" icon="send" disabled={isSending || text.trim() === ""}>
            {t("chat.send")}
          </Button>
        )}
      </form>
    </div>
  );
}

function troubleOf(error: unknown): Trouble {
  const fate = error instanceof ApiError ? fateAfter(error) : null;
  return { why: told(error), names: fate?.kind === "secrets" ? fate.names : [] };
}
