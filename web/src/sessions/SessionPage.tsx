import type { JSX } from "react";

export default function SessionPage({ id }: { id: string }): JSX.Element {
  return <h1>{id}</h1>;
}
