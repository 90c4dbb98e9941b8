import type { JSX } from "react";
import { isOperator, useDaemonInfo } from "../api/daemon";
import type { ApprovalRequest } from "../api/types";
import { RequestCard } from "../approvals/RequestCard";
import { approvals } from "../approvals/requests";
import { useStore } from "../ui/store";

/** What waits for a person and belongs here, as in the inbox. */
export function AskedHere({ isMine }: { isMine: (request: ApprovalRequest) => boolean }): JSX.Element {
  const { items } = useStore(approvals.state);
  const mayAnswer = isOperator(useDaemonInfo());
  return (
    <>
      {items
        .filter(({ request }) => isMine(request))
        .map((item) => (
          <RequestCard key={item.request.request_id} item={item} mayAnswer={mayAnswer} />
        ))}
    </>
  );
}
