/** Addresses and the pages they stand for. Pure but for the few lines that touch the browser's history. */
import { createStore } from "../ui/store";

export const DEFAULT_WORKSPACE = "main";

/** Whose files. */
export interface FilesOf {
  kind: "session" | "workspace";
  id: string;
}

export type Route =
  | { page: "workspace"; workspace: string; open?: string }
  | { page: "sessions" }
  | { page: "session"; id: string }
  | { page: "chat"; session?: string }
  | { page: "history"; session?: string }
  | { page: "files"; of?: FilesOf }
  | { page: "cases" }
  | { page: "approvals" }
  | { page: "diagnostics" }
  | { page: "welcome" };

export function parsePath(path: string): Route {
  const [first = "", second = "", third = ""] = path.split("/").filter(Boolean).map(decode);
  switch (first) {
    case "sessions":
      return second === "" ? { page: "sessions" } : { page: "session", id: second };
    case "chat":
    case "history":
      return second === "" ? { page: first } : { page: first, session: second };
    case "files":
      return isKind(second) && third !== ""
        ? { page: "files", of: { kind: second, id: third } }
        : { page: "files" };
    case "approvals":
    case "cases":
    case "diagnostics":
    case "welcome":
      return { page: first };
    case "w":
      return {
        page: "workspace",
        workspace: second === "" ? DEFAULT_WORKSPACE : second,
        ...(third === "" ? {} : { open: third }),
      };
    default:
      return { page: "workspace", workspace: DEFAULT_WORKSPACE };
  }
}

function isKind(word: string): word is FilesOf["kind"] {
  return word === "session" || word === "workspace";
}

export function pathOf(route: Route): string {
  switch (route.page) {
    case "workspace": {
      const open = route.open === undefined ? "" : `/${encodeURIComponent(route.open)}`;
      const plain = route.workspace === DEFAULT_WORKSPACE && open === "";
      return plain ? "/" : `/w/${encodeURIComponent(route.workspace)}${open}`;
    }
    case "session":
      return `/sessions/${encodeURIComponent(route.id)}`;
    case "chat":
    case "history":
      return route.session === undefined
        ? `/${route.page}`
        : `/${route.page}/${encodeURIComponent(route.session)}`;
    case "files":
      return route.of === undefined ? "/files" : `/files/${route.of.kind}/${encodeURIComponent(route.of.id)}`;
    default:
      return `/${route.page}`;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = createStore<Route>({ page: "workspace", workspace: DEFAULT_WORKSPACE });

export function startRouting(): void {
  const follow = () => route.set(parsePath(location.pathname));
  window.addEventListener("popstate", follow);
  follow();
}

export function go(next: Route): void {
  const path = pathOf(next);
  if (path !== location.pathname) history.pushState(null, "", path);
  route.set(next);
}

/** The same place under another address: what was asked for has been done. */
export function settle(next: Route): void {
  history.replaceState(null, "", pathOf(next));
  route.set(next);
}
