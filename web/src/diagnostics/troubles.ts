/** What went wrong since this page was loaded, newest first. */
import { feed } from "../api/feed";
import type { Happening } from "../api/types";
import { createStore } from "../ui/store";

const MOST = 50;

/** Worth a person's look: timeouts, lost shells, programs that a signal ended. Pure. */
export function isTrouble(event: Happening): boolean {
  switch (event.kind) {
    case "exec.finished":
      return event.timed_out || (event.exit_code !== 0 && !event.cancelled);
    case "shell.replaced":
    case "events.missed":
      return true;
    case "terminal.ended":
      return event.exit_code !== 0;
    default:
      return false;
  }
}

export const troubles = createStore<readonly Happening[]>([]);

feed.listen((event) => {
  if (event !== null && isTrouble(event)) troubles.set([event, ...troubles.get()].slice(0, MOST));
});
