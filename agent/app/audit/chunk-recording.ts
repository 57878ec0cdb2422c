import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { encodeRequest, encodeRequestsHeader } from "../../../core/recording/requests.ts";
import { RecordingFile } from "../../../core/recording-spool/recording-file.ts";
import type { OpenRecording } from "../../../core/recording-spool/recording-spool.ts";
import { watchUpload } from "../../../core/recording-spool/required-recording.ts";
import type { RecordingFacts } from "../../../core/resources/recording.ts";
import type { ServiceDeps } from "../../service/service.ts";
import { type AskedRequest, recordedRequest } from "./recorded-request.ts";

export interface ChunkToRecord {
  readonly facts: RecordingFacts;
  /** Id of the session. */
  readonly session: string;
  readonly app: string;
  /** Whether it has to be at the auth service as it grows. */
  readonly isSync: boolean;
  readonly recordings: ServiceDeps["recordings"];
  /** Nothing more is recorded. Called at most once. */
  readonly onFailed: (why: PlatformError) => void;
}

/** Maximum number of requests that wait for the file. */
const maxWaiting = 10_000;

/** The recording of one session's requests over some minutes: a file of the spool. */
export class ChunkRecording {
  readonly #chunk: ChunkToRecord;
  readonly #began = performance.now();
  readonly #opened: Promise<void>;
  #waiting: string[] = [];
  #open: OpenRecording<RecordingFile> | undefined;
  #stopWatch: () => void = () => {};
  #failure: PlatformError | undefined;

  constructor(chunk: ChunkToRecord) {
    this.#chunk = chunk;
    this.#opened = this.#begin();
  }

  get ageMs(): number {
    return performance.now() - this.#began;
  }

  get failure(): PlatformError | undefined {
    return this.#failure;
  }

  /** Resolves once it is open, or has failed. Never rejects. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  add(request: AskedRequest): void {
    if (this.#failure !== undefined) return;
    const line = encodeRequest({ ...recordedRequest(request), time: this.ageMs / 1000 });
    if (this.#open !== undefined) this.#open.writer.add(line);
    else if (this.#waiting.length < maxWaiting) this.#waiting.push(line);
  }

  /** A promise when too much is waiting for the disk. It never rejects. */
  behind(): Promise<void> | undefined {
    return this.#open?.writer.whenBehind();
  }

  /** The rest goes to the disk. Never throws. */
  async close(): Promise<void> {
    await this.#opened;
    this.#stopWatch();
    await this.#open?.end();
  }

  async #begin(): Promise<void> {
    const { facts, session, app, isSync, recordings } = this.#chunk;
    const onFailed = (why: PlatformError): void => this.#fail(why);
    const lines = [encodeRequestsHeader({ started: facts.started, app, session, platform: facts })];
    try {
      const open = await recordings.begin({ facts, onFailed, open: async (options) => await RecordingFile.open(options, { lines }) });
      this.#open = open;
      for (const line of this.#waiting.splice(0)) open.writer.add(line);
      if (!isSync) return;
      await recordings.sendNow(open.spooled);
      this.#stopWatch = watchUpload(open, onFailed);
    } catch (thrown) {
      this.#fail(toPlatformError(thrown));
    }
  }

  #fail(why: PlatformError): void {
    if (this.#failure !== undefined) return;
    this.#failure = why;
    this.#waiting = [];
    this.#chunk.onFailed(why);
  }
}
