/**
 * Closing a tab. A terminal of this workspace ends with its tab: the daemon is told at once, and waits a few seconds, in
 * which that can be taken back. So a browser that is closed meanwhile leaves nothing behind. A terminal that somebody else
 * made is only left.
 */
import { call, request, told } from "../api/http";
import { t } from "../i18n";
import { dismiss, toast } from "../ui/toasts";
import { terminals } from "./terminals";

/** Seconds in which a closed terminal can be had back. */
export const GRACE_S = 5;

export interface Closed {
  terminalId: string;
  name: string;
  /** Puts the tab back. */
  restore: () => void;
}

export function isOurs(workspace: string, terminalId: string): boolean {
  const found = terminals.state.get().list.find((terminal) => terminal.terminal_id === terminalId);
  return found === undefined || found.workspace_id === workspace;
}

export async function close(closed: Closed): Promise<void> {
  const action = { label: t("closing.undo"), run: () => void undo(closed) };
  const shown = toast(t("closing.closed", { name: closed.name }), { action }, GRACE_S * 1000);
  try {
    const path = `/api/terminals/${encodeURIComponent(closed.terminalId)}?grace_s=${GRACE_S}`;
    await request(path, { method: "DELETE", keepalive: true });
  } catch (error) {
    dismiss(shown);
    toast(t("closing.failed", { why: told(error) }), { kind: "error" });
  }
}

async function undo(closed: Closed): Promise<void> {
  try {
    await call("terminal.keep", { terminal_id: closed.terminalId });
    closed.restore();
  } catch {
    toast(t("closing.late"), { kind: "error" });
  }
}
