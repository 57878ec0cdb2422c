import { createHash, randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { duplexPair, PassThrough } from "node:stream";
import fc from "fast-check";
import type { ServerChannel, Session } from "ssh2";
import { expect, test } from "vitest";
import { signCertificate } from "../../core/ssh/certificate.ts";
import { generateSshKey } from "../../core/ssh/keys.ts";
import { connectSsh } from "../../core/ssh/ssh-client.ts";
import { acceptSsh } from "../../core/ssh/ssh-server.ts";
import { type MemoryIo, memoryIo } from "../memory-io.ts";
import type { SessionAsk } from "./open-session.ts";
import { createEscape, runSession } from "./run-session.ts";
import { sentEnv } from "./ssh-settings.ts";

const minute = 60_000;

/** A client and a server of SSH in memory; `serve` answers each session. */
async function connected(serve: (session: Session) => void) {
  const [authority, host, user] = [generateSshKey(), generateSshKey(), generateSshKey()];
  const fields = { extensions: new Map<string, string>(), validBefore: new Date(Date.now() + minute) };
  const common = { authority: authority.privateKey, validAfter: new Date(Date.now() - minute) };
  const hostCertificate = signCertificate({
    ...common,
    key: host.privateKey,
    fields: { ...fields, type: "host", keyId: "h", principals: ["web-1"] },
  });
  const certificate = signCertificate({ ...common, key: user.privateKey, fields: { ...fields, type: "user", keyId: "u", principals: ["root"] } });
  const [near, far] = duplexPair();
  const { signal } = new AbortController();
  const accepted = acceptSsh({ stream: far, hostKey: host.privateKey, hostCertificate, signal, authenticate: () => {} });
  const rest = { hostAuthorities: [authority.publicLine], principal: "web-1", timeoutMs: 5000, signal };
  const client = connectSsh({ stream: near, username: "root", privateKey: user.privateKey, certificate, ...rest });
  void accepted.then(({ connection }) => connection.on("session", (accept) => serve(accept())));
  return { client: await client, server: (await accepted).connection };
}

const ask: SessionAsk = { command: "run", pty: false, host: "web-1" };

/** Runs one command that `program` plays. */
async function played(program: (channel: ServerChannel) => void, io: MemoryIo, more: Partial<SessionAsk> = {}): Promise<number> {
  const { client } = await connected((session) => {
    session.on("pty", (accept) => accept());
    session.on("exec", (accept) => program(accept()));
    session.on("shell", (accept) => program(accept()));
  });
  try {
    return await runSession(client, { ...ask, ...more }, io);
  } finally {
    client.end();
  }
}

test("output and errors stay apart and the exit status is the command's", async () => {
  const io = memoryIo({}, "");
  const status = await played((channel) => {
    channel.write("out\n");
    channel.stderr.write("err\n");
    channel.exit(7);
    channel.end();
  }, io);
  expect({ status, out: io.out(), err: io.err() }).toEqual({ status: 7, out: "out\n", err: "err\n" });
});

test("a command that a signal ended is 128 and its number", async () => {
  const io = memoryIo({}, "");
  const status = await played((channel) => {
    channel.exit("KILL", false, "");
    channel.end();
  }, io);
  expect(status).toBe(137);
});

test("standard input passes as bytes, its end alone does not end the command", async () => {
  const bytes = randomBytes(3_000_000);
  const io = memoryIo({});
  io.stdin.end(bytes);
  const status = await played((channel) => {
    const hash = createHash("sha256");
    channel.on("data", (chunk: Buffer) => hash.update(chunk));
    channel.on("end", () => {
      channel.write(hash.digest("hex"));
      channel.exit(0);
      channel.end();
    });
  }, io);
  expect(status).toBe(0);
  expect(io.out()).toBe(createHash("sha256").update(bytes).digest("hex"));
});

test.for(["stdout", "stderr"] as const)("a large output on %s arrives whole at a slow reader", async (name) => {
  const bytes = randomBytes(3_000_000);
  const slow = new PassThrough({ highWaterMark: 1024 });
  const hash = createHash("sha256");
  slow.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    slow.pause();
    setImmediate(() => slow.resume());
  });
  const io = { ...memoryIo({}, ""), [name]: slow };
  const status = await played((channel) => {
    const to = name === "stdout" ? channel : channel.stderr;
    to.write(bytes, () => {
      channel.exit(0);
      channel.end();
    });
  }, io);
  slow.end();
  await new Promise((resolve) => slow.once("end", resolve).resume());
  expect(status).toBe(0);
  expect(hash.digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
});

/** Takes nothing: each write fails with this code. */
function failing(code: string): PassThrough {
  const failure = Object.assign(new Error(`${code}: write`), { code });
  // An error of a full file comes with its write, one of a pipe that was full comes later.
  return new PassThrough({ transform: (_chunk, _encoding, done) => void setImmediate(done, failure) });
}

/** Prints, and succeeds. */
const succeed = (channel: ServerChannel): void => {
  channel.write("out\n");
  channel.stderr.write("err\n");
  channel.exit(0);
  channel.end();
};

test("output without a reader is 141, although the command succeeded; a status of its own stays", async () => {
  expect(await played(succeed, { ...memoryIo({}, ""), stdout: failing("EPIPE") })).toBe(141);
  const io = { ...memoryIo({}, ""), stdout: failing("EPIPE") };
  const status = await played((channel) => {
    channel.exit(3);
    channel.end("out\n");
  }, io);
  expect(status).toBe(3);
});

test.for([
  ["stdout", "could not write to standard output: ENOSPC: write"],
  ["stderr", "could not write to standard error: ENOSPC: write"],
] as const)("%s that could not be written is a failure, although the command succeeded", async ([name, message]) => {
  await expect(played(succeed, { ...memoryIo({}, ""), [name]: failing("ENOSPC") })).rejects.toMatchObject({ code: "unavailable", message });
});

test("errors without a reader do not change the status", async () => {
  expect(await played(succeed, { ...memoryIo({}, ""), stderr: failing("EPIPE") })).toBe(0);
});

test("input that cannot be read is a failure, not its end", async () => {
  const io = memoryIo();
  const program = (channel: ServerChannel): void => {
    channel.on("data", () => io.stdin.destroy(new Error("EIO: read")));
    channel.on("end", () => {
      channel.exit(0);
      channel.end();
    });
  };
  io.stdin.write("a part");
  const failed = { code: "unavailable", message: "could not read standard input: EIO: read" };
  await expect(played(program, io)).rejects.toMatchObject(failed);
});

test.for([
  ["EBADF", false],
  ["EIO", true],
] as const)("input that was never there, or a terminal that is gone (%s), is the end of input", async ([code, isTTY]) => {
  const io = memoryIo();
  Object.assign(io.stdin, { isTTY });
  const program = (channel: ServerChannel): void => {
    channel.on("data", () => io.stdin.destroy(Object.assign(new Error(code), { code })));
    channel.on("end", () => {
      channel.exit(3);
      channel.end();
    });
  };
  io.stdin.write("a part");
  expect(await played(program, io)).toBe(3);
});

test("a folder as input is a failure", async () => {
  const folder = openSync(import.meta.dirname, "r");
  try {
    const io = memoryIo({}, "");
    Object.assign(io.stdin, { fd: folder });
    const failed = { code: "unavailable", message: "could not read standard input: it is a folder" };
    await expect(played(succeed, io)).rejects.toMatchObject(failed);
  } finally {
    closeSync(folder);
  }
});

test("a connection that breaks before the command ended is an error, not success", async () => {
  const io = memoryIo({}, "");
  const { client, server } = await connected((session) => {
    session.on("exec", (accept) => {
      accept();
      server.end();
    });
  });
  await expect(runSession(client, ask, io)).rejects.toMatchObject({ code: "unavailable", message: "the connection to web-1 was lost" });
});

test("a refused command is reported", async () => {
  const { client } = await connected((session) => {
    session.on("exec", (_accept, reject) => reject());
  });
  await expect(runSession(client, ask, memoryIo({}, ""))).rejects.toMatchObject({ code: "denied" });
  client.end();
});

test("a shell on a terminal is raw while it runs; its size, its changes and ~. pass", async () => {
  const modes: boolean[] = [];
  const io = memoryIo({ TERM: "screen", LANG: "C.UTF-8", LC_ALL: "C", SECRET: "x" });
  Object.assign(io.stdin, { isTTY: true, setRawMode: (mode: boolean) => void modes.push(mode) });
  Object.assign(io.stdout, { isTTY: true, rows: 33, columns: 99 });
  io.stdout.once("data", () => {
    Object.assign(io.stdout, { rows: 50 });
    io.stdout.emit("resize");
  });
  const sizes: string[] = [];
  const env: string[] = [];
  const { client } = await connected((session) => {
    session.on("env", (accept, _reject, info) => {
      env.push(`${info.key}=${info.val}`);
      accept?.();
    });
    session.on("pty", (accept, _reject, info) => {
      sizes.push(`${"term" in info ? info.term : ""} ${info.cols}x${info.rows}`);
      accept();
    });
    session.on("window-change", (_accept, _reject, info) => {
      sizes.push(`${info.cols}x${info.rows}`);
      io.stdin.write("exit\r~.");
    });
    session.on("shell", (accept) => {
      const channel = accept();
      channel.write("$ ");
    });
  });
  const status = await runSession(client, { command: undefined, pty: true, host: "web-1" }, io);
  client.end();
  expect({ status, modes, sizes, out: io.out() }).toEqual({ status: 255, modes: [true, false], sizes: ["screen 99x33", "99x50"], out: "$ " });
  expect(env.sort()).toEqual(["LANG=C.UTF-8", "LC_ALL=C"]);
});

test("only the language goes along", () => {
  expect(sentEnv({ LANG: "a", LC_TIME: "b", LCX: "c", PATH: "d", TERM: "e" })).toEqual({ LANG: "a", LC_TIME: "b" });
});

test.for([
  ["~.", "", true],
  ["ls\r~.", "ls\r", true],
  ["ls\n~.more", "ls\n", true],
  ["a~.", "a~.", false],
  ["~~.", "~.", false],
  ["~a", "~a", false],
  ["~?\r~.", "\r", true],
  ["~\r~.", "~\r", true],
] as const)("typing %j sends %j, leaves: %s", ([typed, sent, disconnect]) => {
  expect(createEscape()(Buffer.from(typed))).toMatchObject({ send: Buffer.from(sent), disconnect });
});

test("bytes mean the same however they are cut into pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("~", ".", "?", "\r", "a", "\u0000")), (keys) => {
      const whole = createEscape()(Buffer.from(keys.join("")));
      const pieces = createEscape();
      const sent: Buffer[] = [];
      for (const key of keys) {
        const one = pieces(Buffer.from(key));
        sent.push(one.send);
        if (one.disconnect) {
          expect(whole.disconnect).toBe(true);
          break;
        }
      }
      expect(Buffer.concat(sent)).toEqual(whole.send);
    }),
  );
});
