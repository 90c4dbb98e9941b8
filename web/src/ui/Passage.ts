/** A paragraph of an agent's words, in which emoji may be drawn as such. */
import type { JSX } from "react";
import { jsx } from "react/jsx-runtime";
import { passage } from "./plain";

export function Passage({ text }: { text: string }): JSX.Element {
  return jsx("p", { children: passage(text) });
}
