import { PlatformError } from "../../../core/errors/platform-error.ts";
import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { directKinds } from "../../../core/kinds/service-kinds.ts";
import { type DirectHost, directHostSchema, maxDirectAddresses } from "../../../core/resources/directory-host.ts";
import { formatHostPort, parseHostPort } from "../../../core/transport/host-port.ts";
import type { Storage, Write } from "../../storage/storage.ts";

export const directHostPrefix = "/direct_host/";
/** Lower-case names and ids to ids: a target is found without reading all hosts. */
const namesPrefix = "/direct_name/";
/** Maximum number of hosts returned for one name; more are just as ambiguous. */
const maxFound = 100;

export interface AddressAsk {
  readonly addresses: readonly string[];
  /** Addresses that it may share with other hosts. */
  readonly shared: readonly string[];
}

/**
 * Checks the addresses that an agent announces for proxies, in canonical form. A shared address must be under a name that the host's
 * certificate has, so that a host serves only names that it was given. Throws `invalid` or `denied`. Pure.
 */
export function checkAddresses({ addresses, shared }: AddressAsk, { names }: Pick<HostIdentity, "names">): Pick<DirectHost, "addresses" | "shared"> {
  requireCount(addresses);
  const own = new Set(names.map((name) => name.toLowerCase()));
  const all = [...new Set(addresses.map(canonical))];
  const open = [...new Set(shared.map(canonical))];
  for (const address of open) {
    if (!all.includes(address)) throw new PlatformError("invalid", `${address} is a public address, but not one of the addresses`);
    const { host } = parseHostPort(address, undefined, "address");
    if (own.has(host)) continue;
    throw new PlatformError("denied", `${host} is not a name in this host's certificate, so the host is not announced there`, {
      hint: "the agent renews its certificate when public_addr changes; see the agent's log",
    });
  }
  return { addresses: all, shared: open };
}

/** Checks the addresses of services with a port of their own, in canonical form, by kind. Throws `invalid`. Pure. */
export function checkServiceAddresses(services: readonly { readonly kind: string; readonly addresses: readonly string[] }[]): DirectHost["services"] {
  if (services.length === 0) return undefined;
  const found = new Map<string, readonly string[]>();
  for (const { kind, addresses } of services) {
    if (!directKinds.some((one) => one === kind) || found.has(kind)) {
      throw new PlatformError(
        "invalid",
        `addresses for ${JSON.stringify(kind.slice(0, 64))}: one list for each of ${directKinds.join(", ")} at most`,
      );
    }
    requireCount(addresses);
    found.set(kind, [...new Set(addresses.map(canonical))]);
  }
  return Object.fromEntries([...found].map(([kind, addresses]) => [kind, [...addresses]]));
}

function requireCount({ length }: readonly string[]): void {
  if (length > 0 && length <= maxDirectAddresses) return;
  throw new PlatformError("invalid", `an agent that proxies dial has 1 to ${maxDirectAddresses} addresses, not ${length}`);
}

function canonical(text: string): string {
  const { host, port } = parseHostPort(text.slice(0, 300), undefined, "address");
  if (port === 0) throw new PlatformError("invalid", `${text}: a port is required, not 0`);
  return formatHostPort({ host: host.toLowerCase(), port });
}

/** Stores the host's addresses; nothing is written when they are unchanged. */
export async function keepDirectHost(storage: Storage, host: DirectHost): Promise<void> {
  const entry = await storage.get(`${directHostPrefix}${host.id}`);
  const value = JSON.stringify(host);
  if (entry?.value === value) return;
  const before = entry === undefined ? [] : nameKeys(read(entry.value));
  const after = nameKeys(host);
  const gone = before.filter((key) => !after.includes(key));
  const writes: Write[] = [...gone.map((key) => ({ key })), ...after.map((key) => ({ key, value: JSON.stringify(host.id) }))];
  await storage.batch([...writes, { key: `${directHostPrefix}${host.id}`, value }]);
}

/** Keys to delete when the host is removed, or uses a tunnel from now on. */
export async function directHostDeletes(storage: Storage, id: string): Promise<readonly Write[]> {
  const entry = await storage.get(`${directHostPrefix}${id}`);
  return entry === undefined ? [] : [...nameKeys(read(entry.value)).map((key) => ({ key })), { key: `${directHostPrefix}${id}` }];
}

/** All hosts that proxies dial and that the target may mean: an id, a name, or either followed by `.cluster`. */
export async function findDirectHosts(storage: Storage, target: string, cluster: string): Promise<readonly DirectHost[]> {
  const found = new Map<string, DirectHost>();
  for (const name of namesMeant(target.slice(0, 600), cluster)) {
    const entries = await storage.list(nameKey(name, ""), { limit: maxFound });
    const ids = entries.map(({ key }) => key.slice(key.lastIndexOf("/") + 1));
    for (const entry of await Promise.all(ids.map((id) => storage.get(`${directHostPrefix}${id}`)))) {
      const host = entry === undefined ? undefined : read(entry.value);
      if (host !== undefined && nameKeys(host).includes(nameKey(name, host.id))) found.set(host.id, host);
    }
  }
  return [...found.values()];
}

/** Names in its certificate; none when proxies do not dial it. */
export async function namesOfDirectHost(storage: Storage, id: string): Promise<readonly string[]> {
  const entry = await storage.get(`${directHostPrefix}${id}`);
  return entry === undefined ? [] : read(entry.value).names;
}

function read(value: string): DirectHost {
  return directHostSchema.parse(JSON.parse(value));
}

function nameKeys({ id, hostname, names }: DirectHost): string[] {
  return [...new Set([id, hostname, ...names].map((name) => nameKey(canonicalName(name), id)))];
}

function nameKey(name: string, id: string): string {
  return `${namesPrefix}${encodeURIComponent(name)}/${id}`;
}
