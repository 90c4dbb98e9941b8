import type { JSX } from "react";
import type { RequestState } from "../api/types";
import { useT, type Key, type T } from "../i18n";
import type { Fate } from "./inbox";

const ours: Partial<Record<RequestState, Key>> = {
  approved: "approvals.youApproved",
  rejected: "approvals.youRejected",
};

const others: Partial<Record<RequestState, Key>> = {
  approved: "approvals.otherApproved",
  rejected: "approvals.otherRejected",
  expired: "approvals.expired",
  cancelled: "approvals.cancelled",
};

/** What became of a request, for people; null while it just waits. */
export function fateWords(t: T, fate: Fate): { text: string; kind: "good" | "bad" | "warn" } | null {
  switch (fate.kind) {
    case "open":
      return null;
    case "sending":
      return { text: t("approvals.sending"), kind: "warn" };
    case "failed":
      return { text: t("approvals.failed", { why: fate.why }), kind: "bad" };
    case "secrets":
      return fate.why === undefined
        ? { text: t("approvals.secrets"), kind: "warn" }
        : { text: t("approvals.secretsRefused", { why: fate.why }), kind: "bad" };
    case "gone":
      return { text: t("approvals.gone"), kind: "warn" };
    case "settled": {
      const { by, state, who } = fate;
      const key =
        (state === undefined ? undefined : (by === "us" ? ours : others)[state]) ?? "approvals.settled";
      const kind = by === "us" ? (state === "approved" ? "good" : "bad") : "warn";
      return { text: t(key, { who: who ?? t("approvals.somebody") }), kind };
    }
  }
}

export function FateLine({ fate }: { fate: Fate }): JSX.Element {
  const t = useT();
  const words = fateWords(t, fate);
  return (
    <div role="status" className="fate">
      {words !== null && <p className={`fate-${words.kind}`}>{words.text}</p>}
    </div>
  );
}
