import { statSync } from "node:fs";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { kindOf } from "../../core/sftp/attributes.ts";
import { statPath } from "../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../core/sftp-client/sftp-client.ts";
import { startSftp } from "../../core/sftp-client/start-sftp.ts";
import type { SshConnection } from "../../core/ssh/ssh-client.ts";
import type { Profile } from "../profile/profile.ts";
import { bytesOf } from "../raw-arguments.ts";
import { expandRemote, joinPath, lastPart } from "../sftp/copy-paths.ts";
import { ByteBudget, type CopyProgress } from "../sftp/copy-state.ts";
import { fetchTree, finishTree, sendTree, type Tree } from "../sftp/copy-tree.ts";
import { type FileFailure, FileQueue } from "../sftp/file-queue.ts";
import { type ChannelAsk, connectHost, openChannel } from "./connect-host.ts";

/** A copy between this machine and one host. */
export interface ScpPlan {
  readonly direction: "up" | "down";
  readonly login: string | undefined;
  readonly host: string;
  readonly sources: readonly string[];
  readonly target: string;
}

export interface CopyAsk {
  readonly profile: Profile;
  readonly login: string;
  readonly plan: ScpPlan;
  readonly recursive: boolean;
  readonly preserve: boolean;
  readonly progress: CopyProgress;
  readonly onFailure: (failure: FileFailure) => void;
}

/** Bytes in flight: as much as an SSH channel accepts without being read (core/ssh/channel-window). */
const underWay = 8 * 1024 * 1024;
const filesAtOnce = 16;

/**
 * Copies over the SSH service at the other end of a stream, which is then closed. Returns the first failure of a file; throws when the connection
 * fails.
 */
export async function copyOver(stream: TLSSocket, ask: CopyAsk): Promise<PlatformError | undefined> {
  const { profile, login, plan } = ask;
  try {
    const connection = await connectHost(stream, { profile, login, host: plan.host });
    const failure = await copy(await openSftp(connection, plan.host), ask);
    connection.end();
    return failure;
  } finally {
    ask.progress.finish();
    stream.destroySoon();
  }
}

async function openSftp(connection: SshConnection, host: string): Promise<SftpClient> {
  const ask: ChannelAsk = { host, what: "subsystem sftp", request: (opened) => connection.subsys("sftp", opened) };
  return await startSftp(await openChannel(connection, ask, (opened) => opened), host);
}

async function copy(client: SftpClient, ask: CopyAsk): Promise<PlatformError | undefined> {
  const queue = new FileQueue(filesAtOnce, ask.onFailure);
  const facts = { client, preserve: ask.preserve, budget: new ByteBudget(underWay), progress: ask.progress };
  const tree: Tree = { facts, queue, later: [], recursive: ask.recursive };
  if (ask.plan.direction === "up") await upload(tree, ask.plan);
  else await download(tree, ask.plan);
  await finishTree(tree);
  client.end();
  return queue.failure;
}

async function upload(tree: Tree, { sources, target }: ScpPlan): Promise<void> {
  const { client } = tree.facts;
  const [place = Buffer.from(".")] = await expandRemote(client, target === "" ? "." : target);
  const there = await statPath(client, place);
  const isFolder = there !== undefined && kindOf(there) === "folder";
  checkTarget({ isFolder, target, many: sources.length > 1 });
  for (const name of sources) {
    const source = bytesOf(name);
    const pair = { source, target: isFolder ? inside(place, source) : place };
    await sendTree(tree, pair).catch((thrown: unknown) => fail(tree.queue, name, thrown));
  }
}

async function download(tree: Tree, { sources, target }: ScpPlan): Promise<void> {
  const { client } = tree.facts;
  const place = bytesOf(target);
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  const found: Buffer[] = [];
  for (const name of sources) {
    const paths = await expandRemote(client, name === "" ? "." : name);
    if (paths.length === 0) tree.queue.failed(name, new PlatformError("not_found", "No such file or directory"));
    found.push(...paths);
  }
  checkTarget({ isFolder, target, many: found.length > 1 });
  for (const source of found) {
    await fetchOne(tree, source, isFolder ? inside(place, source) : place).catch((thrown: unknown) => fail(tree.queue, source.toString(), thrown));
  }
}

async function fetchOne(tree: Tree, source: Buffer, target: Buffer): Promise<void> {
  const attributes = await statPath(tree.facts.client, source);
  if (attributes === undefined) throw new PlatformError("not_found", "No such file or directory");
  await fetchTree(tree, { source, target, attributes });
}

function inside(folder: Buffer, source: Buffer): Buffer {
  const name = lastPart(source);
  return name.length === 0 ? folder : joinPath(folder, name);
}

function checkTarget({ isFolder, target, many }: { isFolder: boolean; target: string; many: boolean }): void {
  if (isFolder || (!many && !target.endsWith("/"))) return;
  throw new PlatformError("not_found", `${target} is not a folder`, { hint: "create it first: nothing was copied" });
}

function fail(queue: FileQueue, name: string, thrown: unknown): void {
  if (thrown instanceof PlatformError && thrown.code === "unavailable") throw thrown;
  queue.failed(name, thrown);
}
