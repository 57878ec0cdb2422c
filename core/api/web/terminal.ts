import { z } from "zod";
import type { ErrorCode } from "../../errors/platform-error.ts";
import { loginText } from "../../resources/metadata.ts";
import { joinModes } from "../../resources/session.ts";
import { confirmed } from "./confirmations.ts";
import { kubeNameSchema } from "./pods.ts";

/*
 * The WebSocket `/webapi/v1/terminal`. Binary messages are the terminal's bytes, both ways; text messages are JSON:
 *
 *     browser                              proxy
 *     {"token": …}                  ->                       within 4 s
 *     {"type": "open" | …, …}       ->
 *                                   <-     {"type": "opened", …}
 *     bytes, resize, read, end      <->    bytes
 *     {"type": "read", "bytes": 0}  ->
 *                                   <-     {"type": "alive"}
 *                                   <-     {"type": "ended", …}, or {"type": "error", …}; then it closes
 */

/** Characters of one line, or lines: no screen has more. */
const extent = z.int().min(1).max(1000);
const size = { cols: extent, rows: extent };

/** A program and its arguments. */
const command = z.array(z.string().max(4096)).max(64);

/**
 * The terminal that a browser wants: a new one on a host, a seat in a session that runs, or one in a container of a pod. `container`: empty for the only one;
 * `command`: empty for a shell.
 */
export const terminalAskSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("open"), node: z.string().min(1).max(255), login: loginText, ...size, ...confirmed }),
  z.strictObject({ type: z.literal("join"), session: z.uuid(), mode: z.enum(joinModes), ...size, ...confirmed }),
  z.strictObject({
    type: z.literal("pod"),
    cluster: z.string().min(1).max(255),
    namespace: kubeNameSchema,
    pod: kubeNameSchema,
    container: z.union([z.literal(""), kubeNameSchema]),
    command,
    ...size,
    ...confirmed,
  }),
]);
export type TerminalAsk = z.infer<typeof terminalAskSchema>;
export type PodAsk = Extract<TerminalAsk, { type: "pod" }>;
/** One that SSH leads to. */
export type HostAsk = Exclude<TerminalAsk, PodAsk>;

/**
 * `read`: the page has shown so many bytes of those that it was sent; the proxy sends no more than a window ahead. More than that is `invalid`. None: the page asks
 * whether the proxy is still there. `end`: the user leaves.
 */
export const terminalControlSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("resize"), ...size }),
  z.strictObject({ type: z.literal("read"), bytes: z.int().min(0).max(67_108_864) }),
  z.strictObject({ type: z.literal("end") }),
]);
export type TerminalControl = z.infer<typeof terminalControlSchema>;

/** What the proxy reports; `host`: of a pod its namespace and name. A page ignores types that it does not know. `status`: as in a shell; left out: the connection was lost, and `reason` has why. */
export type TerminalNotice =
  | { readonly type: "opened"; readonly host: string; readonly login: string }
  | { readonly type: "alive" }
  | { readonly type: "ended"; readonly status?: number; readonly reason?: string }
  | { readonly type: "error"; readonly error: { readonly message: string; readonly code: ErrorCode; readonly hint?: string } };
