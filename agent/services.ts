import type { Log } from "../core/log/log.ts";
import { prepareApps } from "./app/app-service.ts";
import type { AgentConfig } from "./config.ts";
import type { Service } from "./service/service.ts";
import { checkSsh, prepareSsh } from "./ssh/ssh-service.ts";

type ServicesConfig = Pick<AgentConfig, "ssh" | "app">;

/** The services that a configuration enables. Throws `invalid` or `unsupported` when one cannot run on this host. */
export async function prepareServices({ ssh, app }: ServicesConfig, log: Log): Promise<readonly Service[]> {
  return [...(ssh === undefined ? [] : [await prepareSsh(ssh, log)]), ...(app === undefined ? [] : [prepareApps(app)])];
}

/** Throws the configuration errors that `prepareServices` would, and changes nothing. */
export async function checkServices({ ssh }: ServicesConfig, log: Log): Promise<void> {
  if (ssh !== undefined) await checkSsh(ssh, log);
}
