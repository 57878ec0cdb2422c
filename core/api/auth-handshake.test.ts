import { Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { hostContext, terminateTls } from "../transport/arrivals/server-tls.ts";
import { openAuthClient } from "./auth-client.ts";

/** A record of TLS that nobody has encrypted. */
const foreign = Buffer.from("1703030013000102030405060708090a0b0c0d0e0f101112", "hex");

// The error comes in the same tick as the end of the handshake: a promise's reactions run after it.
test("what somebody on the way appends to the server's handshake fails the call, not the process", async () => {
  const own = await insideAuthorities();
  const context = hostContext(await own.host("auth-1", { role: "auth" }));
  const open = async (): Promise<Duplex> => {
    const [way, far] = duplexPair();
    terminateTls(far, { context, alpn: "h2" }).catch(() => {});
    const near = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => void way.write(bytes, done),
      destroy: (error, done) => {
        way.destroy();
        done(error);
      },
    });
    let held: Buffer[] = [];
    way.on("data", (chunk: Buffer) => {
      if (held.push(chunk) > 1) return;
      setImmediate(() => {
        near.push(Buffer.concat([...held, foreign]));
        held = [];
      });
    });
    return near;
  };
  using connection = openAuthClient({ open, ca: [own.hostCaPem] });
  await expect(connection.client.getCluster({})).rejects.toMatchObject({ code: "unavailable" });
});
