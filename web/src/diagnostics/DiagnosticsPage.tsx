/** How the daemon is: figures now and over the last minutes, what it is, and what went wrong lately. */
import { useEffect, useState, type JSX } from "react";
import { call, told } from "../api/http";
import type { Info, Stats } from "../api/types";
import { To } from "../app/To";
import { isWaiting } from "../approvals/inbox";
import { approvals } from "../approvals/requests";
import { useT, type Key } from "../i18n";
import { useStore } from "../ui/store";
import { duration, size } from "../ui/time";
import { Runtimes } from "../runtimes/Runtimes";
import { sessions } from "../sessions/sessions";
import { StatePill } from "../sessions/StatePill";
import { Chart, type Series } from "./Chart";
import { Doctor } from "./Doctor";
import { Troubles } from "./Troubles";
import { added, gauge, quantile, rate, spanOf, type Sample } from "./samples";
import "../sessions/sessions.css";
import "./diagnostics.css";

const LOOK_MS = 2_000;

const perSecond = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
const bytesPerSecond = (value: number) => `${size(Math.round(value))}/s`;

const charts: {
  title: Key;
  series: (samples: readonly Sample[]) => Series[];
  show: (value: number) => string;
}[] = [
  {
    title: "diagnostics.rate",
    series: (samples) => [{ points: rate(samples, (stats) => stats.total_commands_run) }],
    show: perSecond,
  },
  {
    title: "diagnostics.latency",
    series: (samples) => [
      { name: "p50", points: quantile(samples, (stats) => stats.command_duration_ms, 0.5) },
      { name: "p95", points: quantile(samples, (stats) => stats.command_duration_ms, 0.95) },
    ],
    show: duration,
  },
  {
    title: "diagnostics.wait",
    series: (samples) => [
      { name: "p50", points: quantile(samples, (stats) => stats.command_wait_ms, 0.5) },
      { name: "p95", points: quantile(samples, (stats) => stats.command_wait_ms, 0.95) },
    ],
    show: duration,
  },
  {
    title: "diagnostics.running",
    series: (samples) => [{ points: gauge(samples, (stats) => stats.running_executions) }],
    show: (value) => String(Math.round(value * 10) / 10),
  },
  {
    title: "diagnostics.memory",
    series: (samples) => [{ points: gauge(samples, (stats) => stats.memory_rss_bytes) }],
    show: size,
  },
  {
    title: "diagnostics.outputRate",
    series: (samples) => [{ points: rate(samples, (stats) => stats.output_bytes) }],
    show: bytesPerSecond,
  },
];

export default function DiagnosticsPage(): JSX.Element {
  const t = useT();
  const { samples, info, failure } = useDaemon();
  const last = samples.at(-1);
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.diagnostics")}</h1>
        {info !== null && last !== undefined && (
          <span className="muted">
            trl {info.version} · {t("diagnostics.up", { time: duration(last.stats.uptime_s * 1000) })} ·{" "}
            {t("diagnostics.span", { time: duration(spanOf(samples)) })}
          </span>
        )}
      </div>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
      <div className="charts">
        {charts.map(({ title, series, show }) => (
          <Chart
            key={title}
            title={t(title)}
            series={series(samples)}
            now={last?.at ?? 0}
            span={spanOf(samples)}
            show={show}
          />
        ))}
      </div>
      <div className="columns">
        <ActiveSessions />
        {last !== undefined && (
          <div className="stack">
            <Counters stats={last.stats} />
            <Records stats={last.stats} />
          </div>
        )}
        {info !== null && <About info={info} />}
      </div>
      <Runtimes />
      <Doctor />
      <Troubles />
    </div>
  );
}

/** What was seen while this page was open; charts go on where they were when somebody comes back. */
let seen: readonly Sample[] = [];

function useDaemon(): { samples: readonly Sample[]; info: Info | null; failure: string | null } {
  const [samples, setSamples] = useState<readonly Sample[]>(seen);
  const [info, setInfo] = useState<Info | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const failed = (error: unknown) => setFailure(told(error));
    const look = () => {
      if (document.hidden) return;
      call("system.stats", {}).then((stats) => {
        setFailure(null);
        seen = added(seen, { at: Date.now(), stats });
        setSamples(seen);
      }, failed);
    };
    look();
    call("system.info", {}).then(setInfo, failed);
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return { samples, info, failure };
}

function ActiveSessions(): JSX.Element {
  const t = useT();
  const { listed } = useStore(sessions.state);
  const { items, isAsking } = useStore(approvals.state);
  useEffect(() => sessions.follow(), []);
  const states = [...new Set(listed.map(({ session }) => session.state))];
  return (
    <section className="card">
      <h2>{t("nav.sessions")}</h2>
      <dl className="figures">
        {states.length === 0 && (
          <div>
            <dt>{t("sessions.empty")}</dt>
            <dd>0</dd>
          </div>
        )}
        {states.map((state) => (
          <div key={state}>
            <dt>
              <StatePill state={state} />
            </dt>
            <dd>{listed.filter(({ session }) => session.state === state).length}</dd>
          </div>
        ))}
        <div>
          <dt>
            <To route={{ page: "approvals" }}>{t("diagnostics.approvals")}</To>
          </dt>
          <dd>{isAsking === false ? t("diagnostics.notAsked") : items.filter(isWaiting).length}</dd>
        </div>
      </dl>
    </section>
  );
}

function Counters({ stats }: { stats: Stats }): JSX.Element {
  const t = useT();
  const rows: [Key, string | number][] = [
    ["diagnostics.commands", stats.total_commands_run],
    ["diagnostics.timeouts", stats.timeouts],
    ["diagnostics.rollbacks", stats.rollbacks],
    ["diagnostics.resets", stats.resets],
    ["diagnostics.written", size(stats.output_bytes)],
    ["diagnostics.output", size(stats.output_memory_bytes)],
    ["diagnostics.connections", stats.connections],
    ["diagnostics.fds", stats.open_fds],
  ];
  return (
    <section className="card">
      <h2>{t("diagnostics.counters")}</h2>
      <Figures rows={rows} />
    </section>
  );
}

/** What the daemon writes down, and what it could not. `system.doctor` says how the file is. */
function Records({ stats }: { stats: Stats }): JSX.Element {
  const t = useT();
  const isLosing = stats.records_failed > 0 || stats.records_dropped > 0;
  return (
    <section className="card" aria-label={t("diagnostics.store")}>
      <h2>{t("diagnostics.store")}</h2>
      <Figures
        rows={[
          ["diagnostics.recordsWritten", stats.records_written],
          ["diagnostics.recordsFailed", stats.records_failed],
          ["diagnostics.recordsDropped", stats.records_dropped],
          ["diagnostics.storeQueue", size(stats.store_queue_bytes)],
        ]}
      />
      {isLosing && <p className="warn-text small">{t("diagnostics.storeLosing")}</p>}
    </section>
  );
}

function Figures({ rows }: { rows: [Key, string | number][] }): JSX.Element {
  const t = useT();
  return (
    <dl className="figures">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{t(label)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function About({ info }: { info: Info }): JSX.Element {
  const t = useT();
  const rows: [Key, string][] = [
    ["diagnostics.role", info.role],
    ["session.pid", String(info.pid)],
    ["diagnostics.max", String(info.max_sessions)],
  ];
  const places: [Key, string][] = [
    ["diagnostics.socket", info.socket ?? "–"],
    ["diagnostics.runtimeDir", info.runtime_dir],
  ];
  return (
    <section className="card">
      <h2>{t("diagnostics.daemon")}</h2>
      <Figures rows={rows} />
      <dl className="figures places">
        {places.map(([label, value]) => (
          <div key={label}>
            <dt>{t(label)}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
      {!info.runtime_dir_in_memory && <p className="warn-text small">{t("diagnostics.notInMemory")}</p>}
    </section>
  );
}
