/** A word to a person who looks elsewhere: a notification of the browser for each command that begins to wait meanwhile. */
import { daemon, isOperator } from "../api/daemon";
import { go } from "../app/router";
import { t } from "../i18n";
import { oneLine } from "../ui/plain";
import { createStore, type Store } from "../ui/store";
import { news, placeOf, summary } from "./inbox";
import { approvals } from "./requests";

export type Permission = NotificationPermission | "impossible";

export const permission: Store<Permission> = createStore(current());

function current(): Permission {
  return typeof Notification === "undefined" || !isSecureContext ? "impossible" : Notification.permission;
}

/** Only from a button: a page that asks when it is loaded is refused for good. */
export async function askPermission(): Promise<void> {
  await Notification.requestPermission();
  permission.set(current());
}

/** Follows the list until told to stop. */
export function startNotifying(): () => void {
  let known: ReadonlySet<string> = new Set<string>();
  const shown = new Map<string, Notification>();
  const look = () => {
    const found = news(known, approvals.state.get().items, document.hidden);
    known = found.known;
    for (const [id, notification] of shown) {
      if (known.has(id)) continue;
      notification.close();
      shown.delete(id);
    }
    if (current() !== "granted" || !isOperator(daemon.state.get())) return;
    for (const { request } of found.tell) {
      const notification = notify(placeOf(request), request.command, request.request_id);
      if (notification !== null) shown.set(request.request_id, notification);
    }
  };
  const stop = approvals.state.subscribe(look);
  look();
  return () => {
    stop();
    for (const notification of shown.values()) notification.close();
  };
}

function notify(session: string, command: string, tag: string): Notification | null {
  try {
    const name = oneLine(session);
    const notification = new Notification(t("approvals.notice", { name }), { body: summary(command), tag });
    notification.onclick = () => {
      window.focus();
      go({ page: "approvals" });
      notification.close();
    };
    return notification;
  } catch {
    // Some phones only let service workers do this.
    return null;
  }
}
