import { z } from "zod";
import type { ErrorCode } from "../../errors/platform-error.ts";
import { loginText } from "../../resources/metadata.ts";
import { joinModes } from "../../resources/session.ts";

/*
 * The WebSocket `/webapi/v1/terminal`. Binary messages are the terminal's bytes, both ways; text messages are JSON:
 *
 *     browser                              proxy
 *     {"token": …}                  ->                       within 4 s
 *     {"type": "open" | "join", …}  ->
 *                                   <-     {"type": "opened", …}
 *     bytes, resize, read, end      <->    bytes
 *     {"type": "read", "bytes": 0}  ->
 *                                   <-     {"type": "alive"}
 *                                   <-     {"type": "ended", …}, or {"type": "error", …}; then it closes
 */

/** Characters of one line, or lines: no screen has more. */
const extent = z.int().min(1).max(1000);
const size = { cols: extent, rows: extent };

/** The terminal that a browser wants: a new one on a host, or a seat in a session that runs. */
export const terminalAskSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("open"), node: z.string().min(1).max(255), login: loginText, ...size }),
  z.strictObject({ type: z.literal("join"), session: z.uuid(), mode: z.enum(joinModes), ...size }),
]);
export type TerminalAsk = z.infer<typeof terminalAskSchema>;

/**
 * `read`: the page has shown so many bytes; the proxy sends no more than a window ahead. None: the page asks whether the proxy is still there. `end`: the user
 * leaves.
 */
export const terminalControlSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("resize"), ...size }),
  z.strictObject({ type: z.literal("read"), bytes: z.int().min(0).max(67_108_864) }),
  z.strictObject({ type: z.literal("end") }),
]);
export type TerminalControl = z.infer<typeof terminalControlSchema>;

/** What the proxy reports; a page ignores types that it does not know. `status`: as in a shell; left out: the connection was lost, and `reason` has why. */
export type TerminalNotice =
  | { readonly type: "opened"; readonly host: string; readonly login: string }
  | { readonly type: "alive" }
  | { readonly type: "ended"; readonly status?: number; readonly reason?: string }
  | { readonly type: "error"; readonly error: { readonly message: string; readonly code: ErrorCode; readonly hint?: string } };
