/** The frame of every page: who is visiting, the rail, and the page itself, which is loaded when it is first wanted. */
import { lazy, Suspense, useEffect, type JSX } from "react";
import { feed } from "../api/feed";
import { LoginPage } from "../auth/LoginPage";
import { visit } from "../auth/token";
import { useStore } from "../ui/store";
import { Toasts } from "../ui/Toasts";
import { Rail } from "./Rail";
import { route, type Route } from "./router";

const WorkspacePage = lazy(() => import("../workspace/WorkspacePage"));
const SessionsPage = lazy(() => import("../sessions/SessionsPage"));
const SessionPage = lazy(() => import("../sessions/SessionPage"));
const ApprovalsPage = lazy(() => import("../approvals/ApprovalsPage"));
const DiagnosticsPage = lazy(() => import("../diagnostics/DiagnosticsPage"));
const WelcomePage = lazy(() => import("../welcome/WelcomePage"));

export function App(): JSX.Element {
  const now = useStore(visit);
  const token = now.kind === "in" ? now.token : null;
  useEffect(() => {
    if (token === null) return;
    feed.start();
    return () => feed.stop();
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
  return (
    <div className="frame">
      <Rail />
      {/* What scrolls can be reached by the keyboard. */}
      <main className="page" id="page" tabIndex={now.page === "workspace" ? undefined : 0}>
        <Suspense fallback={null}>
          <Page route={now} />
        </Suspense>
      </main>
    </div>
  );
}

function Page({ route }: { route: Route }): JSX.Element {
  switch (route.page) {
    case "workspace":
      return <WorkspacePage key={route.workspace} workspace={route.workspace} open={route.open} />;
    case "sessions":
      return <SessionsPage />;
    case "session":
      return <SessionPage key={route.id} id={route.id} />;
    case "approvals":
      return <ApprovalsPage />;
    case "diagnostics":
      return <DiagnosticsPage />;
    case "welcome":
      return <WelcomePage />;
  }
}
