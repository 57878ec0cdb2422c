import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { holdConnection, releaseConnection } from "../connections/connections.ts";
import type { Caller } from "./caller.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "holdConnection" | "releaseConnection">;

export function connectionMethods(api: Api): Methods {
  const { context } = api;
  return {
    holdConnection: unary(api, "holdConnection", async ({ user, connectionId, maximum }, caller) => {
      if (maximum < 1) throw new PlatformError("invalid", "maximum: a number from 1 on");
      return { validSeconds: await holdConnection(context, { ...named(user, connectionId), maximum, host: hostOf(caller) }) };
    }),
    releaseConnection: unary(api, "releaseConnection", async ({ user, connectionId }, caller) => {
      await releaseConnection(context, { ...named(user, connectionId), host: hostOf(caller) });
      return {};
    }),
  };
}

function named(user: string, id: string): { user: string; id: string } {
  if (user === "" || user.length > 256 || id === "" || id.length > 64) throw new PlatformError("invalid", "a connection needs its user and its id");
  return { user, id };
}

/** A host holds and releases its own connections only. */
function hostOf(caller: Caller): string {
  if (caller.kind !== "host") throw new PlatformError("denied", "access denied: this is for hosts");
  return caller.identity.id;
}
