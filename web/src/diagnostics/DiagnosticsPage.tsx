import type { JSX } from "react";

export default function DiagnosticsPage(): JSX.Element {
  return <h1>DiagnosticsPage</h1>;
}
