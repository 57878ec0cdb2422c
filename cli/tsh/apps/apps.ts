import type { Socket } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { usableResources } from "../served/list-served.ts";
import { openLocalPort, portOption } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";

/** `tsh apps ls`. */
export async function listApps(call: Call): Promise<Result> {
  const found = await usableResources(call.io, await chosenProfile(call), "app");
  const apps = found.map(({ name, labels, hosts }) => ({ name, labels, hosts }));
  const rows = apps.map(({ name, labels, hosts }) => [name, String(hosts.length), renderLabels(labels)]);
  return { data: apps, text: renderTable(["Application", "Agents", "Labels"], rows), names: [...new Set(apps.map(({ name }) => name))] };
}

/** `tsh proxy app NAME --port`: each connection to a local port goes to the application, until it is interrupted. */
export async function proxyApp(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const profile = await chosenProfile(call);
  await withTrust(call, profile, (trusting) => requireUsable(call, trusting, name));
  const serve = async (socket: Socket, signal: AbortSignal): Promise<void> => {
    const stream = await withTrust(call, profile, (trusting) => openServed(io, trusting, { kind: "app", name, parameters: {} }));
    await relay(socket, stream, { signal });
  };
  const local = await openLocalPort(io, portOption(options.text("port")), serve);
  io.stdout.write(`Application ${name} is on ${local.address} until this command ends (Ctrl-C).\n`);
  await local.closed;
  return textResult("");
}

async function requireUsable({ io }: Call, profile: Profile, name: string): Promise<void> {
  const { route } = profile.facts;
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  if (route !== undefined) return;
  const apps = await usableResources(io, profile, "app");
  if (apps.some((app) => app.name === name)) return;
  throw new PlatformError("not_found", `there is no application ${JSON.stringify(name)} that you may use`, {
    hint: "`tsh apps ls` lists those that you may use",
  });
}
