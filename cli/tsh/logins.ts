import { errorText, exitCodes, PlatformError } from "../../core/errors/platform-error.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import { doAll } from "../do-all.ts";
import type { Result } from "../output.ts";
import { loadFacts, type NamedProxy, proxyOption } from "../profile/choose-profile.ts";
import { loginCommand, loginsOf, type ProfileFacts } from "../profile/profile.ts";
import { listProfiles, profileName, type StoredProfile, storedProfiles, tshHome } from "../profile/profile-folder.ts";
import { leftProfiles, removeDamagedCurrent, removeProfile } from "../profile/save-profile.ts";
import { shellQuote } from "../shell-quote.ts";
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

/**
 * `tsh logout`: deletes keys and certificates, of one proxy or of all, with the settings of databases and the contexts of kubectl. It removes all that it can; exit
 * status 1 when something is left, which it names.
 */
export async function logout(call: Call): Promise<Result> {
  const home = tshHome(call.io.env);
  const proxy = proxyOption(call);
  const stored = await storedProfiles(home);
  const all = async (): Promise<readonly string[]> => [...new Set([...stored.map(({ name }) => name), ...(await leftProfiles(home))])];
  const names = proxy === undefined ? await all() : [profileName(await storedProxy(home, proxy))];
  const leaving = stored.filter(({ name }) => names.includes(name));
  const { left: settings, notes } = await forgetSettings(call.io.env, leaving, stored);
  const removed: string[] = [];
  const kept: string[] = [];
  for (const name of names) {
    const isRemoved = await removeProfile(home, name).catch((thrown: unknown) => void kept.push(leftover(shownName(name), thrown)));
    if (isRemoved === true) removed.push(name);
  }
  const current = proxy === undefined ? await removeDamagedCurrent(home).then(() => [], failed("The name of the current profile")) : [];
  const leftovers = [...settings, ...kept, ...current];
  const nobody = kept.length === 0 ? "Nobody was logged in." : "";
  const text = removed.length === 0 ? nobody : `Logged out of ${removed.map(shownName).join(", ")}.`;
  return { data: { removed }, text, notes: [...notes, ...leftovers], ...(leftovers.length > 0 && { status: 1 }) };
}

/** Removes what logins have written into the files of other programs; keys go even when that fails. Returns a sentence for each thing that is left, and what kubectl uses now. */
async function forgetSettings(
  env: Call["io"]["env"],
  leaving: readonly StoredProfile[],
  stored: readonly StoredProfile[],
): Promise<{ readonly left: readonly string[]; readonly notes: readonly string[] }> {
  const { forgetDatabases } = await import("./db/forget-databases.ts");
  const { forgetKubes, otherContexts } = await import("./kube/kube-login.ts");
  const known = leaving.flatMap(({ facts }) => facts ?? []);
  const databases = await forgetDatabases(env, known).then(() => [], failed("The settings of databases for clients are still there"));
  const clusters = [...new Set(known.map(({ cluster }) => cluster))];
  const selections: string[] = [];
  const forgotten = doAll(clusters.map((cluster) => async () => void selections.push(...(await forgetKubes(env, cluster)).notes)));
  const kubes = await forgotten.then(() => [], failed("The contexts of kubectl are still there"));
  const damaged = leaving.filter(({ facts }) => facts === undefined).map(({ name }) => shownName(name));
  const others =
    damaged.length === 0
      ? []
      : await otherContexts(
          env,
          stored.flatMap(({ facts }) => facts?.cluster ?? []),
        );
  const contexts = others.map(
    (context) =>
      `The profile ${damaged.join(", ")} was damaged, and this context of kubectl may be from it: ${context}; if no other login has written it, remove it with: ${shellQuote(["kubectl", "config", "delete-context", context])}`,
  );
  return { left: [...databases, ...kubes, ...contexts], notes: selections.slice(-1) };
}

/** `host:port` of a profile. */
function shownName(name: string): string {
  return name.replace(/_(\d+)$/, ":$1");
}

/** The sentence about something that a logout could not remove. */
function leftover(what: string, thrown: unknown): string {
  const hint = thrown instanceof PlatformError && thrown.hint !== undefined ? `; ${thrown.hint}` : "";
  return `${what}: ${errorText(thrown)}${hint}`;
}

function failed(what: string): (thrown: unknown) => readonly string[] {
  return (thrown) => [leftover(what, thrown)];
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
