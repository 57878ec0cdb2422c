import { z } from "zod";
import { documentKind } from "./document.ts";

/**
 * Recording mode of terminals. `node`: recorded on the host and sent when possible; `node-sync`: a session ends when it cannot
 * be recorded at the auth service; `proxy` and `proxy-sync`: the same at the proxy; `off`: nothing is recorded.
 */
export const recordingModes = ["node", "node-sync", "proxy", "proxy-sync", "off"] as const;
export type RecordingMode = (typeof recordingModes)[number];

/** Where a terminal is recorded; undefined if nowhere. `isSync`: a session ends when it cannot be recorded at the auth service. */
export function recordedAt(mode: RecordingMode): { readonly place: "node" | "proxy"; readonly isSync: boolean } | undefined {
  if (mode === "off") return undefined;
  return { place: mode.startsWith("proxy") ? "proxy" : "node", isSync: mode.endsWith("-sync") };
}

const short = z.string().max(256);

/** The user and the host or resource of a recording, as reported by the host. Omitted as noted: the version before refuses unknown fields. */
export const recordingFactsSchema = z.strictObject({
  sid: z.uuid(),
  server_id: short,
  server_name: short,
  user: short,
  /** Unix user; omitted for services without one. */
  login: short.optional(),
  /** Kind of service; omitted for ssh. */
  kind: short.optional(),
  /** Name of the resource; omitted for ssh, where it is the host. */
  resource: short.optional(),
  /** One of core/recording/formats; omitted for asciicast. */
  format: short.optional(),
  started: z.iso.datetime(),
});
export type RecordingFacts = z.infer<typeof recordingFactsSchema>;

/** How a recording ended: with its session, or with the process that wrote it. */
export const recordingEndSchema = z.strictObject({ ended: z.iso.datetime(), interrupted: z.boolean() });
export type RecordingEnd = z.infer<typeof recordingEndSchema>;

/** A recording at the auth service. */
export const recordingSchema = recordingFactsSchema.extend({
  /** Compressed size, bytes. */
  bytes: z.int().min(0),
  state: z.enum(["running", "complete", "interrupted"]),
  ended: z.iso.datetime().optional(),
});
export type Recording = z.infer<typeof recordingSchema>;

export const recordingDocument = documentKind("recording", recordingSchema, { what: "a recording" });
export const recordingFactsDocument = documentKind("recording_facts", recordingFactsSchema, { what: "the facts of a recording" });
export const recordingEndDocument = documentKind("recording_end", recordingEndSchema, { what: "the end of a recording" });
