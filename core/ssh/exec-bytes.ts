import type { Client, ClientCallback, ExecOptions } from "ssh2";

/** `client.exec` for a command that need not be UTF-8: a path need not be either. ssh2 takes bytes, its types do not say so. */
export function execBytes(client: Client, command: Buffer | string, options: ExecOptions, opened: ClientCallback): void {
  client.exec(command as string, options, opened);
}
