import { PlatformError } from "../../core/errors/platform-error.ts";
import { type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Profile, ProfileFacts } from "./profile.ts";
import { currentName, listProfiles, profileName, readFacts, readProfile, tshHome } from "./profile-folder.ts";
import { readingProfiles } from "./profile-lock.ts";

/** The profile of `--identity`, or of that proxy, else the current one. */
export async function chosenProfile(call: Pick<Call, "io" | "options">): Promise<Profile> {
  const identity = call.options.text("identity");
  if (identity !== undefined) {
    const proxy = proxyOption(call);
    if (proxy === undefined) {
      throw new PlatformError("invalid", "an identity file does not name the proxy", {
        hint: "give it with --proxy=<host:port> or TSH_PROXY",
      });
    }
    const { loadIdentityFile } = await import("./identity-file.ts");
    return await loadIdentityFile(identity, proxy);
  }
  return await loadProfile(tshHome(call.io.env), proxyOption(call));
}

/** A proxy as the user named it. */
export interface NamedProxy extends HostPort {
  /** Alternative address, when no port was given. */
  readonly otherPort?: number;
}

/** Ports of a proxy when none is given: the default web port of a proxy, and that of HTTPS. */
const defaultProxyPorts = [3080, 443] as const;

/** The proxy that `--proxy` or TSH_PROXY names. With `https://`, as in a browser's address bar, the port is 443. Throws `invalid`. */
export function proxyOption({ io, options }: Pick<Call, "io" | "options">): NamedProxy | undefined {
  const given = options.text("proxy") ?? (io.env.TSH_PROXY || undefined);
  if (given === undefined) return undefined;
  const [first, second] = defaultProxyPorts;
  const address = /^https:\/\/([^/]*)\/?$/i.exec(given)?.[1];
  if (address !== undefined) return parseHostPort(address, second, "--proxy");
  const isPortGiven = /^(?:\[[^\]]*\]|[^:[\]]*):\d*$/.test(given);
  const proxy = parseHostPort(given, first, "--proxy");
  return isPortGiven ? proxy : { ...proxy, otherPort: second };
}

/** The profile of this proxy, or of another one of its cluster, or the current one. Throws `unauthenticated` when there is none. */
export async function loadProfile(home: string, proxy?: NamedProxy): Promise<Profile> {
  const profile = await readingProfiles(home, async () => await readProfile(home, await findFacts(home, proxy)));
  return proxy === undefined ? profile : { ...profile, facts: dialledAt(profile.facts, proxy) };
}

/** The same without keys and certificates. */
export async function loadFacts(home: string, proxy?: NamedProxy): Promise<ProfileFacts> {
  return await readingProfiles(home, () => findFacts(home, proxy));
}

async function findFacts(home: string, proxy: NamedProxy | undefined): Promise<ProfileFacts> {
  const name = proxy === undefined ? await currentName(home) : profileName(proxy);
  const other = proxy?.otherPort === undefined ? undefined : profileName({ host: proxy.host, port: proxy.otherPort });
  const facts = (name && (await readFacts(home, name))) || (other && (await readFacts(home, other))) || undefined;
  if (facts !== undefined) return facts;
  const shared = proxy === undefined ? undefined : await findShared(home, proxy);
  if (shared !== undefined) return shared;
  const where = proxy === undefined ? "" : ` at ${proxy.host}:${proxy.port}`;
  throw new PlatformError("unauthenticated", `not logged in${where}`, { hint: "log in with: tsh login --proxy=<host:port> --user=<name>" });
}

/** A login at another proxy of the cluster of this proxy. */
async function findShared(home: string, proxy: HostPort): Promise<ProfileFacts | undefined> {
  const wanted = profileName(proxy);
  const profiles = await listProfiles(home);
  return profiles.find(({ facts }) => facts?.others?.some((other) => profileName(other) === wanted))?.facts;
}

/** The requested proxy comes first when the login was at another one. */
function dialledAt(facts: ProfileFacts, proxy: HostPort): ProfileFacts {
  const [asked, own] = [profileName(proxy), profileName(facts.proxy)];
  if (asked === own) return facts;
  const others = [facts.proxy, ...(facts.others ?? [])].filter((other) => profileName(other) !== asked);
  return { ...facts, proxy, others };
}
