/** The inbox: every command that waits for a person's yes or no, of all sessions, oldest first. */
import {
  useCallback,
  useEffect,
  useRef,
  type FocusEventHandler,
  type JSX,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { isOperator, useDaemonInfo } from "../api/daemon";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { Icon } from "../ui/icons";
import { useStore } from "../ui/store";
import { Decisions } from "./Decisions";
import { fateWords } from "./FateLine";
import type { Item } from "./inbox";
import { askPermission, permission } from "./notify";
import { RequestCard } from "./RequestCard";
import { approvals } from "./requests";
import "../sessions/sessions.css";
import "./approvals.css";

export default function ApprovalsPage(): JSX.Element {
  const t = useT();
  const { items, settled, isAsking, failure } = useStore(approvals.state);
  const mayAnswer = isOperator(useDaemonInfo());
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.approvals")}</h1>
        {isAsking === true && mayAnswer && <Notifications />}
      </div>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
      {isAsking === false && <Empty title="approvals.notAsking" hint="approvals.notAskingHint" />}
      {isAsking === true && items.length === 0 && (
        <Empty title="approvals.empty" hint="approvals.emptyHint" />
      )}
      {items.length > 0 && <Inbox items={items} mayAnswer={mayAnswer} />}
      {settled.length > 0 && <Settled items={settled} />}
      {isAsking === true && mayAnswer && <Decisions />}
    </div>
  );
}

function Inbox({ items, mayAnswer }: { items: readonly Item[]; mayAnswer: boolean }): JSX.Element {
  const t = useT();
  const list = useRef<HTMLOListElement>(null);
  const focus = useHold(list);
  return (
    <>
      <ol ref={list} className="inbox" onKeyDown={move} {...focus}>
        {items.map((item) => (
          <li key={item.request.request_id}>
            <RequestCard item={item} mayAnswer={mayAnswer} />
          </li>
        ))}
      </ol>
      {mayAnswer ? (
        <p className="muted small wide-only">{t("approvals.keys")}</p>
      ) : (
        <p className="muted small">{t("approvals.onlyOperators")}</p>
      )}
    </>
  );
}

/**
 * Keeps the list still while somebody points at it or works in it by keyboard. Where the pointer is, is asked of the page as
 * a whole: what it stood on may be gone, and then nothing says that it has left.
 */
function useHold(list: RefObject<HTMLElement | null>): {
  onFocus: FocusEventHandler<HTMLElement>;
  onBlur: FocusEventHandler<HTMLElement>;
} {
  const held = useRef({ pointer: false, focus: false });
  const hold = useCallback((change: Partial<{ pointer: boolean; focus: boolean }>) => {
    Object.assign(held.current, change);
    approvals.hold(held.current.pointer || held.current.focus);
  }, []);
  useEffect(() => {
    const at = (event: PointerEvent) =>
      hold({ pointer: event.target instanceof Node && list.current?.contains(event.target) === true });
    const away = () => hold({ pointer: false });
    // A finger points only as long as it is down.
    const up = (event: PointerEvent) => {
      if (event.pointerType === "touch") away();
    };
    const page = document.documentElement;
    page.addEventListener("pointerover", at);
    page.addEventListener("pointerleave", away);
    page.addEventListener("pointerup", up);
    page.addEventListener("pointercancel", up);
    return () => {
      page.removeEventListener("pointerover", at);
      page.removeEventListener("pointerleave", away);
      page.removeEventListener("pointerup", up);
      page.removeEventListener("pointercancel", up);
      approvals.hold(false);
    };
  }, [hold, list]);
  return {
    // Not after a click: then it is the pointer that counts.
    onFocus: ({ target }) => hold({ focus: target.matches(":focus-visible") }),
    onBlur: ({ currentTarget, relatedTarget }) => {
      if (!currentTarget.contains(relatedTarget)) hold({ focus: false });
    },
  };
}

const steps: Partial<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** From card to card. */
function move(event: KeyboardEvent<HTMLElement>): void {
  const step = steps[event.key];
  const cards = [...event.currentTarget.querySelectorAll<HTMLElement>(".request")];
  const at = cards.findIndex((card) => card === event.target);
  if (step === undefined || at < 0) return;
  event.preventDefault();
  cards[at + step]?.focus();
}

function Empty({ title, hint }: { title: Key; hint: Key }): JSX.Element {
  const t = useT();
  return (
    <div className="card empty">
      <span className="empty-icon">
        <Icon name="approvals" />
      </span>
      <h2>{t(title)}</h2>
      <p className="muted">{t(hint)}</p>
    </div>
  );
}

function Notifications(): JSX.Element | null {
  const t = useT();
  switch (useStore(permission)) {
    case "default":
      return (
        <Button icon="bell" onClick={() => void askPermission()}>
          {t("approvals.notify")}
        </Button>
      );
    case "granted":
      return <span className="muted small">{t("approvals.notified")}</span>;
    case "denied":
      return <span className="muted small">{t("approvals.notifyDenied")}</span>;
    case "impossible":
      return null;
  }
}

function Settled({ items }: { items: readonly Item[] }): JSX.Element {
  const t = useT();
  return (
    <section className="history" aria-label={t("approvals.recent")}>
      <h2>{t("approvals.recent")}</h2>
      <ul className="card settled">
        {items.map(({ request, fate }) => {
          const words = fateWords(t, fate);
          return (
            <li key={request.request_id}>
              <code title={request.command}>{request.command}</code>
              {words !== null && <span className={`fate-${words.kind}`}>{words.text}</span>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
