import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { appFacts } from "../../../core/resources/app-details.ts";
import { targetPort } from "../../../core/resources/tcp-ports.ts";
import type { Call } from "../../command.ts";
import { emptyNotes, offered } from "../../empty-list.ts";
import type { CliIo } from "../../io.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { confirmedSource, confirmFirst } from "../served/confirmed-source.ts";
import { type ListedResource, usableResources } from "../served/list-served.ts";
import { portOption } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";
import { appPlaces, appType, shownAddress, shownPorts } from "./app-places.ts";
import { appTarget, openAppTunnel } from "./app-tunnel.ts";
import { hostOption } from "./own-host.ts";

/** `tsh apps ls`. */
export async function listApps(call: Call): Promise<Result> {
  const { io } = call;
  const profile = await chosenProfile(call);
  const [found, places] = await Promise.all([usableResources(io, profile, "app"), appPlaces(io, profile.facts.proxy)]);
  const apps = found.map((app) => {
    const { name, labels, hosts } = app;
    return { name, type: appType(app), public_address: shownAddress(app, places), ports: shownPorts(app), labels, hosts };
  });
  const rows = apps.map(({ name, type, public_address: address, ports, labels, hosts }) => [
    name,
    type,
    address,
    ports,
    String(hosts.length),
    renderLabels(labels),
  ]);
  const text = renderTable(["Application", "Type", "Public Address", "Ports", "Agents", "Labels"], rows);
  const notes = emptyNotes(call, apps, { noun: "application", labels: "app_labels", needs: offered });
  return { data: apps, text, names: [...new Set(apps.map(({ name }) => name))], notes };
}

/** `tsh proxy app NAME --port=LOCAL[:TARGET]`: each connection to a local port goes to the application, until it is interrupted. */
export async function proxyApp(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const [{ port, target }, hosts] = [portsOption(options.text("port")), hostOption(options.list("host"))];
  const profile = await chosenProfile(call);
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  const isRouted = profile.facts.route !== undefined;
  const app = isRouted ? undefined : await withTrust(call, profile, (trusting) => usableApp(io, trusting, name));
  if (app !== undefined) await requireTarget(call, profile, { app, target });
  const source = confirmedSource(io, await followProfile(call, profile), { kind: "app", name });
  await confirmFirst(source, app?.needsCode);
  const isHttp = app === undefined ? undefined : appType(app) === "HTTP";
  const local = await openAppTunnel(call, { name, source, port, target, isHttp, hosts });
  const web = isHttp === true ? "http://" : "";
  const which = target === undefined ? name : `${name}, port ${target},`;
  io.stdout.write(`Application ${which} is on ${web}${local.address} until this command ends (Ctrl-C).\n`);
  await local.closed;
  return textResult("");
}

/** Local and target port of --port: `LOCAL[:TARGET]`. Throws `invalid`. */
function portsOption(text: string | undefined): { readonly port: number; readonly target: number | undefined } {
  const [local, target, ...rest] = text?.split(":") ?? [];
  if (target === undefined) return { port: portOption(text), target };
  if (rest.length === 0 && /^[1-9]\d{0,4}$/.test(target) && Number(target) <= 65_535) return { port: portOption(local), target: Number(target) };
  throw new PlatformError("invalid", `--port ${JSON.stringify(text)} does not name a target port`, {
    hint: "give the local port, a colon, and a port of the application from 1 to 65535: --port=9000:5432",
  });
}

/**
 * Throws what is wrong with the target port at once, not at the first connection. A port that the application does not list is asked for, so that the refusal
 * is the proxy's, and in the audit log.
 */
async function requireTarget(
  call: Call,
  profile: Profile,
  { app, target }: { readonly app: ListedResource; readonly target: number | undefined },
): Promise<void> {
  try {
    targetPort({ name: app.name, tcpPorts: appFacts(app).tcpPorts }, target === undefined ? undefined : String(target));
  } catch (thrown) {
    if (toPlatformError(thrown).code !== "denied") throw thrown;
    const stream = await withTrust(call, profile, (trusting) => openServed(call.io, trusting, appTarget(app.name, target)));
    stream.destroy();
  }
}

/** The application of this name. Throws `not_found`. */
export async function usableApp(io: CliIo, profile: Profile, name: string): Promise<ListedResource> {
  const app = (await usableResources(io, profile, "app")).find((one) => one.name === name);
  if (app !== undefined) return app;
  throw new PlatformError("not_found", `application ${JSON.stringify(name.slice(0, 64))} does not exist, or your roles do not allow it`, {
    hint: "`tsh apps ls` lists those that you may use",
  });
}
