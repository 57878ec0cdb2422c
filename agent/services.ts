import type { Log } from "../core/log/log.ts";
import type { AgentConfig } from "./config.ts";
import type { Service } from "./service/service.ts";
import { checkSsh, prepareSsh } from "./ssh/ssh-service.ts";

type ServicesConfig = Pick<AgentConfig, "ssh">;

/** The services that a configuration enables. Throws `invalid` or `unsupported` when one cannot run on this host. */
export async function prepareServices({ ssh }: ServicesConfig, log: Log): Promise<readonly Service[]> {
  return ssh === undefined ? [] : [await prepareSsh(ssh, log)];
}

/** Throws what `prepareServices` would because of the configuration, and changes nothing. */
export async function checkServices({ ssh }: ServicesConfig, log: Log): Promise<void> {
  if (ssh !== undefined) await checkSsh(ssh, log);
}
