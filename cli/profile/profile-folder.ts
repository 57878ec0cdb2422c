import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { CliIo } from "../io.ts";
import { damaged, decodeFacts, encodeFacts, hostPatterns, knownHostsLines, type Profile, type ProfileFacts } from "./profile.ts";
import { certificateFiles, readCertificates } from "./resource-certificates.ts";

/*
 * ~/.tsh (TSH_HOME), 0700:
 *   current              name of the profile in use
 *   <host>_<port>/       one profile, replaced as a whole
 *     profile.json       ProfileFacts
 *     id, id.pub, id-cert.pub, known_hosts     files for a stock ssh
 *     tls.key, tls.crt, ca.pem                 files for TLS to the platform: the certificate of the login
 *     certs/<kind>/<name>.{key,crt}            the same for one resource (resource-certificates)
 * Every file is 0600.
 */
const files = {
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
  return { folder, key: join(folder, files.key), cert: join(folder, files.cert), knownHosts: join(folder, files.knownHosts) };
}

/** Folder of the certificates for one resource each. */
export function certificatesFolder(home: string, proxy: HostPort): string {
  return join(home, profileName(proxy), files.certificates);
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
  const file = join(home, name, files.facts);
  const text = await readSmall(file);
  if (text === undefined) return undefined;
  const facts = decodeFacts(text, file);
  if (profileName(facts.proxy) !== name) throw damaged(file, `it is the profile of another proxy, ${facts.proxy.host}`);
  return facts;
}

/** The profile with these facts. Throws `invalid` for missing and damaged files. */
export async function readProfile(home: string, facts: ProfileFacts): Promise<Profile> {
  const folder = join(home, profileName(facts.proxy));
  const all = [files.key, files.cert, files.tlsKey, files.tlsCert, files.ca].map((file) => needed(join(folder, file)));
  const [sshPrivateKey = "", sshCertificate = "", tlsPrivateKey = "", tlsCertificate = "", ca = ""] = await Promise.all(all);
  const hostCaPem = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
  if (hostCaPem.length === 0) throw damaged(join(folder, files.ca), "it holds no certificate");
  const certificates = await readCertificates(join(folder, files.certificates), needed);
  const secrets = { sshPrivateKey, sshCertificate, tlsPrivateKey, tlsCertificate };
  return { facts, secrets, hostCaPem, ...(certificates.length > 0 && { certificates }) };
}

/** Host authorities of an earlier login at this proxy, when its files are whole. */
export async function knownAuthorities(home: string, proxy: HostPort): Promise<readonly string[] | undefined> {
  const text = await readSmall(join(home, profileName(proxy), files.ca));
  return text?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? undefined;
}

export interface ListedProfile {
  readonly name: string;
  /** Undefined: its files are damaged. */
  readonly facts: ProfileFacts | undefined;
  readonly current: boolean;
}

export async function listProfiles(home: string): Promise<readonly ListedProfile[]> {
  const entries = await readdir(home, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw new PlatformError("invalid", `could not read ${home}: ${cause.message}`, { cause });
  });
  const current = await currentName(home);
  const names = entries.filter((entry) => entry.isDirectory() && /_\d{1,5}$/.test(entry.name)).map((entry) => entry.name);
  const listed = names.sort().map(async (name) => ({ name, current: name === current, facts: await readFacts(home, name).catch(() => undefined) }));
  return await Promise.all(listed);
}

/** Replaces the profile of this proxy as a whole and makes it the current one. */
export async function saveProfile(home: string, profile: Profile, publicLine: string): Promise<void> {
  const { facts, secrets } = profile;
  const name = profileName(facts.proxy);
  const fresh = join(home, `.${name}.${randomBytes(6).toString("hex")}`);
  const old = `${fresh}.old`;
  const contents: readonly (readonly [string, string])[] = [
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
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await chmod(home, 0o700);
    await mkdir(fresh, { mode: 0o700 });
    for (const [file, text] of contents) {
      await mkdir(dirname(join(fresh, file)), { recursive: true, mode: 0o700 });
      await writePrivate(join(fresh, file), text);
    }
    await rename(join(home, name), old).catch(unlessMissing);
    await rename(fresh, join(home, name));
    await rm(old, { recursive: true, force: true });
    await useProfile(home, name);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true }).catch(() => {});
    throw new PlatformError("invalid", `could not write the profile in ${home}: ${(cause as Error).message}`, {
      cause,
      hint: "check its owner and free space, or set TSH_HOME to another folder",
    });
  }
}

/** Replaces the stored authorities by newer ones; keys and certificates stay. */
export async function saveTrust(
  home: string,
  proxy: HostPort,
  trust: { readonly hostCaPem: readonly string[]; readonly hostCaSsh: readonly string[] },
): Promise<void> {
  const folder = join(home, profileName(proxy));
  const stored = await readFacts(home, profileName(proxy));
  if (stored === undefined) throw damaged(join(folder, files.facts), "it is missing");
  const facts = { ...stored, hostCaSsh: trust.hostCaSsh };
  await replacePrivate(join(folder, files.ca), trust.hostCaPem.map(ended).join(""));
  await replacePrivate(join(folder, files.knownHosts), knownHostsText(facts));
  await replacePrivate(join(folder, files.facts), encodeFacts(facts));
}

export async function useProfile(home: string, name: string): Promise<void> {
  await replacePrivate(join(home, "current"), `${name}\n`);
}

/** Deletes a profile with its keys; false when there was none. */
export async function removeProfile(home: string, name: string): Promise<boolean> {
  const exists = (await listProfiles(home)).some((profile) => profile.name === name);
  if (!exists) return false;
  const current = await currentName(home);
  await rm(join(home, name), { recursive: true, force: true });
  if (current === name) await rm(join(home, "current"), { force: true });
  return true;
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

function knownHostsText({ cluster, proxy, hostCaSsh }: ProfileFacts): string {
  return `${knownHostsLines(hostPatterns(cluster, proxy), hostCaSsh, cluster).join("\n")}\n`;
}

function ended(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

/** Replaces a file atomically by one that only its owner may read. */
export async function replacePrivate(file: string, text: string): Promise<void> {
  const fresh = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}`);
  await writePrivate(fresh, text);
  await rename(fresh, file);
}

async function writePrivate(file: string, text: string): Promise<void> {
  await using handle = await open(file, "wx", 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

function unlessMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== "ENOENT") throw cause;
}
