import type { JSX } from "react";

export default function SessionsPage(): JSX.Element {
  return <h1>SessionsPage</h1>;
}
