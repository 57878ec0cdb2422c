import type { Log } from "../core/log/log.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { prepareApps } from "./app/app-service.ts";
import type { AgentConfig } from "./config.ts";
import { prepareDatabases } from "./db/db-service.ts";
import { prepareKube } from "./kube/kube-service.ts";
import type { Service } from "./service/service.ts";
import { checkSsh, prepareSsh } from "./ssh/ssh-service.ts";

type ServicesConfig = Pick<AgentConfig, "ssh" | "app" | "db" | "kube">;

interface ServicesDeps {
  readonly log: Log;
  readonly env: Env;
}

/** The services that a configuration enables. Throws `invalid` or `unsupported` when one cannot run on this host. */
export async function prepareServices({ ssh, app, db, kube }: ServicesConfig, { log, env }: ServicesDeps): Promise<readonly Service[]> {
  return [
    ...(ssh === undefined ? [] : [await prepareSsh(ssh, log)]),
    ...(app === undefined ? [] : [prepareApps(app)]),
    ...(db === undefined ? [] : [await prepareDatabases(db)]),
    ...(kube === undefined ? [] : [await prepareKube(kube, env)]),
  ];
}

/** Throws the configuration errors that `prepareServices` would, and changes nothing. */
export async function checkServices({ ssh, db, kube }: ServicesConfig, { log, env }: ServicesDeps): Promise<void> {
  if (ssh !== undefined) await checkSsh(ssh, log);
  if (db !== undefined) await prepareDatabases(db);
  if (kube !== undefined) await prepareKube(kube, env);
}
