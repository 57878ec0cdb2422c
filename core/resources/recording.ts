import { z } from "zod";

/**
 * What becomes of what terminals show. `node`: recorded on the host and sent as it can be; `node-sync`: a session ends that cannot
 * be recorded at the auth service; `proxy` and `proxy-sync`: the same at the proxy; `off`: nothing is recorded.
 */
export const recordingModes = ["node", "node-sync", "proxy", "proxy-sync", "off"] as const;
export type RecordingMode = (typeof recordingModes)[number];

/** Where a terminal is recorded; undefined: nowhere. `isSync`: a session ends that cannot be recorded at the auth service. */
export function recordedAt(mode: RecordingMode): { readonly place: "node" | "proxy"; readonly isSync: boolean } | undefined {
  if (mode === "off") return undefined;
  return { place: mode.startsWith("proxy") ? "proxy" : "node", isSync: mode.endsWith("-sync") };
}

const short = z.string().max(256);

/** Whose terminal on which host a recording shows, as the host says it. */
export const recordingFactsSchema = z.strictObject({
  sid: z.uuid(),
  server_id: short,
  server_name: short,
  user: short,
  login: short,
  started: z.iso.datetime(),
});
export type RecordingFacts = z.infer<typeof recordingFactsSchema>;

/** How a recording ended: with its session, or with the process that wrote it. */
export const recordingEndSchema = z.strictObject({ ended: z.iso.datetime(), interrupted: z.boolean() });
export type RecordingEnd = z.infer<typeof recordingEndSchema>;

/** A recording as the auth service has it. */
export const recordingSchema = recordingFactsSchema.extend({
  /** Compressed. */
  bytes: z.int().min(0),
  state: z.enum(["running", "complete", "interrupted"]),
  ended: z.iso.datetime().optional(),
});
export type Recording = z.infer<typeof recordingSchema>;
