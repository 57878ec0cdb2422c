import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

export interface ConnectionAsk {
  readonly user: string;
  readonly id: string;
  /** Connections of the user at a time over the whole cluster. */
  readonly maximum: number;
}

/** A place among the connections that a user may have. */
export interface HeldConnection {
  /** Called once when the place was lost: the auth service could not be asked for too long, and others took all there are. */
  onLost(listener: (why: PlatformError) => void): void;
  /** Gives it back. Never throws: what cannot be given back expires. */
  release(): Promise<void>;
}

export type HoldConnection = (ask: ConnectionAsk) => Promise<HeldConnection>;

export interface HoldDeps {
  readonly client: () => Promise<Pick<AuthClient, "holdConnection" | "releaseConnection">>;
  readonly log: Log;
  /** Left out: a third of the time for which a place counts. */
  readonly renewMs?: number;
}

/**
 * Places for connections in the auth service, renewed while they are held. While it cannot be asked a connection goes on:
 * nobody else gets a place then either. Throws `limit`, or `unavailable` when there is no answer.
 */
export function connectionHolder({ client, log, renewMs }: HoldDeps): HoldConnection {
  return async ({ user, id: connectionId, maximum }) => {
    const ask = { user, connectionId, maximum };
    const { validSeconds } = await take(client, ask);
    let lost: PlatformError | undefined;
    let tell: (why: PlatformError) => void = () => {};
    const renew = async (): Promise<void> => {
      try {
        await (await client()).holdConnection(ask);
      } catch (thrown) {
        const why = toPlatformError(thrown);
        if (why.code !== "limit") return log.debug("a connection's place could not be renewed", { error: thrown });
        clearInterval(timer);
        lost = why;
        tell(why);
      }
    };
    const timer = setInterval(() => void renew(), renewMs ?? (validSeconds * 1000) / 3);
    return {
      onLost: (listener) => {
        tell = listener;
        if (lost !== undefined) listener(lost);
      },
      release: async () => {
        clearInterval(timer);
        try {
          await (await client()).releaseConnection({ user, connectionId });
        } catch (thrown) {
          log.debug("a connection's place expires: it could not be given back", { error: errorText(thrown) });
        }
      },
    };
  };
}

async function take(client: HoldDeps["client"], ask: { user: string; connectionId: string; maximum: number }): Promise<{ validSeconds: number }> {
  try {
    return await (await client()).holdConnection(ask);
  } catch (thrown) {
    const cause = toPlatformError(thrown);
    if (cause.code === "limit") throw cause;
    throw new PlatformError("unavailable", "access denied: this host cannot ask the auth service how many connections there are", {
      cause,
      hint: "try again in a moment",
    });
  }
}
