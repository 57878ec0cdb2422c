import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import type { CliIo } from "../../io.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { type ListedResource, usableResources } from "../served/list-served.ts";
import { portOption } from "../served/local-port.ts";
import { appPlaces, appType, shownAddress } from "./app-places.ts";
import { openAppTunnel } from "./app-tunnel.ts";
import { hostOption } from "./own-host.ts";

/** `tsh apps ls`. */
export async function listApps(call: Call): Promise<Result> {
  const { io } = call;
  const profile = await chosenProfile(call);
  const [found, places] = await Promise.all([usableResources(io, profile, "app"), appPlaces(io, profile.facts.proxy)]);
  const apps = found.map((app) => {
    const { name, labels, hosts } = app;
    return { name, type: appType(app), public_address: shownAddress(app, places), labels, hosts };
  });
  const rows = apps.map(({ name, type, public_address: address, labels, hosts }) => [
    name,
    type,
    address,
    String(hosts.length),
    renderLabels(labels),
  ]);
  const text = renderTable(["Application", "Type", "Public Address", "Agents", "Labels"], rows);
  return { data: apps, text, names: [...new Set(apps.map(({ name }) => name))] };
}

/** `tsh proxy app NAME --port`: each connection to a local port goes to the application, until it is interrupted. */
export async function proxyApp(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const [port, hosts] = [portOption(options.text("port")), hostOption(options.list("host"))];
  const profile = await chosenProfile(call);
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  const isRouted = profile.facts.route !== undefined;
  const app = isRouted ? undefined : await withTrust(call, profile, (trusting) => usableApp(io, trusting, name));
  const source = await followProfile(call, profile);
  const isHttp = app === undefined ? undefined : appType(app) === "HTTP";
  const local = await openAppTunnel(call, { name, source, port, isHttp, hosts });
  const web = isHttp === true ? "http://" : "";
  io.stdout.write(`Application ${name} is on ${web}${local.address} until this command ends (Ctrl-C).\n`);
  await local.closed;
  return textResult("");
}

/** The application of this name. Throws `not_found`. */
export async function usableApp(io: CliIo, profile: Profile, name: string): Promise<ListedResource> {
  const app = (await usableResources(io, profile, "app")).find((one) => one.name === name);
  if (app !== undefined) return app;
  throw new PlatformError("not_found", `application ${JSON.stringify(name.slice(0, 64))} does not exist, or your roles do not allow it`, {
    hint: "`tsh apps ls` lists those that you may use",
  });
}
