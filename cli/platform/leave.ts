import { readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { loadCredentials } from "../../core/api/credential-store.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { readConfigFile } from "../../core/config/read-config-file.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Call } from "../command.ts";
import type { Answer } from "../doctor/examination.ts";
import { readEnvironmentFile, serviceEnvironment } from "../doctor/service-environment.ts";
import type { Result } from "../output.ts";
import { mainProcess } from "./check-start.ts";
import { defaultConfigFile } from "./choose-config-file.ts";

/**
 * `platform leave`: removes this host from its cluster, and then the identity that it keeps. The identity goes last: an interrupted run is repeated.
 * Throws PlatformError while the service runs, and when the cluster cannot be reached.
 */
export async function leave({ io, options }: Call): Promise<Result> {
  const { config } = await readConfigFile(resolve(options.text("config") ?? defaultConfigFile), hostname());
  const folder = join(config.platform.data_dir, "agent");
  const held = await loadCredentials(join(folder, "credentials.json"));
  if (held === undefined) {
    return { data: { left: null }, text: `This host belongs to no cluster: there is no identity in ${folder}.` };
  }
  await requireStopped(held, io.env.RUNTIME_DIRECTORY?.split(":")[0]);
  const given = options.text("proxy");
  const { proxy_server: proxy, auth_server: auth } = config.platform;
  const address = given === undefined ? (proxy ?? auth) : parseHostPort(given, 3080, "--proxy");
  const environment = serviceEnvironment(io.env, await readEnvironmentFile(resolve(options.text("environmentFile") ?? "/etc/default/platform")));
  const removal = options.flag("localOnly") ? "--local-only" : await removeFromCluster(held, address, environment);
  const kept = await removeIdentity(folder, held);
  const who = `host ${held.hostId} of cluster ${JSON.stringify(held.cluster)}`;
  const lines = [
    ...(removal === undefined ? [`Removed ${who} from the cluster.`] : []),
    `Removed the identity of this host from ${folder}.`,
    ...(kept === undefined
      ? []
      : [`Audit events or recordings that the cluster has not received are kept in ${kept}: remove the folder when nobody needs them.`]),
    "With a token in its configuration the host joins again at its next start: systemctl start platform",
  ];
  const notes =
    removal === undefined
      ? []
      : [`warning: ${who} was not removed from the cluster: ${removal}; where it is still listed, run: tctl nodes rm ${held.hostId}`];
  return {
    data: { left: held.cluster, host_id: held.hostId, removed_from_cluster: removal === undefined, kept: kept ?? null },
    text: lines.join("\n"),
    notes,
  };
}

/** A running process would write its identity again. */
async function requireStopped({ hostId }: HostCredentials, runtimeDirectory = "/run/platform"): Promise<void> {
  const running = await mainProcess(runtimeDirectory);
  if (running?.host_id !== hostId) return;
  throw new PlatformError("conflict", `the service runs with this identity (process ${running.pid})`, {
    hint: "stop it first: systemctl stop platform",
  });
}

/** Why the cluster does not remove it, in a sentence; undefined: it was removed. Throws when another attempt may succeed; the identity is needed for it. */
async function removeFromCluster(held: HostCredentials, address: HostPort | undefined, environment: Answer<Env>): Promise<string | undefined> {
  const { value: env, says, warning } = environment;
  const hint = `run it again once the cluster can be reached; --local-only removes the identity alone, and leaves tctl nodes rm ${held.hostId} to an admin`;
  if (address === undefined)
    throw new PlatformError("invalid", "the configuration names no proxy_server or auth_server", { hint: `name the proxy with --proxy; ${hint}` });
  const credentials = { certificate: held.tlsCertificate, privateKey: held.tlsPrivateKey };
  let isAsked = false;
  const onSent = (): void => {
    isAsked = true;
  };
  try {
    using connection = openAuthClient({ open: () => dialWebPort(address, { env }), ca: held.hostCaPem, credentials, onSent });
    await connection.client.deleteResource({ kind: "node", name: held.hostId });
    return undefined;
  } catch (thrown) {
    const { code, message, hint: cure } = toPlatformError(thrown);
    // An earlier run was interrupted after the removal, or an admin removed the host.
    if (code === "not_found") return undefined;
    const why = `${formatHostPort(address)}: ${message}`;
    // The cluster does not accept this identity any more, as of a host that an admin removed: another attempt would be refused as this one.
    // What refuses on the way there, as an HTTP proxy that wants a password, knows nothing of it.
    if (isAsked && (code === "unauthenticated" || code === "denied")) return why;
    const way = [cure, `HTTP proxy: ${says}`, warning].filter((part) => part !== undefined).join("; ");
    throw new PlatformError(code, why, { cause: thrown, hint: `${way}; ${hint}` });
  }
}

/** Removes the credentials first: without them nothing else is an identity. Returns the folder of data that the cluster has not received yet. */
async function removeIdentity(folder: string, { hostId }: HostCredentials): Promise<string | undefined> {
  try {
    await rm(join(folder, "credentials.json"), { force: true });
    if (!(await holdsFiles(join(folder, "audit"))) && !(await holdsFiles(join(folder, "recordings")))) {
      await rm(folder, { recursive: true, force: true });
      return undefined;
    }
    const kept = `${folder}-left-${hostId.slice(0, 8)}-${Date.now()}`;
    await rename(folder, kept);
    return kept;
  } catch (cause) {
    throw new PlatformError("unavailable", `could not remove ${folder}: ${errorText(cause)}`, {
      hint: "run as the user that owns it, or root",
      cause,
    });
  }
}

async function holdsFiles(folder: string): Promise<boolean> {
  try {
    for (const name of await readdir(folder, { recursive: true })) {
      const found = await stat(join(folder, name));
      if (found.isFile() && found.size > 0) return true;
    }
    return false;
  } catch {
    return false;
  }
}
