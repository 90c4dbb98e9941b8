import type { JSX } from "react";

export default function WelcomePage(): JSX.Element {
  return <h1>WelcomePage</h1>;
}
