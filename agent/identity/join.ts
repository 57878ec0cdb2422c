import { setTimeout as sleep } from "node:timers/promises";
import { type HostCredentials, joinHost } from "../../core/api/host-credentials.ts";
import { type ErrorCode, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { readPodToken } from "../../core/kubernetes/pod-token.ts";
import type { Log } from "../../core/log/log.ts";
import { backOffDelay } from "../../core/transport/back-off.ts";
import type { DialOptions } from "../../core/transport/dial/dial.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import { type AgentConfig, joinAddress } from "../config.ts";
import { dialJoin } from "./dial-join.ts";

/** Codes of temporary failures; any other refusal is final: retrying with the same token or pin changes nothing. */
const passing: readonly ErrorCode[] = ["unavailable", "timeout", "limit", "conflict", "internal"];

export function isPassing(error: PlatformError): boolean {
  return passing.includes(error.code);
}

/** Joins, through the proxy or at the auth service itself; retries until it succeeds, is refused or is aborted. Throws PlatformError. */
export async function joinCluster(config: AgentConfig, deps: { log: Log; dial: DialOptions; services: readonly string[] }): Promise<HostCredentials> {
  const { log, dial: dialOptions } = deps;
  const signal = dialOptions.signal;
  const { token } = config;
  if (!token) throw noTokenError();
  for (let failures = 1; ; failures += 1) {
    try {
      return await joinOnce(config, token, deps);
    } catch (thrown) {
      const error = toPlatformError(thrown);
      if (signal?.aborted || !isPassing(error)) throw refused(error, config);
      const retryMs = backOffDelay(failures, Math.random());
      const cause = error.code === "internal" ? error.cause : undefined;
      log.warn("could not join yet", {
        at: formatHostPort(joinAddress(config)),
        code: error.code,
        error: error.message,
        hint: error.hint,
        cause,
        retryMs,
      });
      await sleep(retryMs, undefined, signal && { signal }).catch(() => {});
      if (signal?.aborted) throw error;
    }
  }
}

async function joinOnce(config: AgentConfig, token: string, deps: { dial: DialOptions; services: readonly string[] }): Promise<HostCredentials> {
  const { way, caPins, nodename, host, joinMethod } = config;
  const address = joinAddress(config);
  const { fetchTrust } = await import("../../core/api/trust.ts");
  // Only a proxy has a web address whose certificate may vouch for it.
  const trust = caPins.length > 0 || way.kind === "direct" ? { pins: caPins } : { ca: await fetchTrust(address, deps.dial) };
  return await joinHost({
    open: () => dialJoin(config, deps.dial),
    trust,
    token,
    ...(joinMethod === "kubernetes" && { idToken: await readPodToken(deps.dial.env) }),
    role: "node",
    hostname: nodename,
    names: host.names,
    labels: host.labels,
    services: deps.services,
    version,
  });
}

function refused(error: PlatformError, config: AgentConfig): PlatformError {
  const where = `${config.way.kind === "proxy" ? "through" : "the auth service at"} ${formatHostPort(joinAddress(config))}`;
  return new PlatformError(error.code, `joining ${where} failed: ${error.message}`, { hint: error.hint, cause: error });
}

export function noTokenError(): PlatformError {
  return new PlatformError("invalid", "this host has not joined a cluster, and its configuration has no join token", {
    hint: "create a token with `tctl tokens add --type=node` and set it as platform.auth_token",
  });
}
