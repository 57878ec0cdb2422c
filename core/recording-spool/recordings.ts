import { PlatformError } from "../errors/platform-error.ts";
import {
  type NewRecording,
  type OpenRecording,
  RecordingSpool,
  type RecordingSpoolOptions,
  type RecordingWriter,
  type SpooledRecording,
} from "./recording-spool.ts";
import { type RecordingCall, sendRecordings, uploadPart, uploadRecordings } from "./upload-recordings.ts";

/** Recordings of sessions, on this host and on their way to the auth service. */
export interface Recordings {
  /** Throws PlatformError when it cannot be written. */
  begin<Writer extends RecordingWriter>(recording: NewRecording<Writer>): Promise<OpenRecording<Writer>>;
  /** Sends the current state of one. Throws PlatformError when the auth service does not accept it. */
  sendNow(recording: SpooledRecording): Promise<void>;
  /** Sends all of them as they grow, until aborted. */
  upload(signal: AbortSignal): Promise<void>;
  /** Sends what is pending. Throws when the auth service cannot be reached. */
  sendRest(): Promise<void>;
}

export interface RecordingsOptions extends RecordingSpoolOptions {
  /** Resolves with the bytes that the auth service has durably. */
  readonly send: (call: RecordingCall) => Promise<number>;
}

export async function openRecordings(options: RecordingsOptions): Promise<Recordings> {
  const spool = await RecordingSpool.open(options);
  const upload = { spool, send: options.send, log: options.log };
  return {
    begin: (recording) => spool.begin(recording),
    sendNow: async (recording) => {
      await uploadPart(upload, recording);
      if (recording.notBefore !== undefined)
        throw new PlatformError("unavailable", "the auth service refused it; see this host's log for the reason");
    },
    upload: (signal) => uploadRecordings(upload, signal),
    sendRest: () => sendRecordings(upload),
  };
}
