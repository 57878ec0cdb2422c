import { once } from "node:events";
import { expect, test } from "vitest";
import { webSocketPair } from "../../../../test/inside/web-socket-pair.ts";
import { overWebSocket } from "./program-connection.ts";
import { ProgramStream } from "./program-stream.ts";

test("of sizes that the connection has not taken yet only the last one waits, and bytes stay behind it", async () => {
  using pair = await webSocketPair();
  const { client: socket, server: cluster } = pair;
  const got: string[] = [];
  const last = new Promise<void>((resolve) => {
    cluster.on("message", (data: Buffer) => {
      got.push(data.toString());
      if (data.includes('"Width":999')) resolve();
    });
  });
  const stream = new ProgramStream(overWebSocket(socket));
  for (let cols = 1; cols <= 999; cols += 1) {
    stream.resize({ cols, rows: 24 });
    if (cols === 500) stream.write("typed");
  }
  await last;
  expect(got).toEqual(['\u0004{"Width":1,"Height":24}', '\u0004{"Width":500,"Height":24}', "\0typed", '\u0004{"Width":999,"Height":24}']);
  stream.resize({ cols: 80, rows: 25 });
  expect(((await once(cluster, "message")) as [Buffer])[0].toString()).toBe('\u0004{"Width":80,"Height":25}');
  stream.destroy();
});
