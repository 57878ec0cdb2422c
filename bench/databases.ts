import { type CopiesOptions, databaseCopies } from "./database-copies.ts";
import { databaseQueries, type QueriesOptions } from "./database-queries.ts";
import { type DatabaseSessionsOptions, databaseSessions } from "./database-sessions.ts";
import { startDatabaseWorld } from "./database-world.ts";
import { inTurn } from "./measure.ts";

export interface DatabasesOptions {
  readonly queries: QueriesOptions;
  readonly copies: CopiesOptions;
  readonly sessions: DatabaseSessionsOptions;
}

/** Sessions at databases: queries, copies, memory, and many at once; beside ssh -L and direct TLS. */
export async function databases({ queries, copies, sessions }: DatabasesOptions): Promise<string> {
  await using world = await startDatabaseWorld();
  const parts = await inTurn([() => databaseQueries(world, queries), () => databaseCopies(world, copies), () => databaseSessions(world, sessions)]);
  return `## Databases\n\n${parts}`;
}
