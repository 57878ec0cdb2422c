import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import type { ClientRequest } from "./routing-services.ts";

/** Maximum number of users' accounts at databases that are remembered. */
const maxAccounts = 10_000;

/**
 * The host of the last connection of each user's account at a database. Some clients name one of their connections on another one, which only the agent of the
 * first one can read. So the next connection goes to the same agent.
 */
export class LastAgents {
  /** The least recently used one first. */
  readonly #hosts = new Map<string, string>();

  /** Id of the host; undefined: there was no connection yet. */
  of(user: Pick<UserIdentity, "name">, request: ClientRequest<ServedKind>): string | undefined {
    return this.#hosts.get(keyOf(user, request));
  }

  used(user: Pick<UserIdentity, "name">, request: ClientRequest<ServedKind>, hostId: string): void {
    const key = keyOf(user, request);
    this.#hosts.delete(key);
    const [oldest] = this.#hosts.keys();
    if (this.#hosts.size >= maxAccounts && oldest !== undefined) this.#hosts.delete(oldest);
    this.#hosts.set(key, hostId);
  }

  /** This host has failed: the next connection goes to any agent, unless another connection has used a different one since. */
  failed(user: Pick<UserIdentity, "name">, request: ClientRequest<ServedKind>, hostId: string): void {
    const key = keyOf(user, request);
    if (this.#hosts.get(key) === hostId) this.#hosts.delete(key);
  }
}

function keyOf({ name }: Pick<UserIdentity, "name">, { kind, target, parameters }: ClientRequest<ServedKind>): string {
  const { user = "" }: Readonly<Record<string, string>> = parameters;
  return JSON.stringify([name, kind, target, user]);
}
