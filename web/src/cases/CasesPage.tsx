/** The profiles that sessions are created from: the operator's, and those of a workspace, with what is wrong with them. */
import { useCallback, useEffect, useState, type JSX } from "react";
import type { CaseError, CaseInfo } from "../api/types";
import { can, isOperator, useDaemonInfo } from "../api/daemon";
import { call, told } from "../api/http";
import { begin, withAgents } from "../chat/cases";
import { useWorkspaces } from "../files/workspaces";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { oneLine } from "../ui/plain";
import { toast } from "../ui/toasts";
import { fieldsOf, lineOf, standingOf, trustOf, type Standing } from "./cases";
import "../sessions/sessions.css";
import "./cases.css";

const standings: Record<Standing, { label: Key; badge: string }> = {
  broken: { label: "cases.broken", badge: "bad" },
  untrusted: { label: "cases.untrusted", badge: "warn" },
  good: { label: "cases.good", badge: "good" },
};

export default function CasesPage(): JSX.Element {
  const t = useT();
  const workspaces = useWorkspaces();
  const [workspace, setWorkspace] = useState("");
  const { cases, leftOut, failure, refresh } = useCases(workspace);
  const agents = useAgents(cases, workspace);
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.cases")}</h1>
        {workspaces.length > 0 && (
          <select
            aria-label={t("cases.workspace")}
            value={workspace}
            onChange={({ target }) => setWorkspace(target.value)}
          >
            <option value="">{t("cases.noWorkspace")}</option>
            {workspaces.map(({ workspace_id }) => (
              <option key={workspace_id}>{workspace_id}</option>
            ))}
          </select>
        )}
        <Button icon="refresh" onClick={refresh}>
          {t("files.refresh")}
        </Button>
      </div>
      <p className="muted">{t("cases.lead")}</p>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
      {cases?.length === 0 && <p className="card muted empty">{t("cases.empty")}</p>}
      {cases?.map((one) => (
        <Case
          key={`${one.source} ${one.digest ?? ""}`}
          one={one}
          hasAgent={agents.has(one.source)}
          workspace={workspace}
          onChange={refresh}
        />
      ))}
      {leftOut > 0 && <p className="warn-text">{t("cases.leftOut", { n: leftOut })}</p>}
    </div>
  );
}

const placed = (workspace: string) => (workspace === "" ? {} : { workspace_id: workspace });

function useCases(workspace: string): {
  cases: readonly CaseInfo[] | null;
  leftOut: number;
  failure: string | null;
  refresh: () => void;
} {
  const [found, setFound] = useState<{ cases: readonly CaseInfo[]; leftOut: number } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const refresh = useCallback(() => {
    call("case.list", placed(workspace)).then(
      ({ cases, left_out }) => {
        setFailure(null);
        setFound({ cases, leftOut: left_out ?? 0 });
      },
      (error: unknown) => setFailure(told(error)),
    );
  }, [workspace]);
  useEffect(refresh, [refresh]);
  return { cases: found?.cases ?? null, leftOut: found?.leftOut ?? 0, failure, refresh };
}

function Case({
  one,
  hasAgent,
  workspace,
  onChange,
}: {
  one: CaseInfo;
  hasAgent: boolean;
  workspace: string;
  onChange: () => void;
}): JSX.Element {
  const t = useT();
  const standing = standings[standingOf(one)];
  const { ignored = [], errors = [] } = one;
  return (
    <article className="card case" aria-label={one.case_id}>
      <div className="card-head">
        <h2>{one.case_id}</h2>
        <span className={`badge ${standing.badge}`}>{t(standing.label)}</span>
        {one.default && <span className="badge busy">{t("cases.default")}</span>}
        <span className="case-space" />
        {hasAgent && <TalkTo one={one} workspace={workspace} />}
        <Trust one={one} workspace={workspace} onChange={onChange} />
      </div>
      {one.description != null && <p>{one.description}</p>}
      <p className="muted small case-source">
        {t(one.origin === "config" ? "cases.ofOperator" : "cases.ofWorkspace")} · <code>{one.source}</code>
      </p>
      {errors.length > 0 && (
        <ul className="case-errors">
          {errors.map((error, at) => (
            <Wrong key={at} error={error} />
          ))}
        </ul>
      )}
      {ignored.length > 0 && (
        <p className="warn-text">
          {t("cases.ignored")} <code>{ignored.join(", ")}</code>
        </p>
      )}
      {errors.length === 0 && <Fields one={one} workspace={workspace} />}
    </article>
  );
}

/** The files of those whose agent can be talked to. */
function useAgents(cases: readonly CaseInfo[] | null, workspace: string): ReadonlySet<string> {
  const [found, setFound] = useState<ReadonlySet<string>>(new Set());
  const isThere = can(useDaemonInfo(), "agent.send_message");
  useEffect(() => {
    if (cases === null || !isThere) return;
    let isOver = false;
    void withAgents(cases, workspace).then((named) => {
      if (!isOver) setFound(new Set(named.map(({ source }) => source)));
    });
    return () => {
      isOver = true;
    };
  }, [cases, workspace, isThere]);
  return found;
}

function TalkTo({ one, workspace }: { one: CaseInfo; workspace: string }): JSX.Element {
  const t = useT();
  const talk = () => {
    const place = one.origin === "workspace" ? placed(workspace) : {};
    begin({ case_id: one.case_id, ...place }).catch((error: unknown) =>
      toast(told(error), { kind: "error" }),
    );
  };
  return (
    <Button icon="chat" onClick={talk}>
      {t("chat.talk")}
    </Button>
  );
}

function Wrong({ error }: { error: CaseError }): JSX.Element {
  const place = [lineOf(error), error.field ?? ""].filter((part) => part !== "").join(" ");
  return (
    <li>
      {place !== "" && <code className="danger-text">{place}</code>}
      <span>{error.message}</span>
      {error.hint != null && <span className="muted">{error.hint}</span>}
    </li>
  );
}

/** All that it says, once somebody wants to know. */
function Fields({ one, workspace }: { one: CaseInfo; workspace: string }): JSX.Element {
  const t = useT();
  const [fields, setFields] = useState<{ name: string; text: string }[] | null>(null);
  const look = (isOpen: boolean) => {
    if (!isOpen || fields !== null) return;
    const from = one.origin === "workspace" ? placed(workspace) : {};
    call("case.get", { case_id: one.case_id, ...from }).then(
      (found) => setFields(fieldsOf(found.case)),
      (error: unknown) => toast(told(error), { kind: "error" }),
    );
  };
  return (
    <details onToggle={(event) => look(event.currentTarget.open)}>
      <summary className="muted">{t("cases.fields")}</summary>
      <dl className="case-fields">
        {fields?.map(({ name, text }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <pre>{text}</pre>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** The operator lets all of a workspace's case take effect, as long as the file stays as it is. */
function Trust({
  one,
  workspace,
  onChange,
}: {
  one: CaseInfo;
  workspace: string;
  onChange: () => void;
}): JSX.Element | null {
  const t = useT();
  const mayTrust = isOperator(useDaemonInfo());
  const trust = trustOf(one);
  if (trust === null || !mayTrust) return null;
  const change = () => {
    if (trust === "give" && !window.confirm(t("cases.sure", { name: oneLine(one.case_id) }))) return;
    const { case_id, digest } = one;
    call("case.trust", {
      case_id,
      digest: digest ?? "",
      ...placed(workspace),
      ...(trust === "take" ? { trust: false } : {}),
    }).then(onChange, (error: unknown) => toast(told(error), { kind: "error" }));
  };
  return <Button onClick={change}>{t(trust === "give" ? "cases.trust" : "cases.untrust")}</Button>;
}
