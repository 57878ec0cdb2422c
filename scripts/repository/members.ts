import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Channel } from "./channel.ts";

/** Which packages a publication holds: file name → the channels that offer it. */
export type Members = ReadonlyMap<string, readonly Channel[]>;

const name = "members.json";

export async function readMembers(publication: string): Promise<Members> {
  const file = join(publication, name);
  try {
    const read = JSON.parse(await readFile(file, "utf8")) as Readonly<Record<string, readonly Channel[]>>;
    return new Map(Object.entries(read));
  } catch (cause) {
    throw new Error(`could not read ${file}, the list of the packages that are published now: ${String(cause)}`, { cause });
  }
}

export async function writeMembers(publication: string, members: Members): Promise<void> {
  await writeFile(join(publication, name), `${JSON.stringify(Object.fromEntries([...members].sort()), undefined, 2)}\n`);
}

/** Names of the packages that a channel offers. */
export function offeredBy(members: Members, channel: Channel): string[] {
  return [...members].filter(([, channels]) => channels.includes(channel)).map(([file]) => file);
}

/** Adds channels to those that a package has already. */
export function joinChannels(members: Members, file: string, channels: readonly Channel[]): Members {
  return new Map([...members, [file, [...new Set([...(members.get(file) ?? []), ...channels])].sort()]]);
}
