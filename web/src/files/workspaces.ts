/** The workspaces there are, as far as the daemon has any and we may see them. */
import { useEffect, useState } from "react";
import type { WorkspaceInfo } from "../api/types";
import { can, useDaemonInfo } from "../api/daemon";
import { call } from "../api/http";

export function useWorkspaces(): readonly WorkspaceInfo[] {
  const [workspaces, setWorkspaces] = useState<readonly WorkspaceInfo[]>([]);
  const isThere = can(useDaemonInfo(), "workspace.list");
  useEffect(() => {
    if (!isThere) return;
    call("workspace.list", {}).then(
      (found) => setWorkspaces(found.workspaces),
      // Who may not see them chooses among sessions.
      () => undefined,
    );
  }, [isThere]);
  return workspaces;
}
