import { z } from "zod";
import { parseVersion } from "../versions/parse-version.ts";
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
