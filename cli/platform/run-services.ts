import { once } from "node:events";
import { agentServices, type PlatformConfig } from "../../core/config/platform-config.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { ProcessState } from "./reload/process-state.ts";
import type { ControlFacts, LocalControl, Services } from "./services.ts";

export interface RunOptions {
  readonly services: Services;
  readonly config: PlatformConfig;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sockets: ListenSockets;
  /** State of the process that this one replaces. */
  readonly certificatesInUse: readonly WebCertificate[];
  /** Receives everything that runs. */
  readonly state: ProcessState;
  /** Another process takes over: the services end by themselves. */
  readonly retire: AbortSignal;
}

/** Maximum wait for services to end after the signal, ms: the reference's shutdown time would outlive systemd's patience. */
const drainMs = 60_000;

/**
 * Runs control, agent or both until the signal aborts or one of them fails; then the other is stopped too.
 * An agent beside a control waits for it, and joins it with its own token unless the configuration names another proxy.
 */
export async function runServices(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { services, config, log, env, sockets, state, retire, certificatesInUse } = options;
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const control = config.auth_service.enabled || config.proxy_service.enabled;
  const agent = agentServices(config).length > 0;
  const facts = Promise.withResolvers<ControlFacts>();
  // Nobody may be waiting for it when control fails.
  facts.promise.catch(() => {});
  const parts: Promise<void>[] = [];
  const part = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run();
      if (!both.aborted && !retire.aborted) throw new PlatformError("internal", "a service ended unexpectedly");
    } catch (thrown) {
      failed.abort();
      facts.reject(thrown);
      throw thrown;
    }
  };
  if (control) {
    const report = state.reportControl.bind(state);
    const hooks = { certificatesInUse, failedReload: () => state.failedReload, report, ready: facts.resolve };
    const deps = { log: log.with({ component: "control" }), env, sockets, retire, ...hooks };
    parts.push(part(() => services.control(config, deps, both)));
  }
  if (agent) {
    parts.push(
      part(async () => {
        const local = control ? await localControl(config, facts.promise, both) : undefined;
        const deps = {
          log: log.with({ component: "agent" }),
          env,
          sockets,
          retire,
          report: state.reportAgent.bind(state),
          elsewhere: () => state.elsewhere,
          local,
        };
        if (!both.aborted) await services.agent(config, deps, both);
      }),
    );
  }
  void (control ? facts.promise : Promise.resolve()).then(
    () => state.serves(),
    () => {},
  );
  await endOf(parts, both);
}

/** How the agent joins the control of its own process; undefined when it joins elsewhere or is stopped first. */
async function localControl(config: PlatformConfig, facts: Promise<ControlFacts>, signal: AbortSignal): Promise<LocalControl | undefined> {
  const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort").then(() => undefined);
  const ready = await Promise.race([facts, stopped]);
  if (ready === undefined || config.platform.proxy_server !== undefined || ready.webAddress === undefined) return undefined;
  // Without the auth service here a token cannot be made; the configured one is for the agent too.
  const token = config.auth_service.enabled ? await ready.createJoinToken() : config.platform.token;
  return { webAddress: reachable(ready.webAddress), caPins: ready.caPins, token };
}

/** Turns a wildcard listening address into one to connect to. */
function reachable({ host, port }: HostPort): HostPort {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return { host: host === "::" ? "::1" : host, port };
}

/** Waits for all parts; after the signal at most for the drain time. Throws the first fault. */
async function endOf(parts: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  const late = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    const message = `services did not stop within ${drainMs / 1000} s`;
    timer = setTimeout(() => late.reject(new PlatformError("timeout", message)), drainMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener("abort", begin, { once: true });
  try {
    const results = await Promise.race([Promise.allSettled(parts), late.promise]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", begin);
  }
}
