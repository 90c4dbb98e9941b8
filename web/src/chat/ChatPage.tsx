/** The conversation with the agent of one session: what was said and done, oldest first, and a line to say the next. */
import { useCallback, useEffect, useMemo, useRef, type JSX, type KeyboardEvent } from "react";
import { useDaemonInfo } from "../api/daemon";
import { told } from "../api/http";
import type { AgentInfo } from "../api/types";
import { go } from "../app/router";
import { To } from "../app/To";
import { useT, type Key } from "../i18n";
import { Conversation } from "../sessions/conversation";
import { Button, IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import { toast } from "../ui/toasts";
import { AskedHere } from "./AskedHere";
import { Commands } from "./CommandBlock";
import { Composer } from "./Composer";
import { MessageBlock } from "./MessageBlock";
import { canRepeat, standingOf, type Standing } from "./standing";
import { Talk } from "./talk";
import { placesOf, type Message } from "./transcript";
import "../sessions/sessions.css";
import "../approvals/approvals.css";
import "./chat.css";

export default function ChatPage({ id }: { id: string }): JSX.Element {
  const t = useT();
  const talk = useMemo(() => new Talk(id), [id]);
  const conversation = useMemo(() => new Conversation(id), [id]);
  const { transcript, failure, stopping } = useStore(talk.state);
  const { session, failure: lost } = useStore(conversation.state);
  useEffect(() => talk.start(), [talk]);
  useEffect(() => conversation.start(), [conversation]);
  const agent = session?.agent ?? null;
  useLinger(agent, conversation);

  const messages = useMemo(() => transcript?.messages ?? [], [transcript]);
  const newest = messages.at(-1);
  const standing = standingOf(agent, newest, stopping);
  const maySend = useDaemonInfo()?.role !== "viewer";
  const attempt = useCallback((work: Promise<void>) => {
    work.catch((error: unknown) => toast(told(error), { kind: "error" }));
  }, []);
  const log = useRef<HTMLDivElement>(null);
  /** Whoever says something wants to see what comes of it, wherever they were reading. */
  const toEnd = useCallback(() => log.current?.scrollTo(0, 0), []);
  const stop = () => attempt(talk.stop());
  const load = useCallback((message: string) => talk.load(message), [talk]);
  const repeat = useCallback((text: string) => attempt(talk.send(text).then(toEnd)), [attempt, talk, toEnd]);
  const press = (event: KeyboardEvent) => {
    const isElsewhere = event.target instanceof Element && event.target.closest(".answer-form") !== null;
    if (event.key !== "Escape" || event.nativeEvent.isComposing || isElsewhere || !maySend) return;
    stop();
  };

  return (
    <Commands value={conversation}>
      <div className="session chat" onKeyDown={press}>
        <div className="session-head">
          <IconButton icon="back" label={t("chat.all")} onClick={() => go({ page: "chat" })} />
          <h1>{session?.name ?? session?.case_id ?? id}</h1>
          <AgentPill standing={standing} agent={agent} />
          <span className="chat-space" />
          <To route={{ page: "session", id }}>{t("chat.session")}</To>
          <To route={{ page: "history", session: id }}>{t("nav.history")}</To>
        </div>
        {(failure ?? lost) !== null && (
          <p role="alert" className="danger-text session-failure">
            {failure ?? lost}
          </p>
        )}
        <div className="blocks" ref={log} role="log" aria-label={t("chat.messages")} tabIndex={0}>
          <div className="blocks-inner">
            {transcript?.hasOlder === true && <Older onWant={() => attempt(talk.older())} />}
            {transcript !== null && session !== null && messages.length === 0 && (
              <p className="muted empty">{t(agent === null ? "chat.noAgent" : "chat.empty")}</p>
            )}
            {messages.map((message, at) => (
              <MessageBlock
                key={message.id}
                message={message}
                isFirst={at === 0 && transcript?.hasOlder !== true}
                onLoad={load}
                onRepeat={maySend && message === newest && canRepeat(message) ? repeat : null}
              />
            ))}
            <Unplaced id={id} messages={messages} />
            <Doing standing={standing} />
          </div>
        </div>
        {session !== null && agent !== null && session.state !== "terminated" && maySend && (
          <Composer talk={talk} session={id} standing={standing} onSent={toEnd} onStop={stop} />
        )}
        {session?.state === "terminated" && <p className="muted composer">{t("chat.terminated")}</p>}
        {!maySend && <p className="muted composer">{t("chat.onlyWatch")}</p>}
      </div>
    </Commands>
  );
}

/** Nothing tells when a warm agent is let go of, but until when it is kept is known. */
function useLinger(agent: AgentInfo | null, conversation: Conversation): void {
  const until = agent?.state === "warm" ? (agent.warm_until ?? null) : null;
  useEffect(() => {
    if (until === null) return;
    const left = Math.max(0, Date.parse(until) - Date.now());
    const timer = setTimeout(() => void conversation.refresh(), left + 500);
    return () => clearTimeout(timer);
  }, [until, conversation]);
}

const standings: Record<Standing, { label: Key; hint: Key; dot: string }> = {
  absent: { label: "chat.absent", hint: "chat.absentHint", dot: "" },
  starting: { label: "chat.starting", hint: "chat.startingHint", dot: "busy" },
  running: { label: "chat.running", hint: "chat.runningHint", dot: "busy" },
  waiting: { label: "chat.waiting", hint: "chat.waitingHint", dot: "warn" },
  stopping: { label: "chat.stopping", hint: "chat.stoppingHint", dot: "warn" },
  warm: { label: "chat.warm", hint: "chat.warmHint", dot: "good" },
};

function AgentPill({ standing, agent }: { standing: Standing; agent: AgentInfo | null }): JSX.Element | null {
  const t = useT();
  if (agent === null) return null;
  const { label, hint, dot } = standings[standing];
  const name = [agent.name, agent.version].filter((word) => word != null).join(" ");
  return (
    <span className="pill" role="status" data-agent={standing} title={t(hint)}>
      <span className={`dot ${dot}`} aria-hidden="true" />
      {t(label)}
      {name !== "" && <span className="muted chat-name">{name}</span>}
    </span>
  );
}

/** While a message runs: what is going on. */
function Doing({ standing }: { standing: Standing }): JSX.Element | null {
  const t = useT();
  if (standing === "absent" || standing === "warm") return null;
  return (
    <p className="doing muted" data-standing={standing}>
      <span className="doing-dots" aria-hidden="true" />
      {t(standings[standing].hint)}
    </p>
  );
}

/** What waits in this session and has no place in a message that is shown. */
function Unplaced({ id, messages }: { id: string; messages: readonly Message[] }): JSX.Element {
  const places = useMemo(() => placesOf(messages), [messages]);
  return (
    <AskedHere
      isMine={({ session_id, request_id, execution_id }) =>
        session_id === id && !places.has(request_id) && !places.has(execution_id ?? "")
      }
    />
  );
}

/** Asked for by hand, or by scrolling up to it. */
function Older({ onWant }: { onWant: () => void }): JSX.Element {
  const t = useT();
  const button = useRef<HTMLDivElement>(null);
  const want = useRef(onWant);
  useEffect(() => {
    want.current = onWant;
  });
  useEffect(() => {
    const box = button.current;
    if (box === null) return;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) want.current();
    });
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return (
    <div className="older" ref={button}>
      <Button onClick={onWant}>{t("chat.older")}</Button>
    </div>
  );
}
