/** The tree, for pointer and keyboard: up and down, left and right to close and open, Enter to look. */
import { useState, type JSX, type KeyboardEvent } from "react";
import type { FileInfo } from "../api/types";
import { useT, type T } from "../i18n";
import { Icon, type IconName } from "../ui/icons";
import { rows, shown, type Row, type Tree } from "./tree";

const icons: Record<FileInfo["kind"], IconName> = {
  dir: "folder",
  file: "file",
  symlink: "link",
  other: "file",
};

export function TreeView({
  tree,
  chosen,
  onToggle,
  onChoose,
}: {
  tree: Tree;
  chosen: string | null;
  onToggle: (file: FileInfo) => void;
  onChoose: (file: FileInfo) => void;
}): JSX.Element {
  const t = useT();
  const all = rows(tree);
  const files = all.filter((row) => row.kind !== "remark");
  const [focused, setFocused] = useState<string | null>(null);
  const at = Math.max(
    0,
    files.findIndex(({ key }) => key === (focused ?? chosen)),
  );
  const act = (row: Row) => {
    if (row.kind === "remark") return;
    setFocused(row.key);
    if (row.kind === "dir") onToggle(row.file);
    else onChoose(row.file);
  };
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const row = files[at];
    if (row === undefined) return;
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -files.length, End: files.length }[event.key];
    if (step !== undefined) {
      const next = files[Math.max(0, Math.min(files.length - 1, at + step))];
      if (next === undefined) return;
      setFocused(next.key);
      focus(event.currentTarget, next.key);
    } else if (event.key === "Enter" || event.key === " ") act(row);
    else if (row.kind === "dir" && event.key === (row.isOpen ? "ArrowLeft" : "ArrowRight"))
      onToggle(row.file);
    else return;
    event.preventDefault();
  };
  return (
    <ul className="tree" role="tree" aria-label={t("files.tree")} onKeyDown={press}>
      {all.map((row) =>
        row.kind === "remark" ? (
          // An item too: a tree of nothing else would be none to those who hear it.
          <li
            key={row.key}
            role="treeitem"
            className="tree-remark muted"
            style={indent(row.depth)}
            aria-level={row.depth}
            aria-selected={false}
            aria-disabled
          >
            {remark(t, row)}
          </li>
        ) : (
          <li
            key={row.key}
            role="treeitem"
            className="tree-row"
            data-key={row.key}
            style={indent(row.depth)}
            aria-level={row.depth}
            aria-selected={row.key === chosen}
            aria-expanded={row.kind === "dir" ? row.isOpen : undefined}
            tabIndex={row.key === files[at]?.key ? 0 : -1}
            onClick={() => act(row)}
          >
            <Icon name={row.isOpen ? "folderOpen" : icons[row.kind]} />
            <span className="tree-name">{row.name}</span>
            {row.kind === "symlink" && row.file.target != null && (
              <span className="muted">
                → {shown({ path: row.file.target, path_encoding: row.file.target_encoding })}
              </span>
            )}
          </li>
        ),
      )}
    </ul>
  );
}

function focus(tree: HTMLElement, key: string): void {
  const items = [...tree.querySelectorAll<HTMLElement>("[data-key]")];
  items.find((item) => item.dataset["key"] === key)?.focus();
}

const indent = (depth: number) => ({ paddingInlineStart: `${8 + (depth - 1) * 16}px` });

function remark(t: T, row: Extract<Row, { kind: "remark" }>): string {
  if (typeof row.remark === "object") return row.remark.why;
  return t(`files.${row.remark}`);
}
