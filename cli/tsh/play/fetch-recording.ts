import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Maximum size of a recording in memory, bytes: more than the auth service accepts. */
const maxBytes = 256 * 1024 * 1024;

/** One recording in its current state at the auth service, compressed. */
export async function fetchRecording(client: AuthClient, sessionId: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const { data } of client.readRecording({ sessionId }, { timeoutMs: 0 })) {
    bytes += data.length;
    if (bytes > maxBytes) throw new PlatformError("limit", `the recording is larger than ${maxBytes} bytes, the maximum that can be shown`);
    parts.push(data);
  }
  return Buffer.concat(parts);
}
