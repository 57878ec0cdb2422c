import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { editPrivateFile, readEdited } from "../../edit-private-file.ts";
import { withFileLock } from "../../file-lock.ts";
import { makePrivateFolder } from "../../make-private-folder.ts";
import type { ProfileFacts } from "../../profile/profile.ts";
import { encodeName } from "../../profile/resource-certificates.ts";

/*
 * ~/.tsh/databases/<cluster>.json: what `tsh db login` chose. It outlives the next `tsh login`, because files of the databases' own clients
 * (client-files) point to the same ports; certificates stand in the profile.
 */

/** A database that a user logged in to. */
export interface DatabaseLogin {
  readonly name: string;
  readonly protocol: string;
  /** Account there. */
  readonly user: string;
  /** Logical database; empty: the client's default. */
  readonly database: string;
  /** Local port that the clients' own files name. */
  readonly port: number;
  /** `host:port` where the proxy serves such clients without tsh; empty: nowhere. */
  readonly direct: string;
  /** A cluster of Redis or Valkey. */
  readonly isCluster?: boolean;
}

type Whose = Pick<ProfileFacts, "cluster" | "user">;

/** Maximum number of logins for a cluster. */
const maxLogins = 1_000;

/** The user's logins to databases of this cluster, by name. Entries of another user, and unreadable ones, do not count. */
export async function databaseLogins(home: string, whose: Whose): Promise<readonly DatabaseLogin[]> {
  return decode(await readEdited(fileOf(home, whose)), whose);
}

/** Replaces the list of the user's logins. Call it with the lock held. Throws `invalid`, `conflict`. */
export async function saveDatabaseLogins(home: string, whose: Whose, logins: readonly DatabaseLogin[]): Promise<void> {
  const path = fileOf(home, whose);
  if (logins.length === 0) return await rm(path, { force: true }).catch(failing(`could not remove ${path}`));
  await makePrivateFolder(join(home, "databases"));
  const sorted = [...logins].sort((one, two) => (one.name < two.name ? -1 : 1)).slice(-maxLogins);
  const text = `${JSON.stringify({ version: 1, user: whose.user, logins: sorted }, undefined, 2)}\n`;
  await editPrivateFile(path, () => Buffer.from(text).toString("latin1"));
}

/** Runs work that changes logins and the files of clients: one tsh at a time. Throws `invalid`, `timeout`, and what `work` throws. */
export async function changingLogins<T>(home: string, work: () => Promise<T>): Promise<T> {
  await makePrivateFolder(home);
  return await withFileLock(join(home, "databases.lock"), work);
}

function failing(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new PlatformError("invalid", `${what}: ${errorText(cause)}`, { cause, hint: "check the folder, its owner and free space" });
  };
}

/** First and number of the ports for clients: below those that systems give to outgoing connections. */
const ports = { first: 20_000, count: 10_000 };

/** The port for a database: always the same one, or the next that no other login has. Pure. */
export function portFor(cluster: string, name: string, taken: readonly number[]): number {
  const start = createHash("sha256").update(`${cluster}/${name}`).digest().readUInt32BE(0) % ports.count;
  for (let step = 0; step < ports.count; step += 1) {
    const port = ports.first + ((start + step) % ports.count);
    if (!taken.includes(port)) return port;
  }
  return 0;
}

function fileOf(home: string, { cluster }: Whose): string {
  return join(home, "databases", `${encodeName(cluster)}.json`);
}

function decode(latin1: string, { user }: Whose): readonly DatabaseLogin[] {
  if (latin1 === "") return [];
  try {
    const value: unknown = JSON.parse(Buffer.from(latin1, "latin1").toString("utf8"));
    const file = fields(value);
    if (file.version !== 1 || file.user !== user || !Array.isArray(file.logins)) return [];
    return file.logins.flatMap((one: unknown) => decodeLogin(fields(one)));
  } catch {
    return [];
  }
}

function decodeLogin({ name, protocol, user, database, port, direct = "", isCluster }: Readonly<Record<string, unknown>>): readonly DatabaseLogin[] {
  if (typeof name !== "string" || typeof protocol !== "string" || typeof user !== "string" || typeof database !== "string") return [];
  if (typeof port !== "number" || !Number.isInteger(port) || port <= 0 || port >= 65_536 || typeof direct !== "string") return [];
  return [{ name, protocol, user, database, port, direct, ...(isCluster === true && { isCluster }) }];
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
