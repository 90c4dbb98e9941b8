/** The frame of every page: who is visiting, the rail, and the page itself, which is loaded when it is first wanted. */
import { lazy, Suspense, useEffect, type JSX } from "react";
import { daemon } from "../api/daemon";
import { feed } from "../api/feed";
import { isWaiting } from "../approvals/inbox";
import { startNotifying } from "../approvals/notify";
import { approvals } from "../approvals/requests";
import { LoginPage } from "../auth/LoginPage";
import { visit } from "../auth/token";
import { useT, type Key } from "../i18n";
import { useStore } from "../ui/store";
import { Toasts } from "../ui/Toasts";
import { Rail } from "./Rail";
import { route, type Route } from "./router";

const WorkspacePage = lazy(() => import("../workspace/WorkspacePage"));
const SessionsPage = lazy(() => import("../sessions/SessionsPage"));
const SessionPage = lazy(() => import("../sessions/SessionPage"));
const ChatsPage = lazy(() => import("../chat/ChatsPage"));
const ChatPage = lazy(() => import("../chat/ChatPage"));
const HistoryPage = lazy(() => import("../history/HistoryPage"));
const FilesPage = lazy(() => import("../files/FilesPage"));
const CasesPage = lazy(() => import("../cases/CasesPage"));
const ApprovalsPage = lazy(() => import("../approvals/ApprovalsPage"));
const DiagnosticsPage = lazy(() => import("../diagnostics/DiagnosticsPage"));
const WelcomePage = lazy(() => import("../welcome/WelcomePage"));

export function App(): JSX.Element {
  const now = useStore(visit);
  const token = now.kind === "in" ? now.token : null;
  useEffect(() => {
    if (token === null) return;
    const stops = [daemon.start(), approvals.start(), startNotifying()];
    feed.start();
    return () => {
      feed.stop();
      for (const stop of stops) stop();
    };
  }, [token]);
  return (
    <>
      {now.kind === "in" ? <Inside /> : <LoginPage why={now.why} />}
      <Toasts />
    </>
  );
}

function Inside(): JSX.Element {
  const now = useStore(route);
  const waiting = useStore(approvals.state).items.filter(isWaiting).length;
  useTitle(now, waiting);
  return (
    <div className="frame">
      <Rail waiting={waiting} />
      {/* What scrolls can be reached by the keyboard. */}
      <main className="page" id="page" tabIndex={now.page === "workspace" ? undefined : 0}>
        <Suspense fallback={null}>
          <Page route={now} />
        </Suspense>
      </main>
    </div>
  );
}

const titles: Record<Route["page"], Key> = {
  workspace: "nav.workspace",
  sessions: "nav.sessions",
  session: "nav.sessions",
  chat: "nav.chat",
  history: "nav.history",
  files: "nav.files",
  cases: "nav.cases",
  approvals: "nav.approvals",
  diagnostics: "nav.diagnostics",
  welcome: "nav.welcome",
};

/** The browser's tab tells too that somebody is waited for. */
function useTitle({ page }: Route, waiting: number): void {
  const t = useT();
  const title = `${waiting > 0 ? `(${waiting}) ` : ""}${t(titles[page])} · ${t("app.name")}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
}

function Page({ route }: { route: Route }): JSX.Element {
  switch (route.page) {
    case "workspace":
      return <WorkspacePage key={route.workspace} workspace={route.workspace} open={route.open} />;
    case "sessions":
      return <SessionsPage />;
    case "session":
      return <SessionPage key={route.id} id={route.id} />;
    case "chat":
      return route.session === undefined ? (
        <ChatsPage />
      ) : (
        <ChatPage key={route.session} id={route.session} />
      );
    case "history":
      return <HistoryPage session={route.session} />;
    case "files":
      return <FilesPage of={route.of} />;
    case "cases":
      return <CasesPage />;
    case "approvals":
      return <ApprovalsPage />;
    case "diagnostics":
      return <DiagnosticsPage />;
    case "welcome":
      return <WelcomePage />;
  }
}
