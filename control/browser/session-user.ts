import type { GetAppSessionResponse } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";

/** What the auth service answers about a session of a browser, with our site or with an application. */
type SessionAnswer = Pick<GetAppSessionResponse, "user" | "userId" | "roles" | "traits" | "sourceIp" | "expires">;

/** The identity in the auth service's answer: it is for the proxy's own decision, and not more than the certificate that the agent sees. */
export function sessionUser({ user: name, userId, roles, traits, sourceIp, expires }: SessionAnswer, cluster: string): UserIdentity {
  return {
    kind: "user",
    name,
    ...(userId !== "" && { userId }),
    roles,
    traits: Object.fromEntries(Object.entries(traits).map(([trait, { values }]) => [trait, values])),
    principals: {},
    cluster,
    ...(sourceIp !== "" && { sourceIp }),
    validBefore: new Date(expires),
  };
}
