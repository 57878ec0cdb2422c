import { randomUUID } from "node:crypto";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { errorText, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { writeDocuments } from "../../core/resources/document.ts";
import { type ActiveSession, maxSessions, sessionDocument } from "../../core/resources/session.ts";

/** A session that runs in this process. */
export interface LiveSession {
  readonly sid: string;
  describe(): Omit<ActiveSession, "process">;
}

/** The sessions that run in this process. */
export class LiveSessions {
  /** Identifies this process: an older process of the host has its own sessions. */
  readonly process = randomUUID();
  /** A session began or ended, or somebody joined or left one. */
  onNews: () => void = () => {};
  readonly #open = new Map<string, LiveSession>();

  find(sid: string): LiveSession | undefined {
    return this.#open.get(sid);
  }

  add(session: LiveSession): void {
    this.#open.set(session.sid, session);
    this.onNews();
  }

  remove(session: LiveSession): void {
    if (this.#open.get(session.sid) === session) this.#open.delete(session.sid);
    this.onNews();
  }

  list(): ActiveSession[] {
    return [...this.#open.values()].map((session) => ({ ...session.describe(), process: this.process }));
  }
}

export interface SessionReportsOptions {
  readonly live: { readonly process: string; list(): ActiveSession[]; onNews: () => void };
  readonly client: () => Promise<Pick<AuthClient, "reportSessions">>;
  readonly log: Log;
  readonly times?: Partial<typeof usualTimes>;
}

/** Maximum bytes of sessions in one report: the auth service accepts requests of up to 1,000,000. */
const maxReport = 900_000;
const usualTimes = {
  /** Delay that combines changes into one report, ms. */
  soonMs: 200,
  /** Interval between reports: a third of the time for which one is valid, ms. */
  renewMs: 20_000,
  /** Delay after a failure, ms. */
  retryMs: 3_000,
};

/** Reports the sessions of this process to the auth service: at every change, and periodically while there are any. Until aborted. */
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
      const sessionsJson = fitting(writeDocuments(sessionDocument, live.list()));
      await (await client()).reportSessions({ process: live.process, sessionsJson });
      next = sessionsJson.length > 0 ? renewMs : undefined;
    } catch (thrown) {
      log.debug("could not report the running sessions", { error: errorText(thrown) });
      // An auth service of the previous version does not accept them.
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
    // The end of the last session may be what this process was waiting for.
    if (!isTelling) plan(live.list().length === 0 ? 0 : soonMs);
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

/** The first sessions that fit into a report: of thousands only a part is reported. */
export function fitting(sessions: readonly string[]): string[] {
  let bytes = 0;
  return sessions.slice(0, maxSessions).filter((json) => {
    bytes += Buffer.byteLength(json) + 8;
    return bytes <= maxReport;
  });
}
