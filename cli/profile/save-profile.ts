import { renameSync } from "node:fs";
import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { type CaughtEnding, catchEndings } from "../catch-endings.ts";
import { doAll } from "../do-all.ts";
import { besideOf, movedAside, replacePrivate, writePrivate } from "./private-file.ts";
import { damaged, encodeFacts, hostPatterns, knownHostsLines, type Profile, type ProfileFacts } from "./profile.ts";
import { currentName, profileFiles as files, profileName, readFacts } from "./profile-folder.ts";
import { changingProfiles, removingFromProfiles } from "./profile-lock.ts";
import { certificateFiles } from "./resource-certificates.ts";

/**
 * Replaces the profile of this proxy as a whole and makes it the current one, or leaves everything as it was; a request to end leaves no keys behind. Throws
 * `invalid`, `timeout`.
 */
export async function saveProfile(home: string, profile: Profile, publicLine: string): Promise<void> {
  using caught = catchEndings();
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await chmod(home, 0o700);
    await changingProfiles(home, () => replaceProfile(home, { profile, publicLine }, caught));
  } catch (cause) {
    caught.end();
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("invalid", `could not write the profile in ${home}: ${errorText(cause)}`, {
      cause,
      hint: "nothing was changed; check its owner and free space, or set TSH_HOME to another folder",
    });
  }
}

interface NewProfile {
  readonly profile: Profile;
  readonly publicLine: string;
}

/** Everything is written before the first name is taken. */
async function replaceProfile(home: string, made: NewProfile, { signal }: CaughtEnding): Promise<void> {
  const name = profileName(made.profile.facts.proxy);
  const [folder, current] = [join(home, name), join(home, "current")];
  const [freshFolder, freshCurrent] = [besideOf(folder), besideOf(current)];
  const old = `${freshFolder}.old`;
  try {
    signal.throwIfAborted();
    await sweepProfiles(home, [name]);
    for (const [file, text] of contentsOf(made)) {
      await mkdir(dirname(join(freshFolder, file)), { recursive: true, mode: 0o700 });
      await writePrivate(join(freshFolder, file), text);
      signal.throwIfAborted();
    }
    await writePrivate(freshCurrent, `${name}\n`);
    signal.throwIfAborted();
    takeNames({ folder, freshFolder, old, current, freshCurrent });
  } catch (thrown) {
    await rm(freshFolder, { recursive: true, force: true }).catch(() => {});
    await rm(freshCurrent, { force: true }).catch(() => {});
    throw thrown;
  }
  await rm(old, { recursive: true, force: true }).catch((cause: unknown) => {
    throw new PlatformError("invalid", `you are logged in, but could not remove the keys of the login before in ${old}: ${errorText(cause)}`, {
      cause,
      hint: "remove that folder",
    });
  });
}

function contentsOf({ profile, publicLine }: NewProfile): readonly (readonly [file: string, text: string])[] {
  const { facts, secrets } = profile;
  return [
    [files.key, ended(secrets.sshPrivateKey)],
    [`${files.key}.pub`, ended(publicLine)],
    [files.cert, ended(secrets.sshCertificate)],
    [files.knownHosts, knownHostsText(facts)],
    [files.tlsKey, ended(secrets.tlsPrivateKey)],
    [files.tlsCert, ended(secrets.tlsCertificate)],
    [files.ca, profile.hostCaPem.map(ended).join("")],
    [files.facts, encodeFacts(facts)],
    ...certificateFiles(profile.certificates ?? []).map(([path, text]) => [join(files.certificates, path), ended(text)] as const),
  ];
}

interface Names {
  readonly folder: string;
  readonly freshFolder: string;
  /** Name for the profile before. */
  readonly old: string;
  readonly current: string;
  readonly freshCurrent: string;
}

/** In one piece, without a pause in which a signal or a reader would come between; all of it or nothing. */
function takeNames({ folder, freshFolder, old, current, freshCurrent }: Names): void {
  const hadOne = movedAside(folder, old);
  let isPlaced = false;
  try {
    renameSync(freshFolder, folder);
    isPlaced = true;
    renameSync(freshCurrent, current);
  } catch (thrown) {
    if (isPlaced) renameSync(folder, freshFolder);
    if (hadOne) renameSync(old, folder);
    throw thrown;
  }
}

/** Replaces the stored authorities by newer ones; keys and certificates stay. */
export async function saveTrust(
  home: string,
  proxy: HostPort,
  trust: { readonly hostCaPem: readonly string[]; readonly hostCaSsh: readonly string[] },
): Promise<void> {
  const folder = join(home, profileName(proxy));
  await changingProfiles(home, async () => {
    const stored = await readFacts(home, profileName(proxy));
    if (stored === undefined) throw damaged(join(folder, files.facts), "it is missing");
    const facts = { ...stored, hostCaSsh: trust.hostCaSsh };
    await replacePrivate(join(folder, files.ca), trust.hostCaPem.map(ended).join(""));
    await replacePrivate(join(folder, files.knownHosts), knownHostsText(facts));
    await replacePrivate(join(folder, files.facts), encodeFacts(facts));
  });
}

export async function useProfile(home: string, name: string): Promise<void> {
  await replacePrivate(join(home, "current"), `${name}\n`);
}

/** Deletes a profile with its keys, and what an interrupted login left of it; false when there was nothing. Throws `invalid`. */
export async function removeProfile(home: string, name: string): Promise<boolean> {
  if (!(await namesIn(home)).some((entry) => entry === name || leftName(entry) === name)) return false;
  return await removingFromProfiles(home, async () => {
    const removeOwn = async (): Promise<void> => {
      const current = await currentName(home).catch(() => name);
      await remove(join(home, name));
      if (current === name) await remove(join(home, "current"));
    };
    await doAll([() => sweepProfiles(home, [name]), removeOwn]);
    return true;
  });
}

/** Deletes the name of the current profile if it is damaged. Throws `invalid`. */
export async function removeDamagedCurrent(home: string): Promise<void> {
  const isDamaged = async (): Promise<boolean> =>
    await currentName(home).then(
      () => false,
      () => true,
    );
  if (!(await isDamaged())) return;
  await removingFromProfiles(home, async () => {
    if (await isDamaged()) await remove(join(home, "current"));
  });
}

/** Names of the profiles of which an interrupted login left keys. */
export async function leftProfiles(home: string): Promise<readonly string[]> {
  return [...new Set((await namesIn(home)).flatMap((entry) => leftName(entry) ?? []))];
}

/** Removes what interrupted logins left of these profiles. Call it with the lock held. */
async function sweepProfiles(home: string, names: readonly string[]): Promise<void> {
  const left = (await namesIn(home)).filter((entry) => names.includes(leftName(entry) ?? ""));
  await doAll(left.map((entry) => () => remove(join(home, entry))));
}

/** The profile that a folder was left of; undefined: it is another one. */
function leftName(entry: string): string | undefined {
  return /^\.(.+_\d{1,5})\.[0-9a-f]{12}(?:\.old)?$/.exec(entry)?.[1];
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch((cause: unknown) => {
    throw new PlatformError("invalid", `could not remove ${path}: ${errorText(cause)}`, {
      cause,
      hint: "remove it yourself: keys in it may still be valid",
    });
  });
}

async function namesIn(home: string): Promise<readonly string[]> {
  return await readdir(home).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw new PlatformError("invalid", `could not read ${home}: ${cause.message}`, { cause, hint: "check the owner of the folder" });
  });
}

function knownHostsText({ cluster, proxy, hostCaSsh }: ProfileFacts): string {
  return `${knownHostsLines(hostPatterns(cluster, proxy), hostCaSsh, cluster).join("\n")}\n`;
}

function ended(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
