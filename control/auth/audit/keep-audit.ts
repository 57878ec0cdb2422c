import { setImmediate as breath } from "node:timers/promises";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { ListenSockets } from "../../../core/transport/listen-sockets.ts";
import type { AuthContext } from "../auth-context.ts";

export interface KeepAuditOptions {
  readonly sockets: ListenSockets;
  /** Undefined: nothing is forgotten. */
  readonly retentionSeconds: number | undefined;
}

/** How often it is looked for events whose time is over, ms. */
const forgetMs = 3_600_000;

/** Ships audit events, and forgets those whose time is over, for as long as this process serves. */
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

/** Some at a time, so that others get their turn. Never throws. */
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
    if (forgotten > 0) log.info("audit events whose time is over were deleted", { events: forgotten });
  } catch (thrown) {
    log.error("old audit events could not be deleted", { error: errorText(thrown) });
  }
}
