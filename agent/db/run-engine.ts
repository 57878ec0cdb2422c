import { type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Engine, EngineSession } from "./engine.ts";

/** Time for an engine's last words to its client once its session is over, ms. */
const farewellMs = 10_000;

/** Runs an engine to its end. When its session is over, it has a moment for its last words; then the client is cut, whatever the engine does. */
export async function runEngine(engine: Engine, session: EngineSession, limitMs = farewellMs): Promise<PlatformError | undefined> {
  const { signal, client, log } = session;
  const { promise: cut, resolve } = Promise.withResolvers<PlatformError>();
  let timer: NodeJS.Timeout | undefined;
  const over = (): void => {
    timer = setTimeout(() => resolve(toPlatformError(signal.reason)), limitMs);
  };
  if (signal.aborted) over();
  else signal.addEventListener("abort", over, { once: true });
  try {
    return await Promise.race([engine(session), cut]);
  } catch (thrown) {
    log.error("the engine of a database failed", { session: session.sid, db: session.database.name, error: thrown });
    return toPlatformError(thrown);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", over);
    client.destroy();
  }
}
