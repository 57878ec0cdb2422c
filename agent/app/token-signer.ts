import type { ServiceDeps } from "../service/service.ts";
import type { AppDeps } from "./app-deps.ts";

/** Tokens from the auth service, which checks again that this host offers the application and that the user may use it. */
export function tokenSigner({ auth }: Pick<ServiceDeps, "auth">): AppDeps["signToken"] {
  return async ({ app, uri, userCertificate, clientAddress, claims }) => {
    const { token, expires } = await (await auth()).signAppToken({ app, uri, userCertificate, clientAddress, claims });
    return { token, expires: new Date(expires) };
  };
}
