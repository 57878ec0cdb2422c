import type { Log } from "../core/log/log.ts";
import { prepareApps } from "./app/app-service.ts";
import type { AgentConfig } from "./config.ts";
import { prepareDatabases } from "./db/db-service.ts";
import type { Service } from "./service/service.ts";
import { checkSsh, prepareSsh } from "./ssh/ssh-service.ts";

type ServicesConfig = Pick<AgentConfig, "ssh" | "app" | "db">;

/** The services that a configuration enables. Throws `invalid` or `unsupported` when one cannot run on this host. */
export async function prepareServices({ ssh, app, db }: ServicesConfig, log: Log): Promise<readonly Service[]> {
  return [
    ...(ssh === undefined ? [] : [await prepareSsh(ssh, log)]),
    ...(app === undefined ? [] : [prepareApps(app)]),
    ...(db === undefined ? [] : [await prepareDatabases(db)]),
  ];
}

/** Throws the configuration errors that `prepareServices` would, and changes nothing. */
export async function checkServices({ ssh, db }: ServicesConfig, log: Log): Promise<void> {
  if (ssh !== undefined) await checkSsh(ssh, log);
  if (db !== undefined) await prepareDatabases(db);
}
