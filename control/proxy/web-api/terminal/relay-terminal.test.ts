import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { webSocketPair } from "../../../../test/inside/web-socket-pair.ts";
import { SocketInbox } from "../api/socket-inbox.ts";
import { relayTerminal } from "./relay-terminal.ts";

/** A terminal whose program never stops printing. */
async function printing() {
  const pair = await webSocketPair();
  const { client: browser, server: socket } = pair;
  const chunk = Buffer.alloc(65_536, "y");
  const output = new Readable({
    read() {
      this.push(chunk);
    },
  });
  const shell = {
    ...{ outputs: [output], input: new PassThrough(), host: "web-1", login: "root", closed: once(output, "close") },
    ...{ resize: () => {}, ended: () => ({}), close: () => {} },
  };
  const over = new AbortController();
  const relaying = relayTerminal(shell, { socket, inbox: new SocketInbox(socket), signal: over.signal, typed: () => {} });
  let sent = 0;
  output.on("data", (bytes: Buffer) => (sent += bytes.length));
  /** Resolves when the proxy has it. */
  const claim = async (bytes: number): Promise<void> => {
    browser.send(JSON.stringify({ type: "read", bytes }));
    await once(socket, "message");
  };
  const close = (): void => {
    output.destroy();
    pair[Symbol.dispose]();
  };
  const end = async (): Promise<void> => {
    over.abort(new Error("the test has ended"));
    await expect(relaying).rejects.toThrow("the test has ended");
    close();
  };
  return { browser, socket, relaying, sent: () => sent, claim, end, close };
}

test("a browser that reports output as shown and reads nothing gets no more than a window, and all of it once it reads", async () => {
  const { browser, socket, sent, claim, end } = await printing();
  browser.pause();
  let claimed = 0;
  for (let count = 0; count < 200; count += 1) {
    const now = sent();
    await claim(now - claimed);
    claimed = now;
  }
  expect(socket.bufferedAmount).toBeLessThan(1_000_000);
  let got = 0;
  browser.resume();
  while (got <= claimed) got += ((await once(browser, "message")) as [Buffer])[0].length;
  await end();
});

test("a browser that reports more output as shown than it was sent is cut off", async () => {
  const { relaying, sent, claim, close } = await printing();
  const outcome = expect(relaying).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("more output as shown than it was sent"),
  });
  await claim(sent());
  await claim(67_108_864);
  await outcome;
  close();
});
