import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { AuthContext } from "./auth-context.ts";

/** How often the presence of hosts and the roll-outs are looked at, ms. */
const presenceMs = 1_000;
const rolloutsMs = 10_000;

/** Looks for as long as this process serves: while it waits to take over from another one, that one looks. Resolves after the first look. */
export async function lookWhileServing(context: Pick<AuthContext, "presence" | "rollouts">, sockets: ListenSockets): Promise<AsyncDisposable> {
  let isOver = false;
  let looking: Promise<AsyncDisposable> | undefined = sockets.isStarted ? lookRegularly(context) : undefined;
  await looking;
  void sockets.started.then(() => {
    if (!isOver) looking ??= lookRegularly(context);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await (await looking)?.[Symbol.asyncDispose]();
    },
  };
}

async function lookRegularly({ presence, rollouts }: Pick<AuthContext, "presence" | "rollouts">): Promise<AsyncDisposable> {
  await rollouts.look();
  await presence.look();
  const timers = [setInterval(() => void presence.look(), presenceMs).unref(), setInterval(() => void rollouts.look(), rolloutsMs).unref()];
  return {
    [Symbol.asyncDispose]: async () => {
      for (const timer of timers) clearInterval(timer);
      // The look that is under way still writes.
      await Promise.all([presence.look(), rollouts.look()]);
    },
  };
}
