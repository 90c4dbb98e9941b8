/** One command that waits: what it is, which parts need a decision, how long there is, and the answers. */
import { useRef, useState, type JSX, type KeyboardEvent } from "react";
import type { Route } from "../app/router";
import { To } from "../app/To";
import type { ApprovalRequest, Executable, Scope } from "../api/types";
import { useT, type Key } from "../i18n";
import { Button } from "../ui/Button";
import { ago, useNow } from "../ui/time";
import { AnswerForm } from "./AnswerForm";
import { FateLine } from "./FateLine";
import { folded, lineCount } from "./folding";
import {
  clock,
  isEditable,
  isWaiting,
  pieces,
  placeOf,
  remaining,
  standsFor,
  wouldAllow,
  type Fate,
  type Item,
} from "./inbox";
import { approvals, type Answer } from "./requests";
import { SecretsForm } from "./SecretsForm";
import { useSeen } from "./useSeen";

/** From here on the time that is left is shown as urgent. */
const URGENT_MS = 60_000;

const yes: { scope: Scope; key: string; label: Key }[] = [
  { scope: "once", key: "a", label: "approvals.once" },
  { scope: "session", key: "s", label: "approvals.session" },
  { scope: "always", key: "w", label: "approvals.always" },
];

type Mode = "look" | "edit" | "reject";

export function RequestCard({ item, mayAnswer }: { item: Item; mayAnswer: boolean }): JSX.Element {
  const t = useT();
  const { request, fate } = item;
  const [mode, setMode] = useState<Mode>("look");
  const card = useRef<HTMLElement>(null);
  /** What was answered, should it have to be said again. */
  const [given, setGiven] = useState<Answer | null>(null);
  const { element, goOn: readOn } = useSeen();
  /** There was more to read when an answer was given. */
  const [isHeld, setHeld] = useState(false);
  const offered = yes.filter(({ scope }) => request.scopes.includes(scope));
  const isOpen = mayAnswer && isWaiting(item);
  const isReady = isOpen && fate.kind !== "sending" && fate.kind !== "secrets";

  const look = () => {
    setMode("look");
    card.current?.focus();
  };
  const answer = (what: Answer) => {
    look();
    setGiven(what);
    void approvals.answer(request, what).then(goOn);
  };
  /** No yes to what was not on the screen: then the rest is shown, and nothing else is done. */
  const afterReading = (act: () => void) => {
    const isWhole = readOn();
    setHeld(!isWhole);
    if (isWhole) act();
  };
  const goOn = ({ kind }: Fate) => {
    if (kind === "settled" || kind === "gone") focusNext(card.current);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey || !isReady) return;
    const chosen = offered.find(({ key }) => key === event.key);
    if (chosen !== undefined) afterReading(() => answer({ decision: "approve", scope: chosen.scope }));
    else if (event.key === "e" && isEditable(request)) afterReading(() => setMode("edit"));
    else if (event.key === "r") setMode("reject");
    else return;
    event.preventDefault();
  };

  return (
    <article
      ref={card}
      className="card request"
      data-fate={fate.kind}
      tabIndex={0}
      aria-label={request.command}
      onKeyDown={press}
    >
      <Head request={request} isWaiting={isWaiting(item)} />
      <div ref={element} className="request-shown">
        <Command request={request} />
        <Parts request={request} />
      </div>
      {isOpen && fate.kind === "secrets" && given !== null && (
        <SecretsForm
          names={fate.names}
          submit={t("approvals.supply")}
          onCancel={() => {
            approvals.leave(request);
            look();
          }}
          onSubmit={(secrets) => {
            look();
            void approvals.supply(request, given, secrets).then(goOn);
          }}
        />
      )}
      {isOpen && fate.kind !== "secrets" && mode === "look" && (
        <div className="request-answers">
          {offered.map(({ scope, key, label }, at) => (
            <Button
              key={scope}
              kind={at === 0 ? "primary" : "plain"}
              disabled={!isReady}
              aria-keyshortcuts={key}
              onClick={() => afterReading(() => answer({ decision: "approve", scope }))}
            >
              {t(label)}
              <kbd aria-hidden="true">{key.toUpperCase()}</kbd>
            </Button>
          ))}
          {isEditable(request) && (
            <Button
              disabled={!isReady}
              aria-keyshortcuts="e"
              onClick={() => afterReading(() => setMode("edit"))}
            >
              {t("approvals.edit")}
              <kbd aria-hidden="true">E</kbd>
            </Button>
          )}
          <Button kind="danger" disabled={!isReady} aria-keyshortcuts="r" onClick={() => setMode("reject")}>
            {t("approvals.reject")}
            <kbd aria-hidden="true">R</kbd>
          </Button>
        </div>
      )}
      {isOpen && mode === "edit" && (
        <AnswerForm
          label={t("approvals.instead")}
          submit={t("approvals.runInstead")}
          initial={request.command}
          isCode
          onCancel={look}
          onSubmit={(command) => answer({ decision: "approve", command })}
        />
      )}
      {isOpen && mode === "reject" && (
        <AnswerForm
          label={t("approvals.why")}
          submit={t("approvals.reject")}
          initial=""
          onCancel={look}
          onSubmit={(reason) => answer({ decision: "reject", reason })}
        />
      )}
      {isHeld && (
        <p role="status" className="warn-text">
          {t("approvals.readOn")}
        </p>
      )}
      <FateLine fate={fate} />
    </article>
  );
}

/** The next card that waits, or the one before: whoever answers by keyboard goes on there. */
function focusNext(from: HTMLElement | null): void {
  if (!from?.contains(document.activeElement)) return;
  const cards = [...document.querySelectorAll<HTMLElement>(".request")];
  const at = cards.indexOf(from);
  const open = (card: HTMLElement) => card !== from && card.dataset["fate"] === "open";
  (cards.slice(at + 1).find(open) ?? cards.findLast(open))?.focus();
}

function Head({ request, isWaiting }: { request: ApprovalRequest; isWaiting: boolean }): JSX.Element {
  const t = useT();
  const now = useNow(1_000);
  return (
    <header className="request-head">
      {request.session_id == null ? (
        <strong>{placeOf(request)}</strong>
      ) : (
        <To route={whereFrom(request, request.session_id)}>{placeOf(request)}</To>
      )}
      {request.permission != null && <span className="badge busy">{t("chat.agent")}</span>}
      {request.terminal_id != null && <span className="badge busy">{t("workspace.terminal")}</span>}
      {request.case_id != null && <span className="badge busy">{request.case_id}</span>}
      <span className="muted">{t("approvals.asked", { who: request.origin })}</span>
      <span className="muted">{ago(t, request.created_at, now)}</span>
      {isWaiting && <Countdown request={request} now={now} />}
    </header>
  );
}

/** To the conversation, if it is an agent that asks. */
function whereFrom({ permission }: ApprovalRequest, session: string): Route {
  return permission == null ? { page: "session", id: session } : { page: "chat", session };
}

function Countdown({ request, now }: { request: ApprovalRequest; now: number }): JSX.Element {
  const t = useT();
  const { ms, share } = remaining(request, now);
  return (
    <span className={ms <= URGENT_MS ? "countdown urgent" : "countdown"} role="timer">
      <span className="countdown-bar" aria-hidden="true">
        <span style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
      {ms === 0 ? t("approvals.over") : t("approvals.left", { time: clock(ms) })}
    </span>
  );
}

function Command({ request }: { request: ApprovalRequest }): JSX.Element {
  const t = useT();
  const { lines, empty } = lineCount(request.command);
  const found = pieces(request.command, request.segments);
  const words = {
    empty: (n: number) => t("approvals.emptyLines", { n }),
    spaces: (n: number) => t("approvals.spaces", { n }),
  };
  return (
    <>
      {lines > 1 && (
        <p className="muted small">
          {t(empty > 0 ? "approvals.linesEmpty" : "approvals.lines", { n: lines, empty })}
        </p>
      )}
      <pre className="request-command" tabIndex={0}>
        {found.map(({ text, verdict }, at) =>
          verdict === null || verdict === "allow" ? (
            <span key={at} className={verdict ?? "between"}>
              {folded(text, words, found[at - 1]?.text)}
            </span>
          ) : (
            <mark key={at} className={verdict}>
              {folded(text, words, found[at - 1]?.text)}
            </mark>
          ),
        )}
      </pre>
    </>
  );
}

/** Why it waits, where it would run, and what a yes would mean for later. */
function Parts({ request }: { request: ApprovalRequest }): JSX.Element {
  const t = useT();
  const allowed = wouldAllow(request);
  const executables = request.executables ?? [];
  const isWider = request.scopes.some((scope) => scope !== "once");
  return (
    <dl className="request-facts">
      {request.permission == null ? (
        <Decide request={request} />
      ) : (
        <div>
          <dt>{t("approvals.hears")}</dt>
          <dd className="request-allows">
            {request.permission.options.map(({ option_id, name }) => (
              <code key={option_id}>{name}</code>
            ))}
            <span className="muted">{t("approvals.remembers")}</span>
          </dd>
        </div>
      )}
      <div>
        <dt>{t("approvals.where")}</dt>
        <dd>
          <code>{request.working_dir}</code>
          {request.runtime !== "host" && <span className="muted"> · {request.runtime}</span>}
        </dd>
      </div>
      {executables.length > 0 && (
        <div>
          <dt>{t("approvals.names")}</dt>
          <dd className="request-names">
            {executables.map((one) => (
              <Name key={one.name} executable={one} />
            ))}
          </dd>
        </div>
      )}
      {isWider && allowed.length > 0 && (
        <div>
          <dt>{t("approvals.allows")}</dt>
          <dd className="request-allows">
            {allowed.map((prefix) => (
              <code key={prefix}>{prefix} …</code>
            ))}
          </dd>
        </div>
      )}
      {request.terminal_id != null && (
        <div>
          <dt>{t("approvals.covers")}</dt>
          <dd className="warn-text">{t("approvals.typed")}</dd>
        </div>
      )}
      <div>
        <dt>{t("approvals.boundary")}</dt>
        {request.approval_boundary === "advisory" ? (
          <dd className="warn-text">{t("approvals.advisory")}</dd>
        ) : (
          <dd>{t("approvals.enforced")}</dd>
        )}
      </div>
    </dl>
  );
}

/** The parts that nobody said yes to yet. */
function Decide({ request }: { request: ApprovalRequest }): JSX.Element {
  const t = useT();
  const parts = request.segments.filter(({ verdict }) => verdict !== "allow");
  return (
    <div>
      <dt>{t("approvals.decide")}</dt>
      <dd>
        {parts.map(({ text, verdict, reason, rule, parts: inner = [] }, at) => (
          <div key={at} className="request-part">
            <span className={verdict === "deny" ? "badge bad" : "badge warn"}>
              {t(verdict === "deny" ? "approvals.deny" : "approvals.ask")}
            </span>
            {text === request.command ? <span>{t("approvals.whole")}</span> : <code>{text}</code>}
            {(reason ?? rule) != null && <span className="muted">{reason ?? rule}</span>}
            {inner.length > 0 && <Inner parts={inner} />}
          </div>
        ))}
      </dd>
    </div>
  );
}

/** The commands that stand in a text which could not be taken apart. */
function Inner({ parts }: { parts: readonly string[] }): JSX.Element {
  const t = useT();
  return (
    <ul className="request-inner" aria-label={t("approvals.inner")}>
      {parts.map((part) => (
        <li key={part}>
          <code>{part}</code>
        </li>
      ))}
    </ul>
  );
}

/** What would be run under a name: a function of that name, or no file at all, is worth a second look. */
function Name({ executable }: { executable: Executable }): JSX.Element {
  const { text, isOdd } = standsFor(executable);
  return (
    <span className={isOdd ? "warn-text" : ""}>
      <code>{executable.name}</code> <span aria-hidden="true">→</span> <code>{text}</code>
    </span>
  );
}
