/**
 * Methods that newer daemons have and `docs/openapi.json` here does not describe yet: history, files. A page that
 * needs them is there when the daemon says that it has them. What the description gains takes the place of what is here.
 */
import type { components } from "./schema.gen";

type Schemas = components["schemas"];
type Encoding = Schemas["Encoding"];

// ---- session.history

/** The beginning and the end of a stream. */
export interface Excerpt {
  /** All of it, when there is no `tail`. */
  head: string;
  tail?: string | null;
  /** Of the whole stream. */
  bytes: number;
}

export interface HistoryEntry {
  /** Later ones are larger. */
  seq: number;
  execution_id: string;
  session_id: string;
  command: string;
  working_dir: string;
  status: Schemas["ExecutionStatus"];
  exit_code?: number | null;
  signal?: string | null;
  timed_out: boolean;
  cancelled: boolean;
  started_at: string;
  duration_ms?: number | null;
  stdout: Excerpt;
  stderr: Excerpt;
  /** The approval it was run on. */
  request_id?: string | null;
}

interface HistoryParams {
  session_id?: string | null;
  query?: string | null;
  before?: number | null;
  limit?: number | null;
}

interface History {
  entries: HistoryEntry[];
  /** Ask for what is `before` this; absent when there is no more. */
  next?: number | null;
}

// ---- fs.*, workspace.list

/** Whose files; one of the two is named. */
export interface FilePlace {
  session_id?: string | null;
  workspace_id?: string | null;
}

export type FileKind = "file" | "dir" | "symlink" | "other";

export interface FileInfo {
  path: string;
  /** `base64` beside a path that is not UTF-8. */
  path_encoding?: Encoding | null;
  kind: FileKind;
  size: number;
  mode: string;
  modified_at: string;
  /** What a link says. */
  target?: string | null;
  target_encoding?: Encoding | null;
}

interface FilePath {
  path?: string | null;
  path_encoding?: Encoding | null;
}

export interface FileSlice {
  data: string;
  encoding: Encoding;
  offset: number;
  /** Where to go on; absent at the end. */
  next?: number | null;
  /** Of the whole file. */
  size: number;
  version: string;
}

export interface WorkspaceInfo {
  workspace_id: string;
  dir: string;
  owner: string;
  created_at: string;
}

export interface Coming {
  "session.history": { params: HistoryParams; result: History };
  "fs.list": {
    params: FilePlace & FilePath & { depth?: number | null; limit?: number | null };
    result: { entries: FileInfo[]; truncated: boolean };
  };
  "fs.read": {
    params: FilePlace & FilePath & { path: string; offset?: number | null; limit?: number | null };
    result: FileSlice;
  };
  "workspace.list": { params: Record<string, never>; result: { workspaces: WorkspaceInfo[] } };
}
