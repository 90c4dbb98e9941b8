import { useRef, useState, type JSX, type SyntheticEvent } from "react";
import { To } from "../app/To";
import { told } from "../api/http";
import type { SessionState } from "../api/types";
import { useT } from "../i18n";
import { Button } from "../ui/Button";
import { toast } from "../ui/toasts";
import type { Conversation } from "./conversation";

/** Enter runs; Shift and Enter makes another line; the arrow up brings back what was run. */
export function RunBox({
  conversation,
  state,
}: {
  conversation: Conversation;
  state: SessionState;
}): JSX.Element {
  const t = useT();
  const [command, setCommand] = useState("");
  const back = useRef(0);
  const isHeld = state === "waiting_hitl";
  const isBusy = isHeld || state === "running";

  const run = async (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (command.trim() === "" || isBusy) return;
    setCommand("");
    back.current = 0;
    try {
      await conversation.run(command);
    } catch (error) {
      setCommand(command);
      toast(told(error), { kind: "error" });
    }
  };

  const recall = (by: number) => {
    const past = conversation.state.get().executions.map((view) => view.info.command);
    back.current = Math.max(0, Math.min(past.length, back.current + by));
    setCommand(back.current === 0 ? "" : (past.at(-back.current) ?? ""));
  };

  return (
    <form className="run-box" onSubmit={(event) => void run(event)}>
      <textarea
        value={command}
        rows={Math.min(8, command.split("\n").length)}
        spellCheck={false}
        autoFocus
        aria-label={t("session.command")}
        placeholder={t("session.placeholder")}
        onChange={(event) => setCommand(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Enter" && !event.shiftKey) void run(event);
          const isPlain = !command.includes("\n");
          if (event.key === "ArrowUp" && isPlain) recall(1);
          if (event.key === "ArrowDown" && isPlain) recall(-1);
        }}
      />
      <Button type="submit" kind="primary" icon="play" disabled={isBusy}>
        {t(isHeld ? "session.held" : isBusy ? "session.busy" : "session.run")}
      </Button>
      {isHeld && (
        <p className="run-held warn-text small" role="status">
          {t("session.heldHint")} <To route={{ page: "approvals" }}>{t("session.inbox")}</To>
        </p>
      )}
    </form>
  );
}
