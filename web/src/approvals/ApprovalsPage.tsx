import type { JSX } from "react";

export default function ApprovalsPage(): JSX.Element {
  return <h1>ApprovalsPage</h1>;
}
