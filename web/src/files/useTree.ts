/** The tree of one place: what is opened is read, and read again when somebody asks for it. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { FileInfo, FilePlace } from "../api/types";
import { call, told } from "../api/http";
import { closed, EMPTY, keyOf, opened, openPaths, ROOT, withListing, type Path, type Tree } from "./tree";

/** Entries of a directory that are shown. */
const MOST_ENTRIES = 2_000;

export interface TreeHandle {
  tree: Tree;
  toggle: (file: FileInfo) => void;
  refresh: () => void;
}

export function useTree(place: FilePlace): TreeHandle {
  const [tree, setTree] = useState<Tree>(EMPTY);
  const isOver = useRef(false);
  const { session_id, workspace_id } = place;
  const read = useCallback(
    async (path: Path) => {
      const { path: text, path_encoding } = path;
      const change = (make: (tree: Tree) => Tree) => {
        if (!isOver.current) setTree(make);
      };
      try {
        const { entries, truncated } = await call("fs.list", {
          ...(session_id == null ? {} : { session_id }),
          ...(workspace_id == null ? {} : { workspace_id }),
          ...(text === "" ? {} : { path: text }),
          ...(path_encoding == null ? {} : { path_encoding }),
          limit: MOST_ENTRIES,
        });
        change((now) => withListing(now, path, { kind: "read", entries, truncated }));
      } catch (error) {
        change((now) => withListing(now, path, { kind: "failed", why: told(error) }));
      }
    },
    [session_id, workspace_id],
  );
  useEffect(() => {
    isOver.current = false;
    void read(ROOT);
    return () => {
      isOver.current = true;
    };
  }, [read]);
  const toggle = (file: FileInfo) => {
    if (tree.open.has(keyOf(file))) {
      setTree(closed(tree, file));
      return;
    }
    setTree(opened(tree, file));
    void read(file);
  };
  const refresh = () => openPaths(tree).forEach((path) => void read(path));
  return { tree, toggle, refresh };
}
