import { useEffect, useState, type JSX, type SyntheticEvent } from "react";
import { go } from "../app/router";
import { can, useDaemonInfo } from "../api/daemon";
import { call, told } from "../api/http";
import type { CaseInfo } from "../api/types";
import { standingOf } from "../cases/cases";
import { useT } from "../i18n";
import { choicesOf, useRuntimes } from "../runtimes/runtimes";
import { Button } from "../ui/Button";

/** What is left empty is the daemon's choice. */
export function NewSession({ onDone }: { onDone: () => void }): JSX.Element {
  const t = useT();
  const [name, setName] = useState("");
  const [shell, setShell] = useState("");
  const [dir, setDir] = useState("");
  const [chosen, setChosen] = useState("");
  const cases = useCases();
  const [place, setPlace] = useState("");
  const places = choicesOf(useRuntimes());
  const [failure, setFailure] = useState<string | null>(null);

  const make = async (event: SyntheticEvent) => {
    event.preventDefault();
    try {
      const made = await call("session.create", {
        ...(name === "" ? {} : { name }),
        ...(shell === "" ? {} : { shell }),
        ...(dir === "" ? {} : { working_dir: dir }),
        ...(chosen === "" ? {} : { case_id: chosen }),
        ...(place === "" ? {} : { runtime: place }),
      });
      onDone();
      go({ page: "session", id: made.session_id });
    } catch (error) {
      setFailure(told(error));
    }
  };

  return (
    <form className="card new-session" onSubmit={(event) => void make(event)}>
      <label>
        {t("sessions.name")}
        <input value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        {t("sessions.shell")}
        <input value={shell} placeholder="/bin/sh" onChange={(event) => setShell(event.target.value)} />
      </label>
      <label>
        {t("sessions.dir")}
        <input value={dir} placeholder="~" onChange={(event) => setDir(event.target.value)} />
      </label>
      {cases.length > 0 && (
        <label>
          {t("sessions.case")}
          <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value="">–</option>
            {cases.map(({ case_id }) => (
              <option key={case_id}>{case_id}</option>
            ))}
          </select>
        </label>
      )}
      {places.length > 0 && (
        <label>
          {t("sessions.runtime")}
          <select value={place} onChange={(event) => setPlace(event.target.value)}>
            <option value="">–</option>
            {places.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <Button type="submit" kind="primary">
        {t("sessions.make")}
      </Button>
      <Button kind="quiet" onClick={onDone}>
        {t("sessions.cancel")}
      </Button>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
    </form>
  );
}

/** Those that a session can be created from. */
function useCases(): readonly CaseInfo[] {
  const [cases, setCases] = useState<readonly CaseInfo[]>([]);
  const isThere = can(useDaemonInfo(), "case.list");
  useEffect(() => {
    if (!isThere) return;
    call("case.list", {}).then(
      (found) => setCases(found.cases.filter((one) => standingOf(one) !== "broken")),
      // Then the daemon chooses.
      () => undefined,
    );
  }, [isThere]);
  return cases;
}
