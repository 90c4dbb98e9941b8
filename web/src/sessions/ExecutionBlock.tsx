/** A command and what came of it. */
import { memo, useLayoutEffect, useRef, type JSX, type RefObject } from "react";
import { To } from "../app/To";
import { call, told } from "../api/http";
import { whyNot } from "../api/text";
import type { ExecutionInfo } from "../api/types";
import { useT } from "../i18n";
import { Button, IconButton } from "../ui/Button";
import { duration, size, useNow } from "../ui/time";
import { toast } from "../ui/toasts";
import { Coloured } from "./Coloured";
import { saveOutput } from "./download";
import { isUnderWay, type ExecutionView, type Segment, type StreamName } from "./execution";

export const ExecutionBlock = memo(function ExecutionBlock({
  view,
  onLoad,
}: {
  view: ExecutionView;
  onLoad: () => void;
}): JSX.Element {
  const t = useT();
  const { info, segments, isLoaded } = view;
  const { output, scrolled } = useTail(isUnderWay(view), segments);
  const hasOutput = info.stdout_bytes + info.stderr_bytes > 0;
  return (
    <article className="block" aria-label={info.command}>
      <header>
        {/* One that has to be scrolled can be reached by the keyboard. */}
        <pre className="block-command" tabIndex={isLong(info.command) ? 0 : undefined}>
          {info.command}
        </pre>
        <Status view={view} />
      </header>
      {segments.length > 0 && (
        <pre
          className="output"
          tabIndex={0}
          aria-label={t("session.output")}
          ref={output}
          onScroll={scrolled}
        >
          {segments.map((segment, at) => (
            <Part key={at} segment={segment} id={info.execution_id} />
          ))}
        </pre>
      )}
      {!isLoaded && info.status === "done" && hasOutput && (
        <div className="block-foot">
          <Button kind="quiet" onClick={onLoad}>
            {t("session.show", { size: size(info.stdout_bytes + info.stderr_bytes) })}
          </Button>
        </div>
      )}
      <Remarks view={view} />
    </article>
  );
});

/** A pixel or two of rounding is the end as well. */
const NEAR = 4;

/** While a command runs, the end of its output is shown, unless the person looks at something else. */
function useTail(
  isRunning: boolean,
  segments: readonly Segment[],
): { output: RefObject<HTMLPreElement | null>; scrolled: () => void } {
  const output = useRef<HTMLPreElement>(null);
  const wasRunning = useRef(isRunning);
  const follows = useRef(true);
  useLayoutEffect(() => {
    // also for what came with the end
    if (wasRunning.current && follows.current && output.current !== null)
      output.current.scrollTop = output.current.scrollHeight;
    wasRunning.current ||= isRunning;
  }, [segments, isRunning]);
  const scrolled = () => {
    const box = output.current;
    if (box !== null) follows.current = box.scrollHeight - box.scrollTop - box.clientHeight <= NEAR;
  };
  return { output, scrolled };
}

function isLong(command: string): boolean {
  return command.length > 200 || command.split("\n").length > 5;
}

function Part({ segment, id }: { segment: Segment; id: string }): JSX.Element {
  const t = useT();
  if (segment.kind === "text")
    return (
      <span className={segment.stream}>
        <Coloured text={segment.text} />
      </span>
    );
  const { from, to } = segment.range;
  return (
    <span className="gap">
      {t("session.gap", { size: size(to - from), stream: segment.stream })}{" "}
      <button type="button" className="link-button" onClick={() => save(id, segment.stream)}>
        {t("session.full")}
      </button>
    </span>
  );
}

function save(id: string, stream: StreamName): void {
  saveOutput(id, stream).catch((error: unknown) => toast(told(error), { kind: "error" }));
}

function Status({ view }: { view: ExecutionView }): JSX.Element {
  const t = useT();
  const { info, outcome } = view;
  if (isUnderWay(view)) return <UnderWay info={info} />;
  if (view.refusal !== null || info.status === "unknown")
    return (
      <span className="block-status">
        <span className="badge bad">{t(view.refusal === null ? "session.unknown" : "session.refused")}</span>
      </span>
    );
  const code = info.exit_code ?? outcome?.exit_code ?? 0;
  return (
    <span className="block-status">
      <span className="muted">{duration(outcome?.duration_ms ?? info.elapsed_ms)}</span>
      <span className={code === 0 ? "badge good" : "badge bad"}>{t("session.exit", { code })}</span>
    </span>
  );
}

function UnderWay({ info: { execution_id, status, created_at } }: { info: ExecutionInfo }): JSX.Element {
  const t = useT();
  const now = useNow(500);
  const cancel = () => {
    call("exec.cancel", { execution_id }).catch((error: unknown) => toast(told(error), { kind: "error" }));
  };
  return (
    <span className="block-status">
      <span className="muted">{duration(Math.max(0, now - Date.parse(created_at)))}</span>
      {status === "waiting_hitl" ? (
        <To route={{ page: "approvals" }} className="badge warn">
          {t("session.held")}
        </To>
      ) : (
        <span className="badge busy">{t(status === "queued" ? "session.queued" : "state.running")}</span>
      )}
      <IconButton icon="stop" label={t("session.cancel")} onClick={cancel} />
    </span>
  );
}

function Remarks({ view: { info, outcome, refusal } }: { view: ExecutionView }): JSX.Element | null {
  const t = useT();
  if (refusal !== null) return <p className="block-foot danger-text small">{whyNot(refusal)}</p>;
  if (info.status === "unknown")
    return <p className="block-foot warn-text small">{t("session.unknownHint")}</p>;
  if (outcome === null) return null;
  const remarks = [
    outcome.timed_out ? t("session.timedOut") : "",
    outcome.cancelled ? t("session.cancelled") : "",
    outcome.signal != null ? t("notice.killed", { signal: outcome.signal }) : "",
    outcome.shell_state === "rolled_back" ? t("session.rolledBack") : "",
    outcome.shell_state === "reset" ? t("session.wasReset") : "",
    outcome.background_pids != null && outcome.background_pids.length > 0
      ? t("session.background", { n: outcome.background_pids.length })
      : "",
  ].filter((remark) => remark !== "");
  return remarks.length === 0 ? null : <p className="block-foot muted small">{remarks.join(" ")}</p>;
}
