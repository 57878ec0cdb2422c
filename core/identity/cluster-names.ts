import { isIP, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";

/** Domain of the names by which programs know the services of a cluster. */
const internal = "platform.internal";

/** The canonical spelling of a name or an address: lower case, `xn--` in place of other letters, no dot at the end. */
export function canonicalName(name: string): string {
  const plain = name.endsWith(".") ? name.slice(0, -1) : name;
  if (isIPv6(plain) && !plain.includes("%")) return new URL(`http://[${plain}]`).hostname.slice(1, -1);
  // Only for names that are not ASCII: the same function treats 12345 as an address.
  const ascii = /^[\x20-\x7e]*$/.test(plain) ? plain : domainToASCII(plain) || plain;
  return ascii.toLowerCase();
}

/** The names that a target may mean: as given, and without the cluster's name at the end. In canonical spelling. */
export function namesMeant(target: string, cluster: string): readonly string[] {
  const wanted = canonicalName(target);
  return [...new Set([wanted, withoutCluster(wanted, canonicalName(cluster))])].filter((name) => name !== "");
}

/** `web-1.example.com` of the cluster `example.com` is the host `web-1`; any other name is unchanged. */
export function withoutCluster(name: string, cluster: string | undefined): string {
  const suffix = `.${cluster ?? ""}`;
  return cluster !== undefined && name.length > suffix.length && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

/** The name without any trailing cluster names: hosts whose names have the same base answer to the same targets. */
export function baseName(name: string, cluster: string): string {
  let base = canonicalName(name);
  for (let shorter = base; ; base = shorter) {
    shorter = withoutCluster(canonicalName(base), canonicalName(cluster));
    if (shorter === base) return base;
  }
}

/**
 * Every name in a host's certificates. Stock OpenSSH reaches each name with the cluster's appended (`tsh config`), except
 * addresses, localhost, and names that already end in the cluster's. Names of the services are never among them.
 */
export function certificateNames({ id, names, cluster }: CertifiedNames): readonly string[] {
  const ids = id === undefined ? [] : [id];
  const reached = [...ids, ...names].filter((name) => name !== "" && name !== "localhost" && isIP(name) === 0 && !isBelow(name, cluster));
  const all = [...ids, ...names, ...reached.map((name) => `${name}.${cluster}`)];
  return [...new Set(all)].filter((name) => !isServiceName(name));
}

export interface CertifiedNames {
  readonly id?: string;
  /** The host name first. */
  readonly names: readonly string[];
  readonly cluster: string;
}

/** Whether programs accept a certificate with this name as a service of the cluster. */
export function isServiceName(name: string): boolean {
  const plain = canonicalName(name);
  return plain === internal || plain.endsWith(`.${internal}`);
}

/** Whether hosts of a cluster of this name would get names of services: `auth.platform` of the cluster `internal`. */
export function isServiceCluster(cluster: string): boolean {
  return canonicalName(cluster) === "internal" || isServiceName(cluster);
}

function isBelow(name: string, cluster: string): boolean {
  return canonicalName(name).endsWith(`.${canonicalName(cluster)}`);
}
