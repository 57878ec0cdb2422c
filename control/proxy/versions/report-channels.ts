import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { boundedTroubles, type ChannelAnswer, channelAnswersDocument, channelTroublesDocument } from "../../../core/resources/channel-report.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { type ProxyFacts, proxyFactsDocument } from "../../../core/resources/proxy-facts.ts";
import { wait } from "../wait.ts";
import type { Channels } from "./channels.ts";

/** Interval of reports to the auth service, ms; it forgets a silent proxy after three of these. */
const everyMs = 60_000;
/** Interval after a failure, ms. */
const againMs = 10_000;

export interface ChannelReporter {
  /** Reports to the auth service soon: something changed, or it has been restarted. */
  soon(): void;
  /** Runs until the signal. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ReportOptions {
  readonly channels: Channels;
  readonly auth: AuthClient;
  /** The proxy's report about itself, sent along. */
  readonly facts: () => ProxyFacts;
  /** True once another process reports instead of this one. */
  readonly retired: () => boolean;
  readonly log: Log;
}

/** Keeps the auth service informed of the channels' answers, so that it notices disagreeing proxies. */
export function reportChannels(options: ReportOptions): ChannelReporter {
  const { channels, log } = options;
  let woken = Promise.withResolvers<void>();
  const soon = (): void => woken.resolve();
  channels.onChange(soon);
  return {
    soon,
    run: async (signal) => {
      for (let said = false; !signal.aborted && !options.retired(); ) {
        woken = Promise.withResolvers<void>();
        const fault = await report(options, signal);
        if (fault !== undefined && !said && !signal.aborted) log.warn("could not report version channels", { error: errorText(fault) });
        said = fault !== undefined;
        const waiting = new AbortController();
        const pause = wait(fault === undefined ? everyMs : againMs, AbortSignal.any([signal, waiting.signal]));
        await (fault === undefined ? Promise.race([woken.promise, pause]) : pause);
        waiting.abort();
      }
    },
  };
}

/** The failure, if any. An older auth service without channel reports is not a failure. */
async function report({ channels, auth, facts }: ReportOptions, signal: AbortSignal): Promise<unknown> {
  try {
    const troublesJson = writeDocument(channelTroublesDocument, boundedTroubles(channels.troubles()));
    const channelsJson = writeDocument(channelAnswersDocument, currentAnswers(channels));
    const request = { channelsJson, digest: channels.digest, troublesJson, proxyJson: writeDocument(proxyFactsDocument, facts()) };
    await auth.reportChannels(request, { signal, timeoutMs: 10_000 });
    return undefined;
  } catch (thrown) {
    return thrown instanceof PlatformError && thrown.code === "unsupported" ? undefined : thrown;
  }
}

/** The current answers; a channel without one is left out. */
function currentAnswers(channels: Channels): Readonly<Record<string, ChannelAnswer>> {
  const answers = channels.names.flatMap((name) => {
    try {
      const { version, critical = false, source } = channels.read(name);
      return [[name, { version, critical, source }] as const];
    } catch (thrown) {
      if (thrown instanceof PlatformError) return [];
      throw thrown;
    }
  });
  return Object.fromEntries(answers);
}
