/** What both entries give. */
export { Attachment, type AttachOptions, type TerminalBytes } from "./attachment.js";
export type { Channel, Door } from "./channel.js";
export { DaemonClient } from "./client.js";
export { Process, Stream, type Abortable, type Given } from "./commands.js";
export { isTrlError, TrlError, type ClientCode } from "./errors.js";
export { Events, Watch } from "./feed.js";
export { Files } from "./files.js";
export { Session } from "./session.js";
export { Terminal } from "./terminal.js";
export type * as wire from "./types.gen.js";
export { Outcome, Progress, Result, type Chunk, type Data, type Slice } from "./values.js";
