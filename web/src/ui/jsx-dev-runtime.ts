/** The same for `npm run dev`. */
import { Fragment, type JSX } from "react";
import * as runtime from "react/jsx-dev-runtime";
import { shown } from "./jsx-runtime";

export { Fragment };
export type { JSX };

export const jsxDEV: typeof runtime.jsxDEV = (type, props, ...rest) =>
  runtime.jsxDEV(type, shown(type, props as Parameters<typeof shown>[1]), ...rest);
