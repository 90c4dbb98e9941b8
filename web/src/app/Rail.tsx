/** The way around: pages, the state of the connection, language, look, leaving. */
import type { JSX } from "react";
import { can, useDaemonInfo } from "../api/daemon";
import { feed, type FeedPhase } from "../api/feed";
import type { Methods } from "../api/types";
import { logOut } from "../auth/token";
import { language, languages, useT, type Key, type Language } from "../i18n";
import { IconButton } from "../ui/Button";
import { Icon, Logo, type IconName } from "../ui/icons";
import { useStore } from "../ui/store";
import { choice, type Choice } from "../ui/theme";
import { DEFAULT_WORKSPACE, route, type Route } from "./router";
import { To } from "./To";
import "./rail.css";

/** A page that needs a method is there when the daemon has it. */
const pages: { to: Route; label: Key; icon: IconName; needs?: keyof Methods }[] = [
  { to: { page: "workspace", workspace: DEFAULT_WORKSPACE }, label: "nav.workspace", icon: "terminal" },
  { to: { page: "sessions" }, label: "nav.sessions", icon: "sessions" },
  { to: { page: "chat" }, label: "nav.chat", icon: "chat", needs: "agent.send_message" },
  { to: { page: "approvals" }, label: "nav.approvals", icon: "approvals" },
  { to: { page: "history" }, label: "nav.history", icon: "history", needs: "session.history" },
  { to: { page: "files" }, label: "nav.files", icon: "folder", needs: "fs.list" },
  { to: { page: "cases" }, label: "nav.cases", icon: "cases", needs: "case.list" },
  { to: { page: "diagnostics" }, label: "nav.diagnostics", icon: "diagnostics" },
  { to: { page: "welcome" }, label: "nav.welcome", icon: "welcome" },
];

function isAt(now: Route, to: Route): boolean {
  return now.page === to.page || (now.page === "session" && to.page === "sessions");
}

export function Rail({ waiting }: { waiting: number }): JSX.Element {
  const t = useT();
  const now = useStore(route);
  const info = useDaemonInfo();
  const shown = pages.filter(({ needs }) => needs === undefined || can(info, needs));
  return (
    <header className="rail">
      <div className="brand" aria-hidden="true">
        <Logo size={22} />
        <span>TRL</span>
      </div>
      <nav aria-label={t("nav.label")}>
        {shown.map(({ to, label, icon }) => (
          <To key={label} route={to} isHere={isAt(now, to)}>
            <Icon name={icon} />
            <span>{t(label)}</span>
            {to.page === "approvals" && waiting > 0 && (
              <span className="count">
                <span aria-hidden="true">{waiting}</span>
                <span className="sr-only">{t("approvals.count", { n: waiting })}</span>
              </span>
            )}
          </To>
        ))}
      </nav>
      <span className="sr-only" role="status">
        {waiting > 0 && t("approvals.announce", { n: waiting })}
      </span>
      <div className="rail-foot">
        <Connection />
        <div className="rail-tools">
          <LanguageChoice />
          <ThemeChoice />
          <IconButton icon="exit" label={t("nav.logout")} onClick={() => logOut("left")} />
        </div>
      </div>
    </header>
  );
}

const words: Record<FeedPhase, Key> = {
  idle: "feed.connecting",
  connecting: "feed.connecting",
  online: "feed.online",
  waiting: "feed.offline",
};

function Connection(): JSX.Element {
  const t = useT();
  const { phase } = useStore(feed.state);
  return (
    <div className="connection" role="status" data-phase={phase}>
      <span className={`dot ${phase === "online" ? "good" : "warn"}`} aria-hidden="true" />
      <span>{t(words[phase])}</span>
    </div>
  );
}

function LanguageChoice(): JSX.Element {
  const t = useT();
  const now = useStore(language);
  const next: Language = now === "en" ? "zh" : "en";
  return (
    <button
      type="button"
      className="icon-button language"
      aria-label={t("nav.language", { name: languages[next] })}
      title={t("nav.language", { name: languages[next] })}
      onClick={() => language.set(next)}
    >
      {next === "zh" ? "中" : "EN"}
    </button>
  );
}

const looks: Record<Choice, { next: Choice; icon: IconName; label: Key }> = {
  system: { next: "light", icon: "system", label: "theme.system" },
  light: { next: "dark", icon: "sun", label: "theme.light" },
  dark: { next: "system", icon: "moon", label: "theme.dark" },
};

function ThemeChoice(): JSX.Element {
  const t = useT();
  const now = looks[useStore(choice)];
  return <IconButton icon={now.icon} label={t(now.label)} onClick={() => choice.set(now.next)} />;
}
