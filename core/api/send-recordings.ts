import { isErrorCode, PlatformError } from "../errors/platform-error.ts";
import type { AuthClient } from "./auth-client.ts";

interface RecordingBytes {
  readonly factsJson: string;
  readonly offset: number;
  readonly data: Uint8Array;
  readonly endJson: string;
}

type Uploads = Pick<AuthClient, "uploadRecording" | "uploadRecordings">;

/** How recordings get to the auth service, as `core/recording-spool` wants it. `client` throws `unavailable`. */
export function sendRecordings(client: () => Promise<Uploads>) {
  return {
    send: async (call: RecordingBytes): Promise<number> => (await (await client()).uploadRecording(call)).size,
    sendMany: async (calls: readonly RecordingBytes[]): Promise<readonly (number | PlatformError)[]> => {
      const { recordings } = await (await client()).uploadRecordings({ parts: [...calls] });
      return recordings.map(({ size, code, message }) => (code === "" ? size : new PlatformError(isErrorCode(code) ? code : "internal", message)));
    },
  };
}
