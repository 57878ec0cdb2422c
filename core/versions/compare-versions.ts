import compare from "semver/functions/compare.js";
import parse from "semver/functions/parse.js";

/** Below, equal or above 0 as `a` is older than, equal to or newer than `b` by semver's precedence. Any other text is older than every version. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  return compare(left.text, right.text);
}

/** A release's version: `text` without the leading v, as it was written. */
interface Version {
  readonly text: string;
  readonly major: number;
}

/** Maximum length, since it is part of a package's file name. */
const maxLength = 64;

/** A semantic version with or without a leading `v`, and no other text; undefined for anything else. */
export function parseVersion(text: string): Version | undefined {
  if (text.length > maxLength || !/^v?\d[0-9A-Za-z.+-]*$/.test(text)) return undefined;
  const parsed = parse(text);
  return parsed === null ? undefined : { text: text.replace(/^v/, ""), major: parsed.major };
}

/**
 * How a peer's version fits the cluster's. `too_old`, `too_new`: it may not work; `newer`: of the same major, which works, but the
 * cluster goes first; `fits`: the cluster's major or the previous one, or no version.
 */
export type Fit = "fits" | "newer" | "too_new" | "too_old";

/** Pure. */
export function judgeFit(peer: string, cluster: string): Fit {
  const [own, its] = [parseVersion(cluster), parseVersion(peer)];
  if (own === undefined || its === undefined) return "fits";
  if (its.major > own.major) return "too_new";
  if (its.major < own.major - 1) return "too_old";
  return compareVersions(its.text, own.text) > 0 && its.major === own.major ? "newer" : "fits";
}

/** The mismatch, and what to do: `this host is 3.0.0, newer by a major than the cluster (1.0.0)`. Undefined if there is none. */
export function misfitText(what: string, { peer, cluster }: { readonly peer: string; readonly cluster: string }): Misfit | undefined {
  const [its, own] = [peer, cluster].map((text) => text.replace(/^v/, ""));
  const major = parseVersion(cluster)?.major ?? 0;
  const takes = major === 0 ? `${major}` : `${major - 1} and ${major}`;
  switch (judgeFit(peer, cluster)) {
    case "too_new":
      return { message: `${what} is ${its}, newer by a major than the cluster (${own})`, hint: `upgrade the cluster first, or install ${own} here` };
    case "too_old":
      return { message: `${what} is ${its}, too old for the cluster (${own}), which works with majors ${takes}`, hint: `install ${own} here` };
    case "newer":
    case "fits":
      return undefined;
  }
}

interface Misfit {
  readonly message: string;
  readonly hint: string;
}
