/** Something that was asked for here may itself have to wait for a person: then that is said, with the way to the inbox. */
import { go } from "../app/router";
import { t } from "../i18n";
import { dismiss, toast } from "../ui/toasts";
import { approvals } from "./requests";

/** As long as the longest wait: the word goes when the answer comes. */
const SHOWN_MS = 1_800_000;

export async function tellIfHeld<T>(work: Promise<T>): Promise<T> {
  const shown: number[] = [];
  const before = new Set(approvals.state.get().items.map(({ request }) => request.request_id));
  const stop = approvals.state.subscribe(() => {
    const isHeld = approvals.state.get().items.some(({ request }) => !before.has(request.request_id));
    if (shown.length > 0 || !isHeld) return;
    const action = { label: t("session.inbox"), run: () => go({ page: "approvals" }) };
    shown.push(toast(t("approvals.held"), { action }, SHOWN_MS));
  });
  try {
    return await work;
  } finally {
    stop();
    shown.forEach(dismiss);
  }
}
