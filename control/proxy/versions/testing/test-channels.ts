import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpgradeChannel } from "../../../../core/config/upgrade-channels.ts";
import { createLog } from "../../../../core/log/log.ts";
import { type AskUpstream, askUpstreamBy } from "../ask-upstream.ts";
import { Channels } from "../channels.ts";
import { startTestUpstream, type TestUpstream } from "./test-upstream.ts";

/** For an upstream that answers, and for one that never will: nothing but a timeout shows the second. ms. */
export const [patientMs, shortMs] = [5_000, 150];

export interface OpenedChannels {
  readonly channels: Channels;
  /** Of the log. */
  readonly lines: string[];
  /** Ends the pause between two questions; resolves once the next one is answered. */
  again(): Promise<void>;
  stop(): Promise<void>;
}

interface Opening {
  readonly now?: () => Date;
  readonly ca?: readonly string[];
  /** Of the next question. */
  readonly timeoutMs?: () => number;
}

/** The channels of a proxy of version 1.4.0, which pause between two questions until a test goes on; disposing stops them all. */
export class TestChannels implements AsyncDisposable {
  readonly upstream: TestUpstream;
  /** File of the last answers. */
  readonly file: string;
  readonly #folder: string;
  readonly #opened: OpenedChannels[] = [];

  private constructor(folder: string, upstream: TestUpstream) {
    this.#folder = folder;
    this.file = join(folder, "kept.json");
    this.upstream = upstream;
  }

  static async start(): Promise<TestChannels> {
    return new TestChannels(await mkdtemp(join(tmpdir(), "platform-channels-")), await startTestUpstream());
  }

  /** The channel `default`, which forwards to `upstream`. */
  get forwarding(): Readonly<Record<string, UpgradeChannel>> {
    return { default: { forwardUrl: this.upstream.url } };
  }

  async open(configured: Readonly<Record<string, UpgradeChannel>>, options: Opening = {}): Promise<OpenedChannels> {
    const { ca, timeoutMs = () => patientMs, now = () => new Date() } = options;
    const lines: string[] = [];
    const log = createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) });
    const stop = new AbortController();
    let resume: (() => void)[] = [];
    let changed = Promise.withResolvers<void>();
    const pause = (_ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        resume.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    const ask: AskUpstream = (...question) => askUpstreamBy({ env: {}, ca, timeoutMs: timeoutMs() })(...question);
    const channels = await Channels.open({ configured, version: "1.4.0", ask, file: this.file, log, now, pause });
    channels.onChange(() => changed.resolve());
    const running = channels.run(stop.signal);
    const opened: OpenedChannels = {
      channels,
      lines,
      again: async () => {
        changed = Promise.withResolvers();
        const all = resume;
        resume = [];
        for (const go of all) go();
        await changed.promise;
      },
      stop: async () => {
        stop.abort();
        await running;
      },
    };
    this.#opened.push(opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#opened) await one.stop();
    await this.upstream[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
