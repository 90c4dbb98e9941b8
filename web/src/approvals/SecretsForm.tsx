import { useId, useState, type JSX, type KeyboardEvent, type SyntheticEvent } from "react";
import { useT } from "../i18n";
import { Button } from "../ui/Button";

interface Props {
  /** Of variables, as the daemon says. */
  names: readonly string[];
  submit: string;
  onCancel: () => void;
  onSubmit: (values: Record<string, string>) => void;
}

/** Asks for the values of secrets, which live as long as this form is shown and are not for the browser to remember. */
export function SecretsForm({ names, submit, onCancel, onSubmit }: Props): JSX.Element {
  const t = useT();
  const id = useId();
  const [values, setValues] = useState<Record<string, string>>({});
  const isWhole = names.every((name) => (values[name] ?? "") !== "");
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    if (isWhole) onSubmit(Object.fromEntries(names.map((name) => [name, values[name] ?? ""])));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onCancel();
  };
  return (
    <form className="answer-form" autoComplete="off" onSubmit={send} onKeyDown={press}>
      {names.map((name, at) => (
        <label key={name}>
          <code>{name}</code>
          <input
            autoFocus={at === 0}
            type="password"
            name={`${id}-${at}`}
            autoComplete="new-password"
            spellCheck={false}
            data-1p-ignore=""
            data-lpignore="true"
            value={values[name] ?? ""}
            onChange={({ target }) => setValues((now) => ({ ...now, [name]: target.value }))}
          />
        </label>
      ))}
      <div className="request-answers">
        <Button type="submit" kind="primary" disabled={!isWhole}>
          {submit}
          <kbd aria-hidden="true">↵</kbd>
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          {t("sessions.cancel")}
          <kbd aria-hidden="true">Esc</kbd>
        </Button>
      </div>
    </form>
  );
}
