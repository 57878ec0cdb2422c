import type { ClientChannel } from "ssh2";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { extensionNames } from "../../../../core/sftp/numbers.ts";
import { expandPath, realPath } from "../../../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../../../core/sftp-client/sftp-client.ts";
import { startSftp } from "../../../../core/sftp-client/start-sftp.ts";
import type { SshConnection } from "../../../../core/ssh/ssh-client.ts";
import type { RoutingServices } from "../../routing/routing-services.ts";
import { type ReachAsk, reachHost } from "./reach-host.ts";

/** The files of a host, as one of its users sees them. */
export interface HostFiles {
  readonly client: SftpClient;
  readonly host: string;
  /** Ends the connection. */
  close(): void;
}

export interface FilesAsk extends Omit<ReachAsk, "ask" | "forFiles"> {
  readonly node: string;
  readonly login: string;
  /** Of the page, where roles demand a code for each session. */
  readonly confirmation: string | undefined;
}

/** Opens SFTP for the user of a browser: a connection of its own, which the host admits and audits as one of `tsh scp`. Throws PlatformError. */
export async function openFiles({ node, login, confirmation, ...facts }: FilesAsk, services: RoutingServices): Promise<HostFiles> {
  const { connection, host } = await reachHost({ ...facts, ask: { type: "open", node, login, confirmation }, forFiles: true }, services);
  try {
    return { client: await startSftp(await openSubsystem(connection, host), host), host, close: () => connection.end() };
  } catch (thrown) {
    connection.end();
    throw thrown;
  }
}

function openSubsystem(connection: SshConnection, host: string): Promise<ClientChannel> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientChannel>();
  const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
  connection.once("close", lost);
  try {
    connection.subsys("sftp", (cause, channel) => {
      connection.off("close", lost);
      if (cause === undefined) resolve(channel);
      else reject(new PlatformError("denied", `${host} refused SFTP: ${cause.message}`, { cause }));
    });
  } catch {
    // ssh2 throws once the connection has closed.
    lost();
  }
  return promise;
}

/** The bytes of an absolute path as base64url, or a path as people write it; else the home folder. */
export interface AskedPath {
  readonly path?: string | undefined;
  readonly bytes?: string | undefined;
}

/** Longest path, bytes: Linux's PATH_MAX. Listings repeat it for every entry. */
const maxPath = 4_096;

/**
 * The absolute path without links; a relative path begins in the home folder, and `~` is it. Throws `invalid` for bytes that are not a path, and for a path that no
 * host has.
 */
export async function wholePath(files: Pick<HostFiles, "client" | "host">, asked: AskedPath): Promise<Buffer> {
  const whole = await absolutePath(files, asked);
  if (whole.length > maxPath) throw new PlatformError("invalid", `${files.host} states a path of ${whole.length} bytes; ${maxPath} are allowed`);
  return whole;
}

async function absolutePath({ client }: Pick<HostFiles, "client">, { path = ".", bytes }: AskedPath): Promise<Buffer> {
  if (bytes !== undefined) {
    const whole = Buffer.from(bytes, "base64url");
    if (whole.includes(0)) throw new PlatformError("invalid", "it is not a path");
    return await realPath(client, whole);
  }
  if (client.extensions.has(extensionNames.expandPath)) return await expandPath(client, Buffer.from(path));
  return await realPath(client, Buffer.from(path.replace(/^~(?:\/+|$)/, "") || "."));
}

/** A path for a message. */
export function pathText({ path = "~", bytes }: AskedPath): string {
  return bytes === undefined ? path : Buffer.from(bytes, "base64url").toString("utf8");
}

/** An error of a file with what was wanted: `could not store a.txt on web-1: No space left on device`. */
export function fileError(thrown: unknown, wanted: string): unknown {
  if (!(thrown instanceof PlatformError) || thrown.code === "unavailable" || thrown.code === "internal") return thrown;
  return new PlatformError(thrown.code, `could not ${wanted}: ${thrown.message}`, { hint: thrown.hint, cause: thrown });
}
