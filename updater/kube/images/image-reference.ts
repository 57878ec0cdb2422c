import { parseVersion } from "../../../core/versions/compare-versions.ts";

/** `[registry/]repository[:tag][@digest]`, as Kubernetes and container runtimes read it. */
export interface ImageReference {
  /** `host[:port]`; `docker.io` where the text names none. */
  readonly registry: string;
  readonly repository: string;
  readonly tag?: string;
  /** `sha256:<hex>` */
  readonly digest?: string;
  /** Everything before the tag, as it was written. */
  readonly name: string;
}

const maxLength = 512;
const digestPattern = /^sha256:[0-9a-f]{64}$/;
const repositoryPattern = /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/;
const registryPattern = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/;

/** Undefined for anything else. Pure; never throws. */
export function parseImage(text: string): ImageReference | undefined {
  if (text.length > maxLength) return undefined;
  const at = text.indexOf("@");
  const digest = at < 0 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !digestPattern.test(digest)) return undefined;
  const tagged = at < 0 ? text : text.slice(0, at);
  const colon = tagged.lastIndexOf(":");
  const hasTag = colon > tagged.lastIndexOf("/");
  const tag = hasTag ? tagged.slice(colon + 1) : undefined;
  if (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag)) return undefined;
  const name = hasTag ? tagged.slice(0, colon) : tagged;
  const place = placeOf(name);
  return place === undefined ? undefined : { ...place, name, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) };
}

/** The first part names a registry if it looks like a host: otherwise the image is one of Docker's. */
function placeOf(name: string): Pick<ImageReference, "registry" | "repository"> | undefined {
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const isHost = /[.:[]/.test(first) || first === "localhost";
  const registry = isHost ? first : "docker.io";
  const rest = isHost ? name.slice(slash + 1) : name;
  const repository = registry === "docker.io" && !rest.includes("/") ? `library/${rest}` : rest;
  return registryPattern.test(registry) && repositoryPattern.test(repository) ? { registry, repository } : undefined;
}

/** The version that an image's tag names, without `v`; undefined for a tag that is not a version, such as `latest`. */
export function versionOfImage(text: string): string | undefined {
  const { tag } = parseImage(text) ?? {};
  // A tag cannot hold `+`, so build metadata is written with `_`.
  return tag === undefined ? undefined : parseVersion(tag.replaceAll("_", "+"))?.text;
}

/**
 * Whether the one image can be the other, rewritten on its way by a webhook: of a mirror, without the tag, or without the digest. What both have is equal,
 * and that is at least one of the two. Pure; never throws.
 */
export function isSameImage(one: string, other: string): boolean {
  const [left, right] = [parseImage(one), parseImage(other)];
  if (one === other || left === undefined || right === undefined) return one === other;
  const both = (["tag", "digest"] as const).filter((part) => left[part] !== undefined && right[part] !== undefined);
  return both.length > 0 && both.every((part) => left[part] === right[part]);
}

/** The tag of a version. */
export function tagOfVersion(version: string): string {
  return version.replaceAll("+", "_");
}
