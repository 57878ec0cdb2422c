import { Resolver } from "node:dns/promises";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { DbAddress } from "../../../core/resources/db.ts";
import type { Database } from "../database.ts";
import { maxMembers } from "./hello.ts";

/* Members of a database whose uri is mongodb+srv://name (specifications of MongoDB, initial-dns-seedlist-discovery). */

export type Seeds = Pick<Database, "addresses" | "options">;
/** The part of a resolver that is needed here. */
export type SrvResolver = Pick<Resolver, "resolveSrv" | "resolveTxt" | "cancel">;

/** Maximum time for the answers of DNS, ms. */
const answerMs = 4_000;
/** Age up to which an answer is used without asking again, ms. Health checks ask more often. */
const maxAgeMs = 60_000;
/** Maximum number of names that are remembered. */
const maxNames = 1_000;
/** Options that a TXT record may hold; the uri's own ones outweigh them. */
const txtOptions = new Set(["authsource", "replicaset", "loadbalanced"]);

interface Known {
  readonly seeds: Seeds;
  /** performance.now(). */
  readonly at: number;
}

const known = new Map<string, Known>();
const running = new Map<string, Promise<Seeds>>();

/** Members and options as they are known now, without waiting; before the first answer of DNS, those of the uri. */
export function knownSeeds(database: Database): Seeds {
  return known.get(database.uri)?.seeds ?? database;
}

/** Members and options of at most a minute ago; older ones while DNS gives none. Throws `unavailable`. */
export async function currentSeeds(database: Database): Promise<Seeds> {
  if (database.srv === undefined) return database;
  const last = known.get(database.uri);
  if (last !== undefined && performance.now() - last.at < maxAgeMs) return last.seeds;
  try {
    return await resolveSeeds(database);
  } catch (thrown) {
    if (last === undefined) throw thrown;
    return last.seeds;
  }
}

/** Asks DNS now, once at a time for a uri. Throws `unavailable`. */
export async function resolveSeeds(database: Database, resolver: SrvResolver = new Resolver({ timeout: 1_500, tries: 2 })): Promise<Seeds> {
  const { uri, srv } = database;
  if (srv === undefined) return database;
  const asked = running.get(uri) ?? ask(database, srv, resolver).finally(() => running.delete(uri));
  running.set(uri, asked);
  const seeds = await asked;
  known.delete(uri);
  known.set(uri, { seeds, at: performance.now() });
  for (const oldest of known.keys()) {
    if (known.size <= maxNames) break;
    known.delete(oldest);
  }
  return seeds;
}

async function ask({ name, options }: Database, srv: string, resolver: SrvResolver): Promise<Seeds> {
  const timer = setTimeout(() => resolver.cancel(), answerMs);
  try {
    const [records, texts] = await Promise.all([resolver.resolveSrv(recordsOf(srv)), noneIsFine(resolver.resolveTxt(srv))]);
    return { addresses: addressesOf(records, srv), options: new Map([...optionsOf(texts), ...options]) };
  } catch (cause) {
    const message = `could not find the members of database ${name} by the DNS records of ${srv}: ${errorText(cause)}`;
    throw new PlatformError("unavailable", message, { cause, hint: `check them with: dig SRV ${recordsOf(srv)}` });
  } finally {
    clearTimeout(timer);
  }
}

/** Name of the records that list the members. */
function recordsOf(srv: string): string {
  return ["_mongodb", "_tcp", srv].join(".");
}

async function noneIsFine(asked: Promise<string[][]>): Promise<string[][]> {
  try {
    return await asked;
  } catch (thrown) {
    if (/^(?:ENODATA|ENOTFOUND)$/.test(String((thrown as { code?: unknown }).code))) return [];
    throw thrown;
  }
}

/** Members have to be in the domain of the name: otherwise DNS could send the agent anywhere. */
function addressesOf(records: readonly { readonly name: string; readonly port: number }[], srv: string): Seeds["addresses"] {
  const domain = srv.toLowerCase().replace(/^[^.]*/, "");
  const [first, ...others] = records.slice(0, maxMembers).map(({ name, port }): DbAddress => {
    const host = name.replace(/\.$/, "");
    if (host.toLowerCase().endsWith(domain) && port > 0) return { host, port };
    throw new Error(`${JSON.stringify(host.slice(0, 253))} lies outside the domain ${domain.slice(1)}`);
  });
  if (first === undefined) throw new Error("there are none");
  return [first, ...others];
}

function optionsOf(texts: readonly (readonly string[])[]): readonly (readonly [string, string])[] {
  if (texts.length > 1) throw new Error("there is more than one TXT record");
  const options = [...new URLSearchParams(texts[0]?.join("") ?? "")];
  const strange = options.find(([name]) => !txtOptions.has(name.toLowerCase()));
  if (strange === undefined) return options;
  throw new Error(`the TXT record holds the option ${JSON.stringify(strange[0].slice(0, 100))}, which only a uri may have`);
}
