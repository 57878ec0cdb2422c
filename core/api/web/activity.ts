import { z } from "zod";
import { recordingSchema } from "../../resources/recording.ts";
import { listedSessionSchema } from "../../resources/session.ts";

export const runningSessionsSchema = z.object({ sessions: z.array(listedSessionSchema) });

export const recordingPageSchema = z.object({
  /** The newest first. */
  recordings: z.array(recordingSchema),
  /** For the next page; empty: that was all. */
  cursor: z.string(),
});

/** Events of the audit log: a newer auth service may have events and facts that this version does not know. */
export const eventPageSchema = z.object({
  /** The oldest first. */
  events: z.array(z.record(z.string(), z.unknown())),
  /** For the next page; empty: that was all. */
  cursor: z.string(),
  /** Continues after the last event of the answer, also when there is none yet. */
  resume: z.string(),
});
export type EventPage = z.infer<typeof eventPageSchema>;
