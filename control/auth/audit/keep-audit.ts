import { setImmediate as breath } from "node:timers/promises";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { ListenSockets } from "../../../core/transport/listen-sockets.ts";
import type { AuthContext } from "../auth-context.ts";

export interface KeepAuditOptions {
  readonly sockets: ListenSockets;
  /** Undefined: events are kept for ever. */
  readonly retentionSeconds: number | undefined;
}

/** Interval of the search for expired events, ms. */
const forgetMs = 3_600_000;

/** Ships audit events, and deletes expired ones, as long as this process serves. */
export function keepAudit(context: Pick<AuthContext, "auditStore" | "shipping" | "log" | "now">, options: KeepAuditOptions): AsyncDisposable {
  const over = new AbortController();
  const work = async (): Promise<void> => {
    await options.sockets.started;
    if (over.signal.aborted) return;
    const look = (): void => void forgetOld(context, options.retentionSeconds, over.signal);
    const timer = setInterval(look, forgetMs).unref();
    look();
    await context.shipping.run(over.signal);
    clearInterval(timer);
  };
  const working = work();
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort();
      if (options.sockets.isStarted) await working;
    },
  };
}

/** Works in batches, so that other work is not blocked. Never throws. */
export async function forgetOld(
  { auditStore, log, now }: Pick<AuthContext, "auditStore" | "log" | "now">,
  retentionSeconds: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (retentionSeconds === undefined) return;
  try {
    const before = new Date(now().getTime() - retentionSeconds * 1000);
    let forgotten = 0;
    for (let some = -1; some !== 0 && !signal.aborted; forgotten += some) {
      some = auditStore.forget(before);
      await breath();
    }
    if (forgotten > 0) log.info("expired audit events were deleted", { events: forgotten });
  } catch (thrown) {
    log.error("could not delete expired audit events", { error: errorText(thrown) });
  }
}
