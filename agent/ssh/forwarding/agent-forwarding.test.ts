import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { string, u8, u32 } from "../../../core/bytes/fields.ts";
import { channelRequest } from "../../../core/ssh/channel-requests.ts";
import { sendPayload, subscribe } from "../../../core/ssh/ssh2/hooks.ts";
import { runCommand } from "../../../test/inside/run-command.ts";
import { accessRole, openUserSession, ownLogin, type UserSession } from "../../../test/inside/ssh-session.ts";

const withAgent = { roles: [accessRole([ownLogin], { "*": "*" }, { forward_agent: true })] };

/** Sends the request as ssh(1) does for each session: ssh2's client sends it for the first one only, and ends a session that is refused. */
async function runWithAgent({ client }: UserSession, command: string) {
  let isAsked = false;
  subscribe(client, {
    arrived: {
      CHANNEL_OPEN_CONFIRMATION: (_client, { sender }) => {
        if (!isAsked) sendPayload(client, Buffer.concat([u8(channelRequest), u32(sender), string("auth-agent-req@openssh.com"), u8(0)]));
        isAsked = true;
      },
    },
  });
  return await runCommand(client, command);
}

test("a session's agent socket is the user's alone, is shared by the connection, and is removed with it", async () => {
  const session = await openUserSession(withAgent);
  const ran = await runWithAgent(session, "echo $SSH_AUTH_SOCK; stat -c '%a %U' $SSH_AUTH_SOCK $(dirname $SSH_AUTH_SOCK)");
  const [path = "", ...modes] = ran.stdout.toString().trim().split("\n");
  expect(path).toMatch(/^\/tmp\/ssh-[A-Za-z0-9]{6}\/agent\.\d+$/);
  expect(modes).toEqual([`600 ${ownLogin}`, `700 ${ownLogin}`]);
  expect((await runWithAgent(session, "echo $SSH_AUTH_SOCK")).stdout.toString().trim()).toBe(path);
  expect((await runCommand(session.client, "echo [$SSH_AUTH_SOCK]")).stdout.toString()).toBe("[]\n");
  await session[Symbol.asyncDispose]();
  await session.served;
  await expect(stat(path)).rejects.toThrow("ENOENT");
  await expect(stat(path.replace(/\/agent.*/, ""))).rejects.toThrow("ENOENT");
});

test("without forward_agent there is no socket, and the session goes on", async () => {
  await using session = await openUserSession();
  expect((await runWithAgent(session, "echo [$SSH_AUTH_SOCK]")).stdout.toString()).toBe("[]\n");
});

test("a client that refuses its agent closes the connection to the socket", async () => {
  await using session = await openUserSession(withAgent);
  const path = (await runWithAgent(session, "echo $SSH_AUTH_SOCK")).stdout.toString().trim();
  const socket = connect(path);
  await new Promise<void>((resolve) => socket.on("error", () => {}).once("close", () => resolve()));
});
