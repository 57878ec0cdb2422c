import { PlatformError } from "../../../core/errors/platform-error.ts";
import { holdConnection, releaseConnection } from "../connections/connections.ts";
import { hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"holdConnection" | "releaseConnection">;

/** A host holds and releases only its own connections. */
export function connectionMethods(api: Api): Methods {
  const { context } = api;
  return {
    holdConnection: async ({ user, connectionId, maximum }, caller) => {
      if (maximum < 1) throw new PlatformError("invalid", "maximum must be at least 1");
      return { validSeconds: await holdConnection(context, { ...named(user, connectionId), maximum, host: hostOf(caller).id }) };
    },
    releaseConnection: async ({ user, connectionId }, caller) => {
      await releaseConnection(context, { ...named(user, connectionId), host: hostOf(caller).id });
      return {};
    },
  };
}

function named(user: string, id: string): { user: string; id: string } {
  if (user === "" || user.length > 256 || id === "" || id.length > 64)
    throw new PlatformError("invalid", "user and id are required, with at most 256 and 64 characters");
  return { user, id };
}
