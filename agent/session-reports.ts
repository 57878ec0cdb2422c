import type { AuthClient } from "../core/api/auth-client.ts";
import { errorText, toPlatformError } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import { type ActiveSession, maxSessions } from "../core/resources/session.ts";

export interface SessionReportsOptions {
  readonly live: { readonly process: string; list(): ActiveSession[]; onNews: () => void };
  readonly client: () => Promise<Pick<AuthClient, "reportSessions">>;
  readonly log: Log;
  readonly times?: Partial<typeof usualTimes>;
}

/** What one report may have of sessions, bytes: the auth service takes requests of 1,000,000. */
const maxReport = 900_000;
const usualTimes = {
  /** Changes that come together are told together, ms. */
  soonMs: 200,
  /** A third of the time for which a report counts, ms. */
  renewMs: 20_000,
  /** After a failure, ms. */
  retryMs: 3_000,
};

/** Tells the auth service which sessions run in this process: at every change, and again while there are any. Until aborted. */
export function reportSessions({ live, client, log, times }: SessionReportsOptions, signal: AbortSignal): void {
  const { soonMs, renewMs, retryMs } = { ...usualTimes, ...times };
  let timer: NodeJS.Timeout | undefined;
  let isNews = false;
  let isTelling = false;
  const tell = async (): Promise<void> => {
    isTelling = true;
    isNews = false;
    let next: number | undefined;
    try {
      const sessionsJson = fitting(live.list().map((session) => JSON.stringify(session)));
      await (await client()).reportSessions({ process: live.process, sessionsJson });
      next = sessionsJson.length > 0 ? renewMs : undefined;
    } catch (thrown) {
      log.debug("the running sessions could not be reported", { error: errorText(thrown) });
      // An auth service of the version before takes none.
      next = toPlatformError(thrown).code === "unsupported" ? renewMs : retryMs;
    }
    isTelling = false;
    plan(isNews ? soonMs : next);
  };
  const plan = (afterMs: number | undefined): void => {
    clearTimeout(timer);
    timer = afterMs === undefined || signal.aborted ? undefined : setTimeout(() => void tell(), afterMs).unref();
  };
  live.onNews = () => {
    isNews = true;
    // The last one may be all that this process was waiting for.
    if (!isTelling) plan(live.list().length === 0 ? 0 : soonMs);
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

/** The first ones that fit into a report: thousands at a time would be told in part. */
export function fitting(sessions: readonly string[]): string[] {
  let bytes = 0;
  return sessions.slice(0, maxSessions).filter((json) => {
    bytes += Buffer.byteLength(json) + 8;
    return bytes <= maxReport;
  });
}
