/**
 * What JSX is compiled to: React's own runtime, with every text and title that reaches the page made plain. So no page has to
 * think of it. Components get what they are given; what they draw comes by here in its turn.
 *
 * React's runtime itself is only for text that was made fit by other means: see `Passage.ts`.
 */
import { Fragment, type JSX, type Key, type ReactNode } from "react";
import * as runtime from "react/jsx-runtime";
import { plain } from "./plain";

export { Fragment };
export type { JSX };

type Type = Parameters<typeof runtime.jsx>[0];
type Props = Record<string, unknown> & { children?: ReactNode };

/** Attributes that people read, or have read to them. */
const READ = ["title", "alt", "label", "placeholder", "aria-label", "aria-description"];

export function shown(type: Type, props: Props): Props {
  if (typeof type === "function") return props;
  const changed: Props = {};
  for (const name of READ) {
    const value = props[name];
    if (typeof value === "string" && plain(value) !== value) changed[name] = plain(value);
  }
  const children = plainly(props.children);
  if (children !== props.children) changed.children = children;
  return Object.keys(changed).length === 0 ? props : { ...props, ...changed };
}

function isList(node: ReactNode): node is ReactNode[] {
  return Array.isArray(node);
}

/** The very same unless something has to change. */
function plainly(node: ReactNode): ReactNode {
  if (typeof node === "string") return plain(node);
  if (!isList(node)) return node;
  const fresh = node.map(plainly);
  return fresh.some((one, at) => one !== node[at]) ? fresh : node;
}

export function jsx(type: Type, props: Props, key?: Key): JSX.Element {
  return runtime.jsx(type, shown(type, props), key);
}

export function jsxs(type: Type, props: Props, key?: Key): JSX.Element {
  return runtime.jsxs(type, shown(type, props), key);
}
