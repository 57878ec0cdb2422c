import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openFlags } from "../../core/sftp/numbers.ts";
import type { Response } from "../../core/sftp/response.ts";
import { beginSftp, hasTheirServer, type SftpServer, type SftpSession } from "../world/sftp-session.ts";
import { sftpSituations } from "../world/sftp-situations.ts";

const short = (response: Response, dir: string): unknown => {
  switch (response.type) {
    case "status":
      return response.status;
    case "data":
      return response.data.toString("latin1").slice(0, 100);
    case "name":
      return response.files.map(({ name }) => name.toString("latin1").replace(dir, "DIR"));
    case "attributes":
      return { mode: response.attributes.mode, size: response.attributes.size };
    case "handle":
    case "extended_reply":
      return response.type;
  }
};

const { read, write, create } = openFlags;

describe.skipIf(!hasTheirServer)("our SFTP server beside OpenSSH's", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-beside-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const begin = (which: SftpServer, name: string): Promise<SftpSession> => beginSftp(which, join(folder, `${name}-${which}`));

  const plain = (value: unknown, dir: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => plain(one, dir));
    if (Buffer.isBuffer(value)) return "handle";
    return typeof value === "object" && value !== null && "type" in value ? short(value as Response, dir) : value;
  };

  test.for(Object.entries(sftpSituations).map(([name, perform], index) => ({ name, perform, index })))("$name", async ({ perform, index }) => {
    const outcomes: unknown[] = [];
    for (const which of ["theirs", "ours"] as const) {
      const session = await begin(which, String(index));
      outcomes.push(plain(await perform(session), session.dir));
      const closed = once(session.child, "close");
      session.client.end();
      await closed;
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
  });

  test("as many files may be open as with the usual limit, and one more is refused", async () => {
    const session = await begin("ours", "handles");
    for (let count = 0; count < 1019; count += 1) await session.open("a", read);
    expect(await session.ask({ type: "open", path: session.at("a"), flags: read, attributes: {} })).toMatchObject({ status: "failure" });
    session.client.end();
    await once(session.child, "close");
  });

  test.for(["theirs", "ours"] as const)("a client that is cut off in the middle leaves %s with what was written, and no process", async (which) => {
    const session = await begin(which, "cut");
    const handle = await session.open("cut", write | create);
    await session.ask({ type: "write", handle, offset: 0n, data: Buffer.alloc(1000) });
    const closed = once(session.child, "close");
    session.child.stdin?.end(Buffer.from([0, 0, 0, 50, 6, 0, 0]));
    await closed;
    expect((await stat(join(session.dir, "cut"))).size).toBe(1000);
  });
});
