import type { AuthClient } from "../../core/api/auth-client.ts";
import { codeAt } from "../world/one-time-code.ts";

export interface TestUser {
  readonly name: string;
  readonly password: string;
  readonly otpauthUri: string;
  readonly inviteToken: string;
}

export interface NewUser {
  readonly name: string;
  readonly roles: readonly string[];
  readonly logins: readonly string[];
}

/** A user who has accepted the invite at this time: the next login needs the code of a later step. */
export async function enrolUser({ admin, client }: { admin: AuthClient; client: AuthClient }, user: NewUser, time: Date): Promise<TestUser> {
  const { name, roles, logins } = user;
  const resource = { kind: "user", version: "v2", metadata: { name }, spec: { roles, traits: { logins } } };
  await admin.putResource({ json: JSON.stringify(resource) });
  const { token } = await admin.createInvite({ user: name });
  const { otpauthUri } = await client.getInvite({ token });
  const password = `correct horse ${name}`;
  await client.acceptInvite({ token, password, code: codeAt(otpauthUri, time) });
  return { name, password, otpauthUri, inviteToken: token };
}
