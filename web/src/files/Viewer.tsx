/** One file: as text, or as a dump of what is no text; the beginning, and more on request. */
import { useEffect, useState, type JSX } from "react";
import type { FileInfo, FilePlace, FileSlice } from "../api/types";
import { call, request, told } from "../api/http";
import { bytesOf } from "../api/text";
import { useT } from "../i18n";
import { Button } from "../ui/Button";
import { saveBytes } from "../ui/save";
import { size } from "../ui/time";
import { toast } from "../ui/toasts";
import { contentOf, joined, MOST_BYTES, READ_BYTES } from "./content";
import { nameOf, shown } from "./tree";

interface Read {
  bytes: Uint8Array;
  next: number | null;
  size: number;
}

export function Viewer({ place, file }: { place: FilePlace; file: FileInfo }): JSX.Element {
  const t = useT();
  const { read, failure, more } = useContent(place, file);
  return (
    <section className="card viewer" aria-label={t("files.content")}>
      <div className="card-head">
        <h2 title={shown(file)}>{shown(file)}</h2>
        <span className="muted nowrap">{size(read?.size ?? file.size)}</span>
        {file.path_encoding !== "base64" && (
          <Button kind="quiet" onClick={() => save(place, file)}>
            {t("files.save")}
          </Button>
        )}
      </div>
      {failure !== null && (
        <p role="alert" className="danger-text">
          {failure}
        </p>
      )}
      {read !== null && <Shown read={read} onMore={more} />}
    </section>
  );
}

function Shown({ read, onMore }: { read: Read; onMore: () => void }): JSX.Element {
  const t = useT();
  const { bytes, next, size: all } = read;
  const content = contentOf(bytes, next === null);
  if (all === 0) return <p className="muted">{t("files.nothing")}</p>;
  return (
    <>
      {content.kind === "binary" && <p className="muted">{t("files.binary")}</p>}
      <pre className="viewer-text" tabIndex={0} aria-label={t("files.content")}>
        {content.kind === "text" ? content.text.replaceAll("\r\n", "\n") : content.dump}
      </pre>
      {content.kind === "text" && next !== null && (
        <div className="viewer-foot muted">
          <span>{t("files.part", { shown: size(bytes.length), size: size(all) })}</span>
          {bytes.length < MOST_BYTES && <Button onClick={onMore}>{t("files.showMore")}</Button>}
        </div>
      )}
    </>
  );
}

function useContent(
  place: FilePlace,
  file: FileInfo,
): { read: Read | null; failure: string | null; more: () => void } {
  const [read, setRead] = useState<Read | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const over = new AbortController();
    readPiece(place, file, 0, over.signal).then(
      (slice) => setRead(withSlice(null, slice)),
      (error: unknown) => {
        if (!over.signal.aborted) setFailure(told(error));
      },
    );
    return () => over.abort();
  }, [place, file]);
  const more = () => {
    if (read?.next == null) return;
    readPiece(place, file, read.next).then(
      (slice) => setRead((known) => withSlice(known, slice)),
      (error: unknown) => toast(told(error), { kind: "error" }),
    );
  };
  return { read, failure, more };
}

function withSlice(read: Read | null, { data, encoding, next, size }: FileSlice): Read {
  return {
    bytes: joined([...(read === null ? [] : [read.bytes]), bytesOf(data, encoding)]),
    next: next ?? null,
    size,
  };
}

function readPiece(
  place: FilePlace,
  file: FileInfo,
  offset: number,
  signal?: AbortSignal,
): Promise<FileSlice> {
  const { path, path_encoding } = file;
  const named = path_encoding == null ? { path } : { path, path_encoding };
  return call("fs.read", { ...place, ...named, offset, limit: READ_BYTES }, signal);
}

/** All of it, as the daemon has it. */
function save(place: FilePlace, file: FileInfo): void {
  const whose =
    place.session_id == null
      ? `workspaces/${encodeURIComponent(place.workspace_id ?? "")}`
      : `sessions/${encodeURIComponent(place.session_id)}`;
  const path = file.path.split("/").map(encodeURIComponent).join("/");
  request(`/api/${whose}/files/${path}`)
    .then((response) => response.blob())
    .then((blob) => saveBytes(blob, nameOf(file)))
    .catch((error: unknown) => toast(told(error), { kind: "error" }));
}
