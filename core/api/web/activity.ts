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

/** A recording, and the places at which reading it can begin. */
export const recordingIndexSchema = z.object({
  recording: recordingSchema,
  /** In order; the first is the beginning of the recording. */
  points: z.array(
    z.object({
      /** Bytes from the beginning. */
      offset: z.number(),
      /** Of the first line there, seconds. */
      time: z.number(),
      /** Length of the uncompressed text up to the next point, bytes. */
      text: z.number(),
    }),
  ),
});
export type RecordingIndex = z.infer<typeof recordingIndexSchema>;

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
