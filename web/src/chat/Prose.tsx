import { memo, useMemo, useState, type JSX } from "react";
import { useT } from "../i18n";
import { Passage } from "../ui/Passage";
import { clipped, passages } from "./prose";

/** What was written, as text and nothing else; what stands between fences in letters of one width. */
export const Prose = memo(function Prose({ text }: { text: string }): JSX.Element {
  const found = useMemo(() => passages(text), [text]);
  return (
    <div className="prose">
      {found.map(({ kind, text }, at) =>
        kind === "code" ? (
          <pre key={at} className="prose-code" tabIndex={0}>
            {text}
          </pre>
        ) : (
          <Passage key={at} text={text} />
        ),
      )}
    </div>
  );
});

/** What a tool was given or gave back; of a long one the beginning, until somebody wants it all. */
export function Literal({ text, label }: { text: string; label: string }): JSX.Element {
  const t = useT();
  const [isWhole, setWhole] = useState(false);
  const { shown, left } = clipped(text);
  return (
    <pre className="literal" tabIndex={0} aria-label={label}>
      {isWhole ? text : shown}
      {!isWhole && left > 0 && (
        <>
          {"\n"}
          <button type="button" className="link-button" onClick={() => setWhole(true)}>
            {t("chat.showRest", { n: left })}
          </button>
        </>
      )}
    </pre>
  );
}
