import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import type { Attributes } from "../../core/sftp/attributes.ts";
import type { Response } from "../../core/sftp/response.ts";
import { type Ask, SftpClient } from "../../core/sftp-client/sftp-client.ts";
import { program } from "./program.ts";

const theirServer = "/usr/lib/openssh/sftp-server";

/** Our server, or that of OpenSSH. */
export type SftpServer = "ours" | "theirs";

export const hasTheirServer: boolean = existsSync(theirServer);

/** A session with one of the two servers, in a folder of its own that holds the files `a` and `b`. */
export interface SftpSession {
  readonly dir: string;
  readonly client: SftpClient;
  readonly child: ChildProcess;
  /** Raw names and handles are left out of the comparison. */
  ask(request: Ask): Promise<Response>;
  open(name: string, flags: number, attributes?: Attributes): Promise<Buffer>;
  at(name: string): Buffer;
}

/** Starts the server as the own user in a new folder, and shakes hands with it. */
export async function beginSftp(which: SftpServer, dir: string): Promise<SftpSession> {
  await mkdir(dir);
  await writeFile(join(dir, "a"), "0123456789");
  await writeFile(join(dir, "b"), "bee");
  const child =
    which === "theirs"
      ? spawn(theirServer, [], { stdio: ["pipe", "pipe", "ignore", "ignore", "ignore"], cwd: dir })
      : spawn(program("platform"), ["__sftp"], { stdio: ["pipe", "pipe", "ignore", "pipe", "pipe"], cwd: dir });
  const { username, uid, gid } = userInfo();
  (child.stdio[4] as Duplex | null)?.resume();
  const instructions = child.stdio[3] as Duplex | null;
  instructions?.end(JSON.stringify({ login: username, uid, gid, home: dir, becomeUser: uid === 0 }));
  if (child.stdin === null || child.stdout === null) throw new Error("no pipes");
  const client = await SftpClient.open(Duplex.from({ readable: child.stdout, writable: child.stdin }), which);
  const at = (one: string): Buffer => Buffer.from(join(dir, one));
  const ask = (request: Ask): Promise<Response> => client.ask(request);
  const open = async (one: string, flags: number, attributes: Attributes = {}): Promise<Buffer> => {
    const response = await ask({ type: "open", path: at(one), flags, attributes });
    if (response.type !== "handle") throw new Error(`${which}: ${one} was not opened: ${JSON.stringify(response)}`);
    return response.handle;
  };
  return { dir, client, child, ask, open, at };
}
