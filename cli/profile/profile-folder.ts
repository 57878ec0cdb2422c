import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { CliIo } from "../io.ts";
import { damaged, decodeFacts, type Profile, type ProfileFacts } from "./profile.ts";
import { readingProfiles } from "./profile-lock.ts";
import { readCertificates } from "./resource-certificates.ts";

/*
 * ~/.tsh (TSH_HOME), 0700:
 *   current              name of the profile in use
 *   <host>_<port>/       one profile, replaced as a whole
 *     profile.json       ProfileFacts
 *     id, id.pub, id-cert.pub, known_hosts     files for a stock ssh
 *     tls.key, tls.crt, ca.pem                 files for TLS to the platform: the certificate of the login
 *     certs/<kind>/<name>.{key,crt,…}          the same for one resource (resource-certificates)
 *   .<host>_<port>.<hex>[.old]/    a profile that is being written, and the one that it replaces
 *   profiles.lock        held by whatever changes profiles (profile-lock)
 * Every file is 0600.
 */
export const profileFiles = {
  facts: "profile.json",
  key: "id",
  cert: "id-cert.pub",
  knownHosts: "known_hosts",
  tlsKey: "tls.key",
  tlsCert: "tls.crt",
  ca: "ca.pem",
  certificates: "certs",
};
/** Longest file read here, bytes. */
const maxFile = 1_048_576;

export interface ProfilePaths {
  readonly folder: string;
  readonly key: string;
  readonly cert: string;
  readonly knownHosts: string;
}

export function tshHome(env: CliIo["env"]): string {
  const home = env.TSH_HOME ?? "";
  return home !== "" ? home : join(env.HOME || homedir(), ".tsh");
}

export function profileName({ host, port }: HostPort): string {
  return `${host.replaceAll(":", "-")}_${port}`;
}

export function profilePaths(home: string, proxy: HostPort): ProfilePaths {
  const folder = join(home, profileName(proxy));
  return { folder, key: join(folder, profileFiles.key), cert: join(folder, profileFiles.cert), knownHosts: join(folder, profileFiles.knownHosts) };
}

/** Folder of the certificates for one resource each. */
export function certificatesFolder(home: string, proxy: HostPort): string {
  return join(home, profileName(proxy), profileFiles.certificates);
}

/** Undefined: no profile is in use. */
export async function currentName(home: string): Promise<string | undefined> {
  const name = (await readSmall(join(home, "current")))?.trim();
  if (name === undefined) return undefined;
  if (!/^[A-Za-z0-9._%-]+_\d{1,5}$/.test(name)) throw damaged(join(home, "current"), "it names no profile");
  return name;
}

/** Undefined: there is no such profile. Throws `invalid` for damaged facts. */
export async function readFacts(home: string, name: string): Promise<ProfileFacts | undefined> {
  const file = join(home, name, profileFiles.facts);
  const text = await readSmall(file);
  if (text === undefined) return undefined;
  const facts = decodeFacts(text, file);
  if (profileName(facts.proxy) !== name) throw damaged(file, `it is the profile of another proxy, ${facts.proxy.host}`);
  return facts;
}

/** The profile with these facts, as `readFacts` returned them. Throws `invalid` for missing and damaged files, `conflict` when a login replaced it meanwhile. */
export async function readProfile(home: string, facts: ProfileFacts): Promise<Profile> {
  const name = profileName(facts.proxy);
  const folder = join(home, name);
  const before = await idOf(folder);
  const all = [profileFiles.key, profileFiles.cert, profileFiles.tlsKey, profileFiles.tlsCert, profileFiles.ca].map((file) =>
    needed(join(folder, file)),
  );
  const [sshPrivateKey = "", sshCertificate = "", tlsPrivateKey = "", tlsCertificate = "", ca = ""] = await Promise.all(all);
  const hostCaPem = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
  if (hostCaPem.length === 0) throw damaged(join(folder, profileFiles.ca), "it holds no certificate");
  const certificates = await readCertificates(join(folder, profileFiles.certificates), needed);
  if ((await idOf(folder)) !== before || !isDeepStrictEqual(await readFacts(home, name), facts)) {
    throw new PlatformError("conflict", `${folder} was replaced while it was being read`, { hint: "try again" });
  }
  const secrets = { sshPrivateKey, sshCertificate, tlsPrivateKey, tlsCertificate };
  return { facts, secrets, hostCaPem, ...(certificates.length > 0 && { certificates }) };
}

/** Number of a folder; a folder that replaces it has another. */
async function idOf(folder: string): Promise<number | undefined> {
  return await stat(folder).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

/** Host authorities of an earlier login at this proxy, when its files are whole. */
export async function knownAuthorities(home: string, proxy: HostPort): Promise<readonly string[] | undefined> {
  const file = join(home, profileName(proxy), profileFiles.ca);
  const text = await readingProfiles(home, () => needed(file)).catch(() => undefined);
  return text?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? undefined;
}

export interface StoredProfile {
  readonly name: string;
  /** Undefined: its files are damaged. */
  readonly facts: ProfileFacts | undefined;
}

export interface ListedProfile extends StoredProfile {
  readonly current: boolean;
}

/** Throws `invalid` for a damaged name of the current profile. */
export async function listProfiles(home: string): Promise<readonly ListedProfile[]> {
  const stored = await storedProfiles(home);
  const current = await currentName(home);
  return stored.map((profile) => ({ ...profile, current: profile.name === current }));
}

/** The profiles, whichever is the current one. */
export async function storedProfiles(home: string): Promise<readonly StoredProfile[]> {
  const names = await readingProfiles(home, () => listedNames(home));
  const readWhole = async (name: string): Promise<ProfileFacts> => {
    const facts = await readFacts(home, name);
    if (facts === undefined) throw damaged(join(home, name, profileFiles.facts), "it is missing");
    return facts;
  };
  const stored = names.map(async (name) => ({ name, facts: await readingProfiles(home, () => readWhole(name)).catch(() => undefined) }));
  return await Promise.all(stored);
}

async function listedNames(home: string): Promise<readonly string[]> {
  const entries = await readdir(home, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw new PlatformError("invalid", `could not read ${home}: ${cause.message}`, { cause });
  });
  return entries
    .filter((entry) => entry.isDirectory() && /^[^.].*_\d{1,5}$/.test(entry.name))
    .map((entry) => entry.name)
    .sort();
}

async function needed(file: string): Promise<string> {
  const text = await readSmall(file);
  if (text === undefined || text === "") throw damaged(file, text === "" ? "it is empty" : "it is missing");
  return text;
}

async function readSmall(file: string): Promise<string | undefined> {
  try {
    const text = await readFile(file, "utf8");
    if (text.length > maxFile) throw damaged(file, "it is too long");
    return text;
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === "ENOENT" || (cause as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw new PlatformError("invalid", `could not read ${file}: ${(cause as Error).message}`, { cause, hint: "check the owner of the folder" });
  }
}
