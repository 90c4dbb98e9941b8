/** Cases that name an agent, and a conversation with it. */
import { useEffect, useState } from "react";
import { can, useDaemonInfo } from "../api/daemon";
import { call } from "../api/http";
import type { CaseInfo } from "../api/types";
import { go } from "../app/router";
import { standingOf } from "../cases/cases";

/** Whose agent, and where its session is to be. */
export interface Beginning {
  case_id: string;
  workspace_id?: string;
  working_dir?: string;
}

/** A session of the case, and the page to talk to its agent. */
export async function begin(beginning: Beginning): Promise<void> {
  const { session_id } = await call("session.create", { ...beginning });
  go({ page: "chat", session: session_id });
}

/** Those of the cases whose agent has effect; the list does not say. */
export async function withAgents(cases: readonly CaseInfo[], workspace = ""): Promise<CaseInfo[]> {
  const whole = cases.filter((one) => standingOf(one) !== "broken");
  const named = await Promise.all(
    whole.map(async ({ case_id, origin }) => {
      const place = origin === "workspace" && workspace !== "" ? { workspace_id: workspace } : {};
      // One that is gone meanwhile has none.
      const found = await call("case.get", { case_id, ...place }).catch(() => null);
      return found?.case.agent != null;
    }),
  );
  return whole.filter((_, at) => named[at]);
}

/** Null before it is known. */
export function useAgentCases(): readonly CaseInfo[] | null {
  const [found, setFound] = useState<readonly CaseInfo[] | null>(null);
  const info = useDaemonInfo();
  const isThere = can(info, "agent.send_message") && can(info, "case.list");
  useEffect(() => {
    if (!isThere) return;
    let isOver = false;
    call("case.list", {})
      .then(({ cases }) => withAgents(cases))
      .catch(() => [])
      .then((cases) => {
        if (!isOver) setFound(cases);
      })
      .catch(() => undefined);
    return () => {
      isOver = true;
    };
  }, [isThere]);
  return found;
}
