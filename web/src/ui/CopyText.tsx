import { useState, type JSX } from "react";
import { useT } from "../i18n";
import { IconButton } from "./Button";
import "./copy.css";

/** Something to copy to a terminal. */
export function CopyText({ text }: { text: string }): JSX.Element {
  const t = useT();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="copy-text">
      <pre tabIndex={0}>{text}</pre>
      <IconButton icon="copy" label={t(isCopied ? "copy.copied" : "copy.copy")} onClick={() => void copy()} />
    </div>
  );
}
