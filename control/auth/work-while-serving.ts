import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { AuthConfig } from "../config.ts";
import { keepAudit } from "./audit/keep-audit.ts";
import type { AuthContext } from "./auth-context.ts";
import { dropLostProxies } from "./inventory/cluster-proxies.ts";
import { takeDueSteps } from "./rotation/rotate.ts";

/** Regular checks and audit log maintenance; its end waits for both. */
export async function workWhileServing(context: AuthContext, { audit }: AuthConfig, sockets: ListenSockets): Promise<AsyncDisposable> {
  const looking = await lookWhileServing(context, sockets);
  const keeping = keepAudit(context, { sockets, retentionSeconds: audit?.audit_retention });
  return {
    [Symbol.asyncDispose]: async () => {
      await looking[Symbol.asyncDispose]();
      await keeping[Symbol.asyncDispose]();
    },
  };
}

/** Interval of checks of the hosts' presence and the roll-outs, ms. */
const presenceMs = 1_000;
const rolloutsMs = 10_000;
/** Interval of checks whether a rotation's next step is due, ms. */
const rotationMs = 1_000;
/** Interval of checks for proxies whose lease has ended, ms. */
const proxiesMs = 15_000;

type LookContext = Pick<AuthContext, "presence" | "rollouts" | "authorities" | "audit" | "log" | "now" | "storage" | "proxies">;

/** Runs the checks as long as this process serves: before a handover the other process runs them. Resolves after the first check. */
async function lookWhileServing(context: LookContext, sockets: ListenSockets): Promise<AsyncDisposable> {
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

async function lookRegularly(context: LookContext): Promise<AsyncDisposable> {
  const { presence, rollouts } = context;
  await rollouts.look();
  await presence.look();
  const timers = [
    setInterval(() => void presence.look(), presenceMs).unref(),
    setInterval(() => void rollouts.look(), rolloutsMs).unref(),
    setInterval(() => void takeDueSteps(context), rotationMs).unref(),
    setInterval(() => void dropLostProxies(context), proxiesMs).unref(),
  ];
  return {
    [Symbol.asyncDispose]: async () => {
      for (const timer of timers) clearInterval(timer);
      // The running check still writes.
      await Promise.all([presence.look(), rollouts.look()]);
    },
  };
}

/** Interval of summing up counted refusals, and of checks of the disk, ms. */
const sumUpMs = 15_000;

/** Sums up counted refusals, and checks the disk. */
export function sumUpRegularly({ audit, room }: AuthContext): NodeJS.Timeout {
  const sumUp = (): void => {
    audit.sumUp();
    room.look();
  };
  return setInterval(sumUp, sumUpMs).unref();
}
