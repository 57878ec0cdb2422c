import { z } from "zod";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { documentKind, readDocument } from "../../../core/resources/document.ts";

/** Maximum size of a recording in memory, bytes: more than the auth service accepts. */
const maxBytes = 256 * 1024 * 1024;

/** Format of a recording; other facts do not matter here, and a newer auth service may state more. */
export const formatSchema = z.object({ format: z.string().optional() });

const formatDocument = documentKind("recording", formatSchema, { what: "a recording" });

export interface FetchedRecording {
  /** Compressed, or as it is. */
  readonly file: Buffer;
  /** Undefined: the usual one. */
  readonly format: string | undefined;
}

/** One recording in its current state at the auth service. */
export async function fetchRecording(client: AuthClient, sessionId: string): Promise<FetchedRecording> {
  const parts: Uint8Array[] = [];
  let format: string | undefined;
  let bytes = 0;
  for await (const { data, recordingJson } of client.readRecording({ sessionId }, { timeoutMs: 0 })) {
    if (recordingJson !== "") format = readDocument(formatDocument, recordingJson).format;
    bytes += data.length;
    if (bytes > maxBytes) throw new PlatformError("limit", `the recording is larger than ${maxBytes} bytes, the maximum that can be shown`);
    parts.push(data);
  }
  return { file: Buffer.concat(parts), format };
}
