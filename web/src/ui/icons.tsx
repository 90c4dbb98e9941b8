/** Line drawings of 16 by 16, in the colour of the text beside them. */
import type { JSX } from "react";

const paths = {
  terminal: "M2.5 3.5h11v9h-11zM5 6.5 7 8l-2 1.5M8.5 10h2.5",
  sessions: "M2.5 4h11M2.5 8h11M2.5 12h7",
  chat: "M2.5 3.5h11v7.5h-6L4.5 13.5V11h-2zM5.5 6.2h5M5.5 8.4h3",
  send: "M8 13V3.5M4 7.5l4-4 4 4",
  approvals: "M8 2 3 4v4c0 3 2.2 5 5 6 2.8-1 5-3 5-6V4zM6 8l1.5 1.5L10.2 6.5",
  diagnostics: "M2 8.5h2.5L6.5 4l3 8.5 2-4H14",
  welcome:
    "M8 2.5v2M8 11.5v2M2.5 8h2M11.5 8h2M4.2 4.2l1.4 1.4M10.4 10.4l1.4 1.4M4.2 11.8l1.4-1.4M10.4 5.6l1.4-1.4",
  history: "M3 8a5 5 0 1 0 1.5-3.5M3 2.5v3h3M8 5.5V8l2 1.5",
  folder: "M2 4h4l1.5 1.5H14V13H2z",
  folderOpen: "M2 13V4h4l1.5 1.5H13V7.5M2 13l2-5.5h11L13 13z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  link: "M7 9 13 3M9.5 3H13v3.5M11 9.5V13H3V5h3.5",
  cases: "M2.5 5h11v8h-11zM6 5V3h4v2M2.5 9h11",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.8 14.2a1.4 1.4 0 0 0 2.4 0",
  back: "M10 3.5 5.5 8l4.5 4.5",
  plus: "M8 3v10M3 8h10",
  close: "m4 4 8 8M12 4l-8 8",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  reader: "M2.5 6h2.5l3-2.5v9L5 10H2.5zM10.5 6a3 3 0 0 1 0 4M12.3 4.2a5.5 5.5 0 0 1 0 7.6",
  hand: "M3 8.5h3M6 5.5h6.5M6 8.5h7M6 11.5h5M3 5.5v6",
  up: "m4 10 4-4 4 4",
  down: "m4 6 4 4 4-4",
  stop: "M4 4h8v8H4z",
  play: "M5 3.5 12 8l-7 4.5z",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7Z",
  system: "M2.5 3.5h11v7h-11zM6 13h4M8 10.5V13",
  exit: "M6 3H3v10h3M10.5 5l3 3-3 3M13.5 8H6.5",
  list: "M2.5 3.5h11v9h-11zM6 3.5v9",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v3h-3",
} as const;

/** The sign of the product, as in public/favicon.svg: drawn with the page, not after it. */
export function Logo({ size }: { size: number }): JSX.Element {
  return (
    <svg className="icon" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#3e63dd" />
      <path
        d="M8 10l6 6-6 6M17 22h7"
        fill="none"
        stroke="#fff"
        strokeWidth="3"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
