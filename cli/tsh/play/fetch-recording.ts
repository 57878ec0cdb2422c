import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Longest recording taken into memory, bytes: more than the auth service holds of one. */
const maxBytes = 256 * 1024 * 1024;

/** One recording as the auth service has it now, compressed. */
export async function fetchRecording(client: AuthClient, sessionId: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const { data } of client.readRecording({ sessionId }, { timeoutMs: 0 })) {
    bytes += data.length;
    if (bytes > maxBytes) throw new PlatformError("limit", `a recording of more than ${maxBytes} bytes is not shown`);
    parts.push(data);
  }
  return Buffer.concat(parts);
}
