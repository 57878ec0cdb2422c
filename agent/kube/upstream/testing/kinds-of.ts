import { Readable } from "node:stream";
import type { ApiRequest } from "../api-server.ts";
import { KnownKinds } from "../known-kinds.ts";

/** Documents of an API server by path. */
export type Documents = Record<string, object | undefined>;

/** The kinds of an API server with these documents, whose clock is `now`; `answered` holds answers back. Paths in `down` get 503, and those in `hangs` no answer. */
export function kindsOf(documents: Documents) {
  const world = { now: 0, asked: [] as string[], answered: Promise.resolve(), down: [] as string[], hangs: [] as string[] };
  const send = async ({ target }: ApiRequest) => {
    world.asked.push(target);
    await (world.hangs.includes(target) ? new Promise(() => {}) : world.answered);
    const document = documents[target];
    const body = Readable.from([Buffer.from(JSON.stringify(document ?? {}))]);
    const status = world.down.includes(target) ? 503 : document === undefined ? 404 : 200;
    return { status, message: "", headers: [], body, hasBody: true, trailers: () => [], isBroken: () => false };
  };
  return Object.assign(world, { kinds: new KnownKinds({ send }, () => world.now) });
}
