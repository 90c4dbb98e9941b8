import { useState, type JSX, type KeyboardEvent, type SyntheticEvent } from "react";
import { useT } from "../i18n";
import { Button } from "../ui/Button";

interface Props {
  label: string;
  submit: string;
  initial: string;
  /** A command, which must not be empty; else words, which may be. */
  isCode?: boolean;
  onCancel: () => void;
  onSubmit: (text: string) => void;
}

/** A line to write before answering. Enter sends words, Control and Enter a command; Escape goes back. */
export function AnswerForm({
  label,
  submit,
  initial,
  isCode = false,
  onCancel,
  onSubmit,
}: Props): JSX.Element {
  const t = useT();
  const [text, setText] = useState(initial);
  const isEmpty = isCode && text.trim() === "";
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!isEmpty) onSubmit(text);
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onCancel();
    if (event.key === "Enter" && (!isCode || event.ctrlKey || event.metaKey)) send(event);
  };
  return (
    <form className="answer-form" onSubmit={send}>
      <label>
        <span>{label}</span>
        <textarea
          autoFocus
          className={isCode ? "code" : ""}
          spellCheck={!isCode}
          rows={Math.min(10, text.split("\n").length)}
          value={text}
          onKeyDown={press}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <div className="request-answers">
        <Button type="submit" kind={isCode ? "primary" : "danger"} disabled={isEmpty}>
          {submit}
          <kbd aria-hidden="true">{isCode ? "Ctrl+↵" : "↵"}</kbd>
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          {t("sessions.cancel")}
          <kbd aria-hidden="true">Esc</kbd>
        </Button>
      </div>
    </form>
  );
}
