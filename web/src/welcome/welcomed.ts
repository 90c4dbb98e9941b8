/** Whether this browser has seen the welcome page: the first visit begins there. */
import { createKeptStore } from "../ui/store";

export const welcomed = createKeptStore<boolean>(
  localStorage,
  "trl.welcomed",
  false,
  (found): found is boolean => typeof found === "boolean",
);
