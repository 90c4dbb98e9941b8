import { useMemo, type JSX } from "react";
import { useT } from "../i18n";
import { counts, diff, folded } from "./diff";

const signs = { same: " ", gone: "-", new: "+" } as const;

/** A file before and after: `-` went, `+` came. */
export function DiffView({
  path,
  before,
  after,
}: {
  path: string;
  before: string | null;
  after: string;
}): JSX.Element {
  const t = useT();
  const lines = useMemo(() => diff(before ?? "", after), [before, after]);
  const { come, gone } = counts(lines);
  return (
    <figure className="diff">
      <figcaption>
        <code>{path}</code>
        {before === null && <span className="muted">{t("chat.newFile")}</span>}
        <span className="diff-counts">
          <span className="diff-come">+{come}</span> <span className="diff-gone">−{gone}</span>
        </span>
      </figcaption>
      <pre tabIndex={0} aria-label={t("chat.diff", { path })}>
        {folded(lines).map((line, at) =>
          line.kind === "skipped" ? (
            <span key={at} className="diff-skipped">
              {t("chat.skipped", { n: line.lines })}
            </span>
          ) : (
            <span key={at} className={`diff-${line.kind}`}>
              {signs[line.kind]} {line.text}
            </span>
          ),
        )}
      </pre>
    </figure>
  );
}
