/** What there is to say about a terminal, above its screen: one line each, with what can be done. */
import { useEffect, useState, type JSX, type ReactNode } from "react";
import { To } from "../app/To";
import { isWaiting } from "../approvals/inbox";
import { approvals } from "../approvals/requests";
import { useT } from "../i18n";
import { call, told } from "../api/http";
import { Button, IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import { toast } from "../ui/toasts";
import type { Phase } from "./link";
import type { Panel } from "./panel";

/** A connection that is back within this time is not worth a word. */
const QUIET_MS = 600;

export function PanelNotices({ panel }: { panel: Panel }): JSX.Element {
  const t = useT();
  const { phase, offered, destroyAt } = useStore(panel.link.state);
  const { notice, failure, isMaking } = useStore(panel.state);
  return (
    <>
      {notice === "replaced" && (
        <Notice>
          <span>{t("notice.replaced")}</span>
          <IconButton icon="close" label={t("toast.dismiss")} onClick={() => panel.dismissNotice()} />
        </Notice>
      )}
      {isMaking && <Held />}
      {failure !== null && (
        <Notice kind="bad">
          <span>{t("notice.failed", { why: failure })}</span>
          <Button onClick={() => void panel.renew()}>{t("notice.again")}</Button>
        </Notice>
      )}
      <Connection phase={phase} panel={panel} />
      {destroyAt !== null && phase.kind === "live" && (
        <Notice kind="warn">
          <span>{t("notice.ending")}</span>
          <Button onClick={() => void keep(panel)}>{t("notice.keep")}</Button>
        </Notice>
      )}
      {offered.length > 0 && <Offer panel={panel} offered={offered} />}
    </>
  );
}

function Notice({ kind = "", children }: { kind?: "" | "warn" | "bad"; children: ReactNode }): JSX.Element {
  return (
    <div className={`notice ${kind}`} role="status">
      {children}
    </div>
  );
}

/** A terminal that is asked for does not come, and there is a request for one. */
function Held(): JSX.Element | null {
  const t = useT();
  const { items } = useStore(approvals.state);
  if (!items.some((item) => isWaiting(item) && item.request.terminal_id != null)) return null;
  return (
    <Notice kind="warn">
      <span>{t("notice.held")}</span>
      <To route={{ page: "approvals" }}>{t("session.inbox")}</To>
    </Notice>
  );
}

function Connection({ phase, panel }: { phase: Phase; panel: Panel }): JSX.Element | null {
  const t = useT();
  const isLost = useLasting(phase.kind === "waiting" || phase.kind === "connecting", QUIET_MS);
  switch (phase.kind) {
    case "waiting":
    case "connecting":
      if (!isLost) return null;
      return (
        <Notice kind="warn">
          <span>{t("notice.lost", { attempt: phase.attempt })}</span>
          <Button onClick={() => panel.link.retry()}>{t("notice.now")}</Button>
        </Notice>
      );
    case "gaveUp":
      return (
        <Notice kind="bad">
          <span>{t("notice.gaveUp")}</span>
          <Button onClick={() => panel.link.retry()}>{t("notice.reconnect")}</Button>
        </Notice>
      );
    case "forbidden":
      return <Notice kind="bad">{t("notice.forbidden")}</Notice>;
    case "ended":
      return (
        <Notice>
          <span>
            {phase.signal === null
              ? t("notice.ended", { code: phase.code ?? "?" })
              : t("notice.killed", { signal: phase.signal })}
          </span>
          <Button onClick={() => void panel.renew()}>{t("notice.renew")}</Button>
        </Notice>
      );
    default:
      return null;
  }
}

/** Whether something has been so for that long. */
function useLasting(isSo: boolean, ms: number): boolean {
  const [lasting, setLasting] = useState(false);
  useEffect(() => {
    if (!isSo) return;
    const timer = setTimeout(() => setLasting(true), ms);
    return () => {
      clearTimeout(timer);
      setLasting(false);
    };
  }, [isSo, ms]);
  return isSo && lasting;
}

function Offer({ panel, offered }: { panel: Panel; offered: Uint8Array }): JSX.Element {
  const t = useT();
  const text = new TextDecoder().decode(offered).replace(/[\x00-\x1f\x7f]/g, "·"); // eslint-disable-line no-control-regex
  return (
    <Notice kind="warn">
      <span>
        {t("notice.offer")} <code>{text.slice(0, 60)}</code>
      </span>
      <Button onClick={() => panel.link.settleOffer("send")}>{t("notice.send")}</Button>
      <Button kind="quiet" onClick={() => panel.link.settleOffer("drop")}>
        {t("notice.drop")}
      </Button>
    </Notice>
  );
}

async function keep(panel: Panel): Promise<void> {
  if (panel.terminalId === null) return;
  try {
    await call("terminal.keep", { terminal_id: panel.terminalId });
  } catch (error) {
    toast(told(error), { kind: "error" });
  }
}
