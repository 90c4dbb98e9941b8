/** The files of a session or a workspace: a tree, and what is in the one that is looked at. */
import { useEffect, useMemo, useState, type JSX } from "react";
import type { FileInfo, FilePlace } from "../api/types";
import { go, type FilesOf } from "../app/router";
import { useT } from "../i18n";
import { isOver, sessions } from "../sessions/sessions";
import { IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import { keyOf } from "./tree";
import { TreeView } from "./TreeView";
import { useTree } from "./useTree";
import { Viewer } from "./Viewer";
import { useWorkspaces } from "./workspaces";
import "./files.css";

export default function FilesPage({ of }: { of: FilesOf | undefined }): JSX.Element {
  const t = useT();
  return (
    <div className="page-body files-page">
      <div className="page-head">
        <h1>{t("nav.files")}</h1>
        <PlaceChoice of={of} />
      </div>
      {of === undefined ? (
        <p className="card muted empty">{t("files.choose")}</p>
      ) : (
        <Files key={`${of.kind} ${of.id}`} of={of} />
      )}
    </div>
  );
}

function PlaceChoice({ of }: { of: FilesOf | undefined }): JSX.Element {
  const t = useT();
  const { listed } = useStore(sessions.state);
  const workspaces = useWorkspaces();
  useEffect(() => sessions.follow(), []);
  const live = listed.filter(({ session }) => !isOver(session.state));
  const value = of === undefined ? "" : `${of.kind} ${of.id}`;
  const isKnown =
    value === "" ||
    live.some(({ session }) => value === `session ${session.session_id}`) ||
    workspaces.some(({ workspace_id }) => value === `workspace ${workspace_id}`);
  return (
    <select
      aria-label={t("files.where")}
      value={value}
      onChange={({ target }) => {
        const [kind, id = ""] = target.value.split(" ", 2);
        if (kind === "session" || kind === "workspace") go({ page: "files", of: { kind, id } });
      }}
    >
      {of === undefined && <option value="">{t("files.where")}</option>}
      {!isKnown && <option value={value}>{of?.id}</option>}
      <optgroup label={t("nav.sessions")}>
        {live.map(({ session }) => (
          <option key={session.session_id} value={`session ${session.session_id}`}>
            {session.name ?? session.session_id}
          </option>
        ))}
      </optgroup>
      {workspaces.length > 0 && (
        <optgroup label={t("files.workspaces")}>
          {workspaces.map(({ workspace_id }) => (
            <option key={workspace_id} value={`workspace ${workspace_id}`}>
              {workspace_id}
            </option>
          ))}
        </optgroup>
      )}
    </select>
  );
}

function Files({ of: { kind, id } }: { of: FilesOf }): JSX.Element {
  const t = useT();
  const place = useMemo<FilePlace>(
    () => (kind === "session" ? { session_id: id } : { workspace_id: id }),
    [kind, id],
  );
  const { tree, toggle, refresh } = useTree(place);
  const [file, setFile] = useState<FileInfo | null>(null);
  return (
    <div className="files">
      <div className="card files-tree">
        <div className="card-head">
          <h2>{t("files.tree")}</h2>
          <IconButton icon="refresh" label={t("files.refresh")} onClick={refresh} />
        </div>
        <TreeView
          tree={tree}
          chosen={file === null ? null : keyOf(file)}
          onToggle={toggle}
          onChoose={setFile}
        />
      </div>
      {file === null ? (
        <p className="card muted empty">{t("files.look")}</p>
      ) : (
        <Viewer key={keyOf(file)} place={place} file={file} />
      )}
    </div>
  );
}
