import { PlatformError } from "../../../core/errors/platform-error.ts";
import { WindowBudget } from "../../../core/ssh/window-budget.ts";
import { Slots } from "../forwarding/slots.ts";

/** What connections of one user share. */
export interface UserLimits {
  /** Of what their clients may have unread. */
  readonly windows: WindowBudget;
  /** Of the connections that they forward. */
  readonly forwards: Slots;
}

const mebibyte = 1024 * 1024;
/** Beyond the 64 KiB that each channel gets: of all users, of one, and of one connection, bytes. */
const windowBytes = { all: 512 * mebibyte, user: 128 * mebibyte, connection: 32 * mebibyte } as const;
/** Connections of one user: half of the streams that this host serves. */
const connectionsOfUser = 500;
/** Forwarded connections. */
const forwards = { all: 8192, user: 1024, connection: 512 } as const;

const all: UserLimits = { windows: new WindowBudget(windowBytes.all), forwards: new Slots(forwards.all) };
const users = new Map<string, { readonly limits: UserLimits; connections: number }>();

/** Throws `limit` for a user who has as many connections to this host as one may have; the proxy counts them too. */
export function requireShare(user: string): void {
  if ((users.get(user)?.connections ?? 0) < connectionsOfUser) return;
  throw new PlatformError(
    "limit",
    `access denied: ${user} has ${connectionsOfUser} connections to this host, which is the most that one user may have`,
    {
      hint: "end some of them first",
    },
  );
}

/** The limits of one connection; `end` when it has ended. */
export function limitsOfConnection(user: string): UserLimits & { readonly end: () => void } {
  const entry = users.get(user) ?? { limits: within(all, { bytes: windowBytes.user, slots: forwards.user }), connections: 0 };
  users.set(user, entry);
  entry.connections += 1;
  const own = within(entry.limits, { bytes: windowBytes.connection, slots: forwards.connection });
  const end = (): void => {
    entry.connections -= 1;
    if (entry.connections === 0) users.delete(user);
  };
  return { ...own, end };
}

function within({ windows, forwards: slots }: UserLimits, most: { readonly bytes: number; readonly slots: number }): UserLimits {
  return { windows: new WindowBudget(most.bytes, windows), forwards: new Slots(most.slots, slots) };
}
