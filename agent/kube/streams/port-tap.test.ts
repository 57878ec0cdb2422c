import { expect, test } from "vitest";
import { encodeSpdyData } from "../../../core/kubernetes/spdy/spdy-reader.ts";
import { controlFrame, SpdyWriter } from "../../../core/kubernetes/spdy/spdy-writer.ts";
import { PortTap } from "./port-tap.ts";

test("a reason goes to the error stream of each open connection, and then its data ends, so that kubectl looks for the reason", async () => {
  const ports: number[] = [];
  const tap = new PortTap(false, { onPort: (port) => ports.push(port) });
  const client = new SpdyWriter();
  for (const [stream, streamtype, port] of [
    [1, "error", "80"],
    [3, "data", "80"],
    [5, "error", "81"],
    [7, "data", "81"],
    [9, "error", "82"],
    [11, "data", "82"],
  ] as const)
    await tap.fromClient(await client.open(stream, { streamtype, port }));
  // The second connection has ended at the server, the third one at the client.
  for (const stream of [5, 7]) await tap.fromServer(encodeSpdyData(stream, Buffer.alloc(0), true));
  for (const stream of [9, 11]) await tap.fromClient(controlFrame(3, Buffer.from([0, 0, 0, stream, 0, 0, 0, 5]), false));
  const wanted = [encodeSpdyData(1, Buffer.from("laptop stolen"), true), encodeSpdyData(3, Buffer.alloc(0), true)];
  expect(tap.farewell("laptop stolen")).toEqual(Buffer.concat(wanted));
  expect(ports).toEqual([80, 81, 82]);
  tap.close();
});
