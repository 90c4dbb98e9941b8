/** How the daemon is: figures now and over the last minutes, what it is, and what went wrong lately. */
import { useEffect, useState, type JSX } from "react";
import { call, told } from "../api/http";
import type { Info, Stats } from "../api/types";
import { useT, type Key } from "../i18n";
import { useStore } from "../ui/store";
import { duration, size } from "../ui/time";
import { sessions } from "../sessions/sessions";
import { StatePill } from "../sessions/StatePill";
import { Troubles } from "./Troubles";
import { added, gauge, points, rate, type Sample } from "./samples";
import "./diagnostics.css";

const LOOK_MS = 2_000;

const charts: {
  title: Key;
  values: (samples: readonly Sample[]) => number[];
  show: (value: number) => string;
}[] = [
  {
    title: "diagnostics.rate",
    values: (samples) => rate(samples, (stats) => stats.total_commands_run),
    show: (value) => `${value.toFixed(1)}/s`,
  },
  {
    title: "diagnostics.running",
    values: (samples) => gauge(samples, (stats) => stats.running_executions),
    show: String,
  },
  {
    title: "diagnostics.memory",
    values: (samples) => gauge(samples, (stats) => stats.memory_rss_bytes),
    show: size,
  },
  {
    title: "diagnostics.output",
    values: (samples) => gauge(samples, (stats) => stats.output_memory_bytes),
    show: size,
  },
];

export default function DiagnosticsPage(): JSX.Element {
  const t = useT();
  const { samples, info, failure } = useDaemon();
  const stats = samples.at(-1)?.stats;
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.diagnostics")}</h1>
        {info !== null && stats !== undefined && (
          <span className="muted">
            trl {info.version} · {t("diagnostics.up", { time: duration(stats.uptime_s * 1000) })}
          </span>
        )}
      </div>
      {failure !== null && <p className="danger-text">{failure}</p>}
      <div className="charts">
        {charts.map(({ title, values, show }) => (
          <Chart key={title} title={t(title)} values={values(samples)} show={show} />
        ))}
      </div>
      <div className="columns">
        <ActiveSessions />
        {stats !== undefined && <Counters stats={stats} />}
        {info !== null && <About info={info} />}
      </div>
      <Troubles />
    </div>
  );
}

function useDaemon(): { samples: readonly Sample[]; info: Info | null; failure: string | null } {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const [info, setInfo] = useState<Info | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const failed = (error: unknown) => setFailure(told(error));
    const look = () => {
      if (document.hidden) return;
      call("system.stats", {}).then((stats) => {
        setFailure(null);
        setSamples((before) => added(before, { at: Date.now(), stats }));
      }, failed);
    };
    look();
    call("system.info", {}).then(setInfo, failed);
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return { samples, info, failure };
}

function Chart({
  title,
  values,
  show,
}: {
  title: string;
  values: number[];
  show: (value: number) => string;
}): JSX.Element {
  const now = values.at(-1) ?? 0;
  return (
    <figure className="card chart">
      <figcaption>
        <span className="muted">{title}</span>
        <strong>{show(now)}</strong>
      </figcaption>
      <svg viewBox="0 0 240 48" preserveAspectRatio="none" aria-hidden="true">
        <polyline points={points(values, 240, 48)} />
      </svg>
    </figure>
  );
}

function ActiveSessions(): JSX.Element {
  const t = useT();
  const { listed } = useStore(sessions.state);
  useEffect(() => sessions.follow(), []);
  const states = [...new Set(listed.map(({ session }) => session.state))];
  const waiting = listed.reduce((sum, { session }) => sum + session.pending_requests.length, 0);
  return (
    <section className="card">
      <h2>{t("nav.sessions")}</h2>
      <dl className="figures">
        {states.map((state) => (
          <div key={state}>
            <dt>
              <StatePill state={state} />
            </dt>
            <dd>{listed.filter(({ session }) => session.state === state).length}</dd>
          </div>
        ))}
        <div>
          <dt>{t("diagnostics.approvals")}</dt>
          <dd>{waiting}</dd>
        </div>
      </dl>
    </section>
  );
}

function Counters({ stats }: { stats: Stats }): JSX.Element {
  const t = useT();
  const rows: [Key, number][] = [
    ["diagnostics.commands", stats.total_commands_run],
    ["diagnostics.timeouts", stats.timeouts],
    ["diagnostics.rollbacks", stats.rollbacks],
    ["diagnostics.resets", stats.resets],
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
    ["diagnostics.socket", info.socket ?? "–"],
    ["diagnostics.runtimeDir", info.runtime_dir],
    ["diagnostics.max", String(info.max_sessions)],
  ];
  return (
    <section className="card">
      <h2>{t("diagnostics.daemon")}</h2>
      <Figures rows={rows} />
      {!info.runtime_dir_in_memory && <p className="warn-text small">{t("diagnostics.notInMemory")}</p>}
    </section>
  );
}
