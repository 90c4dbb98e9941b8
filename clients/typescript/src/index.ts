/** The entry for Node: the daemon's socket, which is found as the command line does, or HTTP. */
import { DaemonClient } from "./client.js";
import { door, type ClientOptions } from "./node/door.js";

export { operatorToken } from "./node/find.js";
export type { ClientOptions };
export * from "./shared.js";

/**
 * A way to the daemon of this user, or with `url` to one over HTTP. Nothing is connected before it is needed; a lost
 * connection is opened again by the next call.
 */
export class Client extends DaemonClient {
  constructor(options: ClientOptions = {}) {
    super(door(options));
  }
}
