import type { Duplex, Readable } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";
import { SftpClient } from "./sftp-client.ts";

/** Most of a refusal's text, characters. */
const mostText = 2000;

/** Starts SFTP in a session's channel. The host's standard error before it starts is the reason of its refusal (`denied`); else as `SftpClient.open`. */
export async function startSftp(channel: Duplex & { readonly stderr: Readable }, host: string): Promise<SftpClient> {
  let printed = "";
  channel.stderr.on("data", (chunk: Buffer) => {
    printed = (printed + chunk.toString("utf8")).slice(0, mostText);
  });
  try {
    return await SftpClient.open(channel, host);
  } catch (thrown) {
    const reason = printed.replace(/^platform: /, "").trim();
    throw reason === "" ? thrown : new PlatformError("denied", `${host}: ${reason}`, { cause: thrown });
  }
}
