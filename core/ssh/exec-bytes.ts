import type { Client, ClientCallback, ExecOptions } from "ssh2";

/** `client.exec` for a command that may not be UTF-8, as a path may not be either. ssh2 accepts bytes, although its types do not declare it. */
export function execBytes(client: Client, command: Buffer | string, options: ExecOptions, opened: ClientCallback): void {
  client.exec(command as string, options, opened);
}
