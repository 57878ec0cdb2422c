import { Readable } from "node:stream";
import { z } from "zod";
import { recordingIndexSchema } from "../../../../core/api/web/activity.ts";
import { readDocument } from "../../../../core/resources/document.ts";
import { type Recording, recordingDocument } from "../../../../core/resources/recording.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const params = z.object({ sid: z.uuid() });
/** Maximum size of one answer, bytes: a player asks for the next part when it needs it, and nothing waits in between. */
const maxPart = 4 * 1024 * 1024;
/** Maximum time for a part, ms. */
const partMs = 60_000;

/** Recordings for players: the facts with an index, and the compressed bytes in parts, which are passed on as they come. */
export function recordingRoutes(api: Api): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/recordings/:sid",
    summary: "Shows a recording, and the places at which reading it can begin.",
    schema: { params, answer: recordingIndexSchema },
    handler: async ({ auth, params: { sid }, signal }) => {
      const { recordingJson, points } = await auth.indexRecording({ sessionId: sid }, { signal });
      return {
        recording: readDocument(recordingDocument, recordingJson),
        points: points.map(({ offset, time, text }) => ({ offset, time, text })),
      };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/recordings/:sid/content",
    summary:
      "Reads a part of a recording, which consists of gzip members; Platform-Recording-Size is the size so far, and Platform-Recording-State says whether there will be more.",
    schema: {
      params,
      query: z.strictObject({
        offset: z.coerce.number().int().min(0).max(0xffff_ffff).default(0),
        length: z.coerce.number().int().min(1).max(maxPart).default(maxPart),
      }),
    },
    media: "application/gzip",
    handler: async ({ auth, params: { sid }, query, signal, reply }) => {
      const parts = auth.readRecording({ sessionId: sid, ...query }, { signal, timeoutMs: partMs })[Symbol.asyncIterator]();
      const first = await parts.next();
      const recording = readDocument(recordingDocument, first.done === true ? "" : first.value.recordingJson);
      return await reply
        .headers(stateHeaders(recording))
        .type("application/gzip")
        .send(Readable.from(bytesOf(parts), { objectMode: false }));
    },
  });
}

function stateHeaders({ bytes, state }: Recording): Record<string, string> {
  return { "Platform-Recording-Size": String(bytes), "Platform-Recording-State": state };
}

async function* bytesOf(parts: AsyncIterator<{ readonly data: Uint8Array }>): AsyncGenerator<Uint8Array> {
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) yield next.value.data;
}
