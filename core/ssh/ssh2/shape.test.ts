import "./preload.ts";
import { readFileSync } from "node:fs";
import type { ServerChannel, Session } from "ssh2";
import agent from "ssh2/lib/agent.js";
import Channel from "ssh2/lib/Channel.js";
import constants from "ssh2/lib/protocol/constants.js";
import crypto from "ssh2/lib/protocol/crypto.js";
import handlers from "ssh2/lib/protocol/handlers.misc.js";
import kex from "ssh2/lib/protocol/kex.js";
import keyParser from "ssh2/lib/protocol/keyParser.js";
import Protocol from "ssh2/lib/protocol/Protocol.js";
import utils from "ssh2/lib/protocol/utils.js";
import { expect, test } from "vitest";
import { generateSshKey } from "../keys.ts";
import { meet } from "../testing/session-fixture.ts";
import { shapeFaults } from "./shape.ts";

const { version } = JSON.parse(readFileSync(new URL("../../../node_modules/ssh2/package.json", import.meta.url), "utf8")) as { version: string };

test("the installed ssh2 has the version and the private parts that this folder is written for", async () => {
  const both = meet({ authority: generateSshKey() });
  const [client, { connection: server }] = await Promise.all([both.client, both.server]);
  const accepted = Promise.withResolvers<{ session: Session; channel: ServerChannel }>();
  server.on("session", (accept) => {
    const session = accept();
    session.on("exec", (acceptExec) => accepted.resolve({ session, channel: acceptExec() }));
  });
  client.exec("x", () => {});
  const { session, channel } = await accepted.promise;
  const modules = { Channel, constants, keyParser, kex, utils, handlers, agent, crypto };
  const fixed = { Protocol: Protocol.prototype, Channel: Channel.Channel.prototype, modules, channel, session };
  for (const connection of [client, server]) expect(shapeFaults(version, { ...fixed, connection })).toEqual([]);
  client.end();
});

test("another version, and a part that has moved, are named with what to do", () => {
  const faults = shapeFaults("1.18.0", {
    Protocol: {},
    Channel: Channel.Channel.prototype,
    modules: {},
    connection: { _sock: 1 },
    channel: {},
    session: {},
  });
  expect(faults).toContain(
    "ssh2 1.18.0 is installed, and core/ssh/ssh2 is written for 1.17.0: read what changed in ssh2, adapt core/ssh/ssh2 to it, then correct core/ssh/ssh2/shape.ts",
  );
  expect(faults.join("\n")).toMatch(/ssh2's Protocol should have channelOpenFail \(function\), and it is undefined: read/);
  expect(faults.join("\n")).toMatch(/ssh2's connection should have _sock \(object\), and it is number/);
});
