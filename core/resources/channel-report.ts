import { z } from "zod";
import { parseVersion } from "../versions/compare-versions.ts";
import { documentKind } from "./document.ts";

/** The answer of a version channel. */
export interface ChannelAnswer {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  readonly critical: boolean;
  readonly source: "own" | "static" | "forward";
}

/** A proxy's report of its version channels: name → answer. */
const channelAnswersSchema = z.record(
  z.string().min(1).max(128),
  z.object({
    version: z.string().refine((text) => text === "none" || (text.startsWith("v") && parseVersion(text) !== undefined)),
    critical: z.boolean(),
    source: z.enum(["own", "static", "forward"]),
  }),
);

export const channelAnswersDocument = documentKind("channel_answers", channelAnswersSchema, { what: "the report of version channels" });

/** Maximum list and sentence that a proxy may report. */
const [maxTroubles, maxText] = [32, 500];

/** A problem with a version channel of a proxy. */
const channelTroubleSchema = z.object({
  channel: z.string().min(1).max(128),
  /** `beyond_major`: it wants a version for which the proxy is too old, so no host gets one; `upstream_failed`: the upstream server fails. */
  kind: z.enum(["beyond_major", "upstream_failed"]),
  /** The sentence without its subject, the channel. */
  text: z.string().max(maxText),
});
export type ChannelTrouble = z.infer<typeof channelTroubleSchema>;

const channelTroublesSchema: z.ZodType<ChannelTrouble[]> = z.array(channelTroubleSchema).max(maxTroubles);

/** Limits it to the size of a report. */
export function boundedTroubles(troubles: readonly ChannelTrouble[]): readonly ChannelTrouble[] {
  return troubles.slice(0, maxTroubles).map((one) => ({ ...one, channel: one.channel.slice(0, 128), text: one.text.slice(0, maxText) }));
}

export const channelTroublesDocument = documentKind("channel_troubles", channelTroublesSchema, { what: "the problems of version channels" });
