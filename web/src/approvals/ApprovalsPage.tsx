/** Commands that wait for a person's yes or no. This daemon does not ask yet; what its sessions say is shown. */
import { useEffect, type JSX } from "react";
import { go } from "../app/router";
import { useT } from "../i18n";
import { Button } from "../ui/Button";
import { useStore } from "../ui/store";
import { sessions } from "../sessions/sessions";

export default function ApprovalsPage(): JSX.Element {
  const t = useT();
  const { listed } = useStore(sessions.state);
  useEffect(() => sessions.follow(), []);
  const waiting = listed.filter(({ session }) => session.pending_requests.length > 0);
  return (
    <div className="page-body">
      <div className="page-head">
        <h1>{t("nav.approvals")}</h1>
      </div>
      {waiting.length === 0 ? (
        <div className="card empty">
          <h2>{t("approvals.empty")}</h2>
          <p className="muted">{t("approvals.emptyHint")}</p>
        </div>
      ) : (
        <ul className="card">
          {waiting.map(({ session }) => (
            <li key={session.session_id} className="page-head">
              <span>
                {t("approvals.waiting", {
                  name: session.name ?? session.session_id,
                  n: session.pending_requests.length,
                })}
              </span>
              <Button onClick={() => go({ page: "session", id: session.session_id })}>
                {t("approvals.look")}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
