import { join } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { isEndedBefore } from "../../../core/transport/upgrade/dial-web-port.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile, loadFacts, proxyOption } from "../../profile/choose-profile.ts";
import { certificatesFolder, profilePaths, tshHome } from "../../profile/profile-folder.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { certificatePaths } from "../../profile/resource-certificates.ts";
import { dropCertificates, storeCertificate } from "../../profile/store-certificate.ts";
import { shellQuote } from "../../shell-quote.ts";
import { renderFacts } from "../../table.ts";
import type { ListedResource } from "../served/list-served.ts";
import { ownCertificate } from "../served/own-certificate.ts";
import { appPlaces, appType, proxyCommand, shownAddress } from "./app-places.ts";
import { usableApp } from "./apps.ts";

/** `tsh apps login NAME`: a certificate for this application only, for clients without tsh. */
export async function loginApp(call: Call): Promise<Result> {
  const { io } = call;
  const [name = ""] = call.args;
  refuseIdentity(call);
  const profile = await chosenProfile(call);
  const app = await withTrust(call, profile, (trusting) => usableApp(io, trusting, name));
  const { proxy } = await loadFacts(tshHome(io.env), proxyOption(call));
  await storeCertificate(tshHome(io.env), proxy, await ownCertificate(io, profile, { kind: "app", name }));
  const settings = await clientSettings(call, app);
  const use =
    settings.curl === "" ? `Reach it with: ${shellQuote(proxyCommand(app))}` : `Reach it with this certificate, for example:\n\n  ${settings.curl}`;
  return { data: settings, text: `Logged in to application ${name}.\n${use}` };
}

/** `tsh apps logout [NAME]`: deletes the certificate for an application, or for all. */
export async function logoutApp(call: Call): Promise<Result> {
  const { io } = call;
  const [name] = call.args;
  refuseIdentity(call);
  const profile = await chosenProfile(call);
  const held = (profile.certificates ?? []).filter(({ kind }) => kind === "app").map((one) => one.name);
  if (name !== undefined && !held.includes(name)) throw notLoggedIn(name);
  const removed = name === undefined ? held : [name];
  const { proxy } = await loadFacts(tshHome(io.env), proxyOption(call));
  await dropCertificates(tshHome(io.env), proxy, name === undefined ? { kind: "app" } : { kind: "app", names: [name] });
  if (name !== undefined) return { ...textResult(`Logged out of application ${name}.`), data: { removed } };
  const text = removed.length === 0 ? "You were not logged in to any application." : `Logged out of all applications: ${removed.join(", ")}.`;
  return { data: { removed }, text };
}

/** `tsh apps config [NAME]`: address and files of an application after a login to it. */
export async function showAppConfig(call: Call): Promise<Result> {
  refuseIdentity(call);
  const profile = await chosenProfile(call);
  const held = (profile.certificates ?? []).filter(({ kind }) => kind === "app").map((one) => one.name);
  const name = call.args[0] ?? onlyOne(held);
  if (!held.includes(name)) throw notLoggedIn(name);
  const app = await withTrust(call, profile, (trusting) => usableApp(call.io, trusting, name));
  const settings = await clientSettings(call, app);
  const { uri, ca, cert, key, curl } = settings;
  const rows = [
    ["Name", name],
    ["Type", settings.type],
    ["Public Address", uri === "" ? "none" : uri],
    ["CA", ca],
    ["Cert", cert],
    ["Key", key],
    ...(curl === "" ? [] : [["Command", curl] as const]),
  ] as const;
  return { data: settings, text: renderFacts(rows), parts: { uri, ca, cert, key, curl } };
}

interface ClientSettings {
  readonly name: string;
  readonly type: "HTTP" | "TCP";
  /** Empty: the application has no address at the proxy. */
  readonly uri: string;
  /** Paths. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** A command; empty for what curl cannot reach. */
  readonly curl: string;
}

async function clientSettings(call: Call, app: ListedResource): Promise<ClientSettings> {
  const { io } = call;
  const home = tshHome(io.env);
  const { proxy } = await loadFacts(home, proxyOption(call));
  const places = await appPlaces(io, proxy);
  const paths = certificatePaths({ kind: "app", name: app.name });
  const [key, cert] = [join(certificatesFolder(home, proxy), paths.key), join(certificatesFolder(home, proxy), paths.certificate)];
  const ca = join(profilePaths(home, proxy).folder, "ca.pem");
  const [type, uri] = [appType(app), shownAddress(app, places)];
  const trust = places.isTrusted ? [] : ["--cacert", ca];
  const curl = type === "TCP" || uri === "" || isEndedBefore(proxy) ? "" : shellQuote(["curl", ...trust, "--cert", cert, "--key", key, `${uri}/`]);
  return { name: app.name, type, uri, ca, cert, key, curl };
}

function onlyOne(held: readonly string[]): string {
  const [name, ...others] = held;
  if (name !== undefined && others.length === 0) return name;
  throw new PlatformError("invalid", "no application was named", {
    hint: held.length === 0 ? "log in to one with: tsh apps login <name>" : `you are logged in to: ${held.join(", ")}`,
  });
}

function notLoggedIn(name: string): PlatformError {
  return new PlatformError("not_found", `you are not logged in to an application ${JSON.stringify(name.slice(0, 64))}`, {
    hint: "log in with: tsh apps login <name>; `tsh apps ls` lists the applications",
  });
}

function refuseIdentity({ options }: Call): void {
  if (options.text("identity") === undefined) return;
  throw new PlatformError("unsupported", "an identity file has no place for logins to applications", {
    hint: "make one for the application alone with: tctl auth sign --only=app/<name>; or use tsh proxy app with this one",
  });
}
