import { errorText, exitCodes, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { loadFacts, type NamedProxy, proxyOption } from "../profile/choose-profile.ts";
import { loginCommand, loginsOf, type ProfileFacts } from "../profile/profile.ts";
import { listProfiles, profileName, tshHome } from "../profile/profile-folder.ts";
import { leftProfiles, removeProfile } from "../profile/save-profile.ts";
import { renderFacts } from "../table.ts";

/** `tsh status`: shows the logins and their expiry. Exit status 3 when the current login is missing or expired. */
export async function status({ io }: Call): Promise<Result> {
  const now = new Date();
  const listed = await listProfiles(tshHome(io.env));
  const current = listed.find((profile) => profile.current);
  const others = listed.filter((profile) => !profile.current);
  const active = current?.facts === undefined ? undefined : describeProfile(current.facts, now);
  const profiles = others.flatMap(({ facts }) => (facts === undefined ? [] : [describeProfile(facts, now)]));
  const notes = listed
    .filter((profile) => profile.facts === undefined)
    .map((profile) => `the profile ${profile.name} is damaged: remove it with tsh logout, and log in again`);
  const data = { active: active?.data ?? null, profiles: profiles.map((profile) => profile.data) };
  const text = [active?.text, ...profiles.map((profile) => profile.text.replace("> ", "  "))].filter((part) => part !== undefined).join("\n\n");
  if (current?.facts === undefined) {
    return {
      data,
      text,
      notes: [...notes, "Not logged in. Log in with: tsh login --proxy=<host:port> --user=<name>"],
      status: exitCodes.unauthenticated,
    };
  }
  if (now < current.facts.validUntil) return { data, text, notes };
  return { data, text, notes: [...notes, `The login expired. Log in again with: ${loginCommand(current.facts)}`], status: exitCodes.unauthenticated };
}

/** `tsh logout`: deletes keys and certificates, of one proxy or of all. */
export async function logout(call: Call): Promise<Result> {
  const home = tshHome(call.io.env);
  const proxy = proxyOption(call);
  const listed = await listProfiles(home);
  const all = async (): Promise<readonly string[]> => [...new Set([...listed.map(({ name }) => name), ...(await leftProfiles(home))])];
  const names = proxy === undefined ? await all() : [profileName(await storedProxy(home, proxy))];
  const { forgetDatabases } = await import("./db/forget-databases.ts");
  const left = listed.flatMap(({ name, facts }) => (facts !== undefined && names.includes(name) ? [facts] : []));
  const { forgetKubes } = await import("./kube/kube-login.ts");
  const databases = await forgetDatabases(call.io.env, left).then(() => [], unforgotten("The settings of databases for clients"));
  const clusters = [...new Set(left.map(({ cluster }) => cluster))];
  const contexts = Promise.all(clusters.map(async (cluster) => await forgetKubes(call.io.env, cluster)));
  const kubes = await contexts.then(() => [], unforgotten("The contexts of kubectl"));
  const removed: string[] = [];
  const kept: Leftover[] = [];
  for (const name of names) {
    const isRemoved = await removeProfile(home, name).catch((thrown: unknown) => void kept.push(leftover(shownName(name), thrown)));
    if (isRemoved === true) removed.push(name);
  }
  const leftovers = [...databases, ...kubes, ...kept];
  const nobody = kept.length === 0 ? "Nobody was logged in." : "";
  const text = removed.length === 0 ? nobody : `Logged out of ${removed.map(shownName).join(", ")}.`;
  const status = Math.max(0, ...leftovers.map((one) => one.status));
  return { data: { removed }, text, notes: leftovers.map(({ note }) => note), ...(status > 0 && { status }) };
}

/** `host:port` of a profile. */
function shownName(name: string): string {
  return name.replace(/_(\d+)$/, ":$1");
}

/** Something that a logout could not remove. */
interface Leftover {
  readonly note: string;
  /** Exit status for it. */
  readonly status: number;
}

function leftover(what: string, thrown: unknown): Leftover {
  const { code } = toPlatformError(thrown);
  const hint = thrown instanceof PlatformError && thrown.hint !== undefined ? `; ${thrown.hint}` : "";
  return { note: `${what}: ${errorText(thrown)}${hint}`, status: exitCodes[code] };
}

/** Keys go even when a file of settings cannot be changed. */
function unforgotten(what: string): (thrown: unknown) => readonly Leftover[] {
  return (thrown) => [leftover(`${what} are still there`, thrown)];
}

/** Without a port, the port of the existing profile. A damaged profile is found by the typed name. */
async function storedProxy(home: string, proxy: NamedProxy): Promise<HostPort> {
  const facts = await loadFacts(home, proxy).catch(() => undefined);
  return facts?.proxy ?? proxy;
}

interface DescribedProfile {
  /** Labels of the reference's `tsh status`. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** A login, as `tsh status` and `tsh login` print it. */
export function describeProfile(facts: ProfileFacts, now: Date): DescribedProfile {
  const left = Math.floor((facts.validUntil.getTime() - now.getTime()) / 1000);
  const valid = left > 0 ? `valid for ${formatDuration(left)}` : "EXPIRED";
  const profileUrl = `https://${formatHostPort(facts.proxy)}`;
  const text = renderFacts([
    ["> Profile URL", profileUrl],
    ["  Logged in as", facts.user],
    ["  Cluster", facts.cluster],
    ["  Roles", facts.roles.join(", ")],
    ["  Logins", loginsOf(facts).join(", ") || "(none)"],
    ["  Valid until", `${facts.validUntil.toISOString()} [${valid}]`],
  ]);
  const data = {
    profile_url: profileUrl,
    username: facts.user,
    cluster: facts.cluster,
    roles: facts.roles,
    traits: facts.traits,
    logins: loginsOf(facts),
    // Each proxy serves clients of Kubernetes at its web port.
    kubernetes_enabled: true,
    valid_until: facts.validUntil.toISOString(),
    expired: left <= 0,
  };
  return { data, text };
}
