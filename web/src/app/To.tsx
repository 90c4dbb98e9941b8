import type { JSX, ReactNode } from "react";
import { go, pathOf, type Route } from "./router";

/** A way to another page: a link like any other, but that the page is not loaded anew. */
export function To({
  route,
  className,
  isHere = false,
  children,
}: {
  route: Route;
  className?: string;
  isHere?: boolean;
  children: ReactNode;
}): JSX.Element {
  return (
    <a
      href={pathOf(route)}
      className={className}
      aria-current={isHere ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(route);
      }}
    >
      {children}
    </a>
  );
}
