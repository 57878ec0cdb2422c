import type { AuthClient } from "../../core/api/auth-client.ts";
import { type AuthWithDatabase, authWithDatabase } from "./auth-with-database.ts";
import { joinFacts, joinHost } from "./open-auth.ts";
import { generateKeys, publicKeys, type UserKeys } from "./user-keys.ts";

export type Owner = Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;

interface AnnouncedApp {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly details?: Readonly<Record<string, string>>;
}

/** The same with a connected host that offers an application `wiki`, which `ann` may use. */
export interface AuthWithApp extends AsyncDisposable, Pick<AuthWithDatabase, "t" | "logIn" | "putRole" | "putLock"> {
  readonly hostId: string;
  /** Calls of the host. */
  readonly host: AuthClient;
  /** Calls of a proxy. */
  readonly proxy: { readonly client: AuthClient; readonly id: string };
  readonly ann: UserKeys;
  /** A user's own certificate, limited to one resource; by default to `wiki`. */
  limited(user: Owner, route?: { readonly routeKind?: string; readonly routeName?: string; readonly routeAccount?: string }): Promise<Owner>;
  /** What the host offers from now on; at `http://127.0.0.1:8080` unless its details say otherwise. */
  offer(apps: readonly AnnouncedApp[]): Promise<void>;
}

export async function authWithApp(): Promise<AuthWithApp> {
  const { t, logIn, putRole, putLock } = await authWithDatabase();
  await putRole("writer", { allow: { app_labels: { env: "test" } } });
  const { secret } = await t.admin.createToken({ roles: ["node", "app"] });
  const keys = generateKeys();
  const { hostId, tlsCertificate } = await t.connect().join({
    ...joinFacts("node", secret, { hostname: "app-1", services: ["app"] }),
    ...publicKeys(keys),
  });
  const proxy = await joinHost(t, "p3", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "app-1", services: ["app"], version: "1.0.0", connected: true });
  const offer: AuthWithApp["offer"] = async (apps) => {
    const offered = apps.map(({ name, labels, details = { uri: "http://127.0.0.1:8080" } }) => ({
      kind: "app",
      name,
      labels: { ...labels },
      details: { ...details },
    }));
    await proxy.client.reportOffered({ hostId, offered });
  };
  await offer([{ name: "wiki", labels: { env: "test" } }]);
  const limited: AuthWithApp["limited"] = async (user, route = {}) => {
    const own = generateKeys();
    const client = t.connect({ certificate: user.tlsCertificate, privateKey: user.tlsPrivateKey });
    const answer = await client.signOwnUser({ routeKind: "app", routeName: "wiki", tlsPublicKey: own.tlsPublicKey, ...route });
    return { tlsCertificate: answer.tlsCertificate, tlsPrivateKey: own.tlsPrivateKey };
  };
  const ann = await logIn("ann", ["writer"]);
  const host = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
  return { t, logIn, putRole, putLock, hostId, host, proxy, ann, limited, offer, [Symbol.asyncDispose]: async () => await t[Symbol.asyncDispose]() };
}
