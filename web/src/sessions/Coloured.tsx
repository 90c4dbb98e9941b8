import { memo, useMemo, type CSSProperties, type JSX } from "react";
import { runsOf, type Colour, type Style } from "./sgr";
import "./sgr.css";

/** What a program wrote, in its colours. Text is only ever text here, whatever it looks like. */
export const Coloured = memo(function Coloured({ text }: { text: string }): JSX.Element {
  const runs = useMemo(() => runsOf(text), [text]);
  return (
    <>
      {runs.map(({ text, style }, at) => {
        const className = classes(style);
        const exact = exactly(style);
        if (className === "" && exact === undefined) return text;
        return (
          <span key={at} className={className} style={exact}>
            {text}
          </span>
        );
      })}
    </>
  );
});

const weights = ["bold", "dim", "italic", "underline", "strike", "inverse"] as const;

function classes(style: Style): string {
  const names: string[] = weights.filter((name) => style[name] === true).map((name) => `sgr-${name}`);
  // Turned around, what was behind the text is its colour.
  const [fg, bg] = style.inverse === true ? [style.bg, style.fg] : [style.fg, style.bg];
  if (typeof fg === "number") names.push(`fg-${fg}`);
  if (typeof bg === "number") names.push(`bg-${bg}`);
  return names.join(" ");
}

function exactly(style: Style): CSSProperties | undefined {
  const [fg, bg] = style.inverse === true ? [style.bg, style.fg] : [style.fg, style.bg];
  if (typeof fg !== "object" && typeof bg !== "object") return undefined;
  const rgb = ({ r, g, b }: Exclude<Colour, number>) => `rgb(${r} ${g} ${b})`;
  return {
    ...(typeof fg === "object" ? { color: rgb(fg) } : {}),
    ...(typeof bg === "object" ? { background: rgb(bg) } : {}),
  };
}
