import { useEffect, useRef, useState, type JSX } from "react";
import { useT } from "../i18n";
import { IconButton } from "../ui/Button";
import type { Panel } from "./panel";

const DECORATIONS = {
  matchBackground: "#6b5d1e",
  matchOverviewRuler: "#e5c76b",
  activeMatchBackground: "#b26b00",
  activeMatchColorOverviewRuler: "#ff9a3c",
};

export function SearchBar({ panel }: { panel: Panel }): JSX.Element {
  const t = useT();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ at: number; of: number } | null>(null);
  const { search } = panel.screen;

  useEffect(() => {
    input.current?.focus();
    const results = search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound({ at: resultIndex + 1, of: resultCount }),
    );
    return () => results.dispose();
  }, [search]);

  const look = (direction: "next" | "previous", wanted: string, incremental: boolean) => {
    if (wanted === "") {
      search.clearDecorations();
      return;
    }
    if (direction === "next") search.findNext(wanted, { incremental, decorations: DECORATIONS });
    else search.findPrevious(wanted, { decorations: DECORATIONS });
  };

  return (
    <div className="search-bar" role="search">
      <input
        ref={input}
        value={text}
        aria-label={t("panel.find")}
        placeholder={t("panel.find")}
        onChange={(event) => {
          setText(event.target.value);
          look("next", event.target.value, true);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") panel.search(false);
          if (event.key === "Enter") look(event.shiftKey ? "previous" : "next", text, false);
        }}
      />
      <span className="muted small" role="status">
        {text !== "" && found !== null ? t("panel.found", { at: found.at, of: found.of }) : ""}
      </span>
      <IconButton icon="up" label={t("panel.findPrevious")} onClick={() => look("previous", text, false)} />
      <IconButton icon="down" label={t("panel.findNext")} onClick={() => look("next", text, false)} />
      <IconButton icon="close" label={t("panel.findClose")} onClick={() => panel.search(false)} />
    </div>
  );
}
