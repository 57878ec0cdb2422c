/** A channel is a suite of the apt repository and a folder of the yum repository. */
export type Channel = `stable/v${number}` | "stable/cloud";

/**
 * The channels of a package by its version as deb and rpm write it: its major's, and the cloud's, where clusters that move from
 * major to major find every version. A pre-release (`1.0.0~rc.1`) belongs to none unless they are wanted. Throws on no version.
 */
export function channelsOf(version: string, { prereleases }: { prereleases: boolean }): readonly Channel[] {
  const major = /^(\d{1,6})\.\d+\.\d+(?:[~+].+)?$/.exec(version)?.[1];
  if (major === undefined) throw new Error(`${JSON.stringify(version)} is not a version of our packages`);
  return version.includes("~") && !prereleases ? [] : [`stable/v${Number(major)}`, "stable/cloud"];
}

/** Reads `v1`, `cloud`, `stable/v1` or `stable/cloud`. */
export function readChannel(text: string): Channel {
  const name = text.replace(/^stable\//, "");
  const major = /^v(\d{1,6})$/.exec(name)?.[1];
  if (major !== undefined) return `stable/v${Number(major)}`;
  if (name === "cloud") return "stable/cloud";
  throw new Error(`${JSON.stringify(text)} is not a channel; expected cloud or v and a major version`);
}
