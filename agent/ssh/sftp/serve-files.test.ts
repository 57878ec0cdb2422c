import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Reader, string, u32, u64 } from "../../../core/bytes/fields.ts";
import { extensionNames, openFlags } from "../../../core/sftp/numbers.ts";
import { decodeRequest, type Request } from "../../../core/sftp/request.ts";
import { decodeResponse, encodeResponse, type Response } from "../../../core/sftp/response.ts";
import { maxHandles, OpenHandles } from "./open-handles.ts";
import { answer } from "./serve-files.ts";
import { AccountNames, type SftpContext } from "./sftp-context.ts";
import type { SftpReport } from "./sftp-messages.ts";
import { SftpReporter, shownPath } from "./sftp-reporter.ts";

type Ask = Request extends infer Each ? (Each extends unknown ? Omit<Each, "id"> : never) : never;

describe("answers to SFTP requests", () => {
  let dir: string;
  let reports: SftpReport[];
  let context: SftpContext;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "platform-sftp-"));
    writeFileSync(join(dir, "one"), "");
    reports = [];
    const reporter = new SftpReporter((report) => reports.push(report));
    context = {
      handles: new OpenHandles(),
      names: new AccountNames("root:x:0:0::/root:/bin/sh\n", "wheel:x:0:\n"),
      home: dir,
      reporter,
      now: () => 0,
    };
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const at = (name: string): Buffer => Buffer.from(join(dir, name));
  /** Encodes and decodes a request, as it arrives on the wire. */
  const ask = (request: Ask): Response => decodeResponse(encodeResponse(answer(context, { id: 9, ...request } as Request)).subarray(4));
  const open = (name: string, flags: number): Buffer => {
    const response = ask({ type: "open", path: at(name), flags, attributes: {} });
    if (response.type !== "handle") throw new Error(JSON.stringify(response));
    return response.handle;
  };
  const status = (request: Ask): string => {
    const response = ask(request);
    return response.type === "status" ? response.status : response.type;
  };

  test("a file is written, read, inspected and closed, and the totals are reported", () => {
    const handle = open("one", openFlags.read | openFlags.write | openFlags.create);
    expect(status({ type: "write", handle, offset: 5n, data: Buffer.from("world") })).toBe("ok");
    expect(status({ type: "write", handle, offset: 0n, data: Buffer.from("hello") })).toBe("ok");
    expect(ask({ type: "read", handle, offset: 3n, length: 4 })).toMatchObject({ type: "data", data: Buffer.from("lowo") });
    expect(ask({ type: "fstat", handle })).toMatchObject({ attributes: { size: 10n } });
    expect(status({ type: "read", handle, offset: 10n, length: 4 })).toBe("end_of_file");
    expect(status({ type: "close", handle })).toBe("ok");
    expect(status({ type: "close", handle })).toBe("no_such_file");
    expect(readFileSync(at("one"), "utf8")).toBe("helloworld");
    context.reporter.finish([]);
    expect(reports).toMatchObject([
      { event: "sftp", action: "open", flags: "read,write,create" },
      { event: "sftp_summary", actions: 1, files_read: 1, files_written: 1, bytes_read: 4, bytes_written: 10, failed: 0, left_out: 0 },
    ]);
  });

  test("an appending write goes to the end, at any offset", () => {
    writeFileSync(at("log"), "a");
    const handle = open("log", openFlags.write | openFlags.append);
    expect(status({ type: "write", handle, offset: 0n, data: Buffer.from("b") })).toBe("ok");
    expect(status({ type: "close", handle })).toBe("ok");
    expect(readFileSync(at("log"), "utf8")).toBe("ab");
  });

  test("a session may hold a limited number of files and folders, and closing one makes room", () => {
    const handles = Array.from({ length: maxHandles }, () => open(".", 0));
    expect(status({ type: "open", path: at("."), flags: 0, attributes: {} })).toBe("failure");
    expect(status({ type: "opendir", path: at(".") })).toBe("failure");
    expect(new Set(handles.map((handle) => handle.toString("hex"))).size).toBe(maxHandles);
    expect(status({ type: "close", handle: handles[7] as Buffer })).toBe("ok");
    expect(open("one", openFlags.read)).toEqual(handles[7]);
    for (const handle of handles) expect(status({ type: "close", handle })).toBe("ok");
  });

  test("a listing has every name once, including names that are not text, and ends", () => {
    const folder = at("many");
    mkdirSync(folder);
    const names = [...Array.from({ length: 600 }, (_, index) => Buffer.from(`n${index}`)), Buffer.from([0xff, 0xfe, 0x0a])];
    for (const name of names) writeFileSync(Buffer.concat([folder, Buffer.from("/"), name]), "");
    const response = ask({ type: "opendir", path: folder });
    const handle = response.type === "handle" ? response.handle : Buffer.alloc(0);
    const found: string[] = [];
    for (let batch = ask({ type: "readdir", handle }); batch.type === "name"; batch = ask({ type: "readdir", handle }))
      found.push(...batch.files.map(({ name }) => name.toString("hex")));
    expect(status({ type: "readdir", handle })).toBe("end_of_file");
    expect(found.toSorted()).toEqual([Buffer.from("."), Buffer.from(".."), ...names].map((name) => name.toString("hex")).toSorted());
    expect(status({ type: "read", handle, offset: 0n, length: 1 })).toBe("failure");
    expect(status({ type: "close", handle })).toBe("ok");
  });

  test("rename keeps an existing target; posix-rename replaces it", () => {
    writeFileSync(at("from"), "new");
    writeFileSync(at("to"), "old");
    expect(status({ type: "rename", path: at("from"), target: at("to") })).toBe("failure");
    expect(readFileSync(at("to"), "utf8")).toBe("old");
    const data = Buffer.concat([string(at("from")), string(at("to"))]);
    expect(status({ type: "extended", name: extensionNames.posixRename, data })).toBe("ok");
    expect(readFileSync(at("to"), "utf8")).toBe("new");
    expect(status({ type: "rename", path: at("from"), target: at("else") })).toBe("no_such_file");
  });

  test("a change is done as far as possible, and the last failure is the answer", () => {
    writeFileSync(at("change"), "1234567");
    const change = { size: 3n, mode: 0o640, times: { accessed: 10, modified: 20 } };
    expect(status({ type: "setstat", path: at("change"), attributes: change })).toBe("ok");
    const { size, mode, mtimeMs } = statSync(at("change"));
    expect([size, mode & 0o7777, mtimeMs]).toEqual([3, 0o640, 20_000]);
    expect(status({ type: "setstat", path: at("change"), attributes: { size: 2n ** 60n, mode: 0o600 } })).toBe("bad_message");
    expect(statSync(at("change")).mode & 0o777).toBe(0o600);
  });

  test("lsetstat changes the link and not its target", () => {
    writeFileSync(at("kept"), "");
    chmodSync(at("kept"), 0o600);
    symlinkSync("kept", at("link"));
    const change = (name: string, attributes: Buffer): Ask => ({
      type: "extended",
      name: extensionNames.lsetstat,
      data: Buffer.concat([string(at(name)), attributes]),
    });
    expect(status(change("link", Buffer.concat([u32(8), u32(1), u32(2)])))).toBe("ok");
    expect(statSync(at("kept")).mtimeMs).not.toBe(2000);
    expect(status(change("link", Buffer.concat([u32(4), u32(0o777)])))).toBe("failure");
    expect(statSync(at("kept")).mode & 0o777).toBe(0o600);
    expect(status(change("kept", Buffer.concat([u32(4), u32(0o644)])))).toBe("ok");
    expect(statSync(at("kept")).mode & 0o777).toBe(0o644);
  });

  test("data is copied between open files and hashed, up to their end", () => {
    writeFileSync(at("source"), "0123456789");
    const from = open("source", openFlags.read | openFlags.write);
    const to = open("copy", openFlags.read | openFlags.write | openFlags.create);
    const copy = (source: bigint, length: bigint, into: Buffer, target: bigint): Ask => ({
      type: "extended",
      name: extensionNames.copyData,
      data: Buffer.concat([string(from), u64(source), u64(length), string(into), u64(target)]),
    });
    expect(status(copy(2n, 3n, to, 1n))).toBe("ok");
    expect(status(copy(8n, 0n, to, 4n))).toBe("ok");
    expect(readFileSync(at("copy"), "latin1")).toBe("\x0023489");
    expect(status(copy(0n, 5n, from, 2n))).toBe("failure");
    const hashed = ask({ type: "extended", name: extensionNames.sha256, data: Buffer.concat([string(from), u64(0), u64(100)]) });
    const reader = new Reader(hashed.type === "extended_reply" ? hashed.data : Buffer.alloc(0));
    expect(reader.string().toString("hex")).toBe("84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882");
    expect(reader.u64()).toBe(10n);
  });

  test.for<readonly [name: string, request: () => Ask, expected: string]>([
    ["a path with a NUL", () => ({ type: "stat", path: Buffer.from("/tmp\0x") }), "no_such_file"],
    ["an empty path", () => ({ type: "stat", path: Buffer.alloc(0) }), "no_such_file"],
    ["a path that is too long", () => ({ type: "stat", path: Buffer.alloc(5000, "a") }), "bad_message"],
    ["a handle of another length", () => ({ type: "fstat", handle: Buffer.alloc(5) }), "failure"],
    ["a file as a folder", () => ({ type: "opendir", path: at("one") }), "no_such_file"],
    ["an offset out of range", () => ({ type: "read", handle: open("one", openFlags.read), offset: 2n ** 63n, length: 1 }), "bad_message"],
    ["a write out of range", () => ({ type: "write", handle: open("one", openFlags.write), offset: 2n ** 53n, data: Buffer.of(1) }), "bad_message"],
    ["a folder that is read as a file", () => ({ type: "read", handle: open(".", openFlags.read), offset: 0n, length: 1 }), "failure"],
    ["an unknown extension", () => ({ type: "extended", name: "constructor", data: Buffer.alloc(0) }), "unsupported"],
    ["an unknown request", () => ({ type: "unknown", number: 42 }), "unsupported"],
  ])("%s is refused", ([, request, expected]) => {
    expect(status(request())).toBe(expected);
  });

  test("realpath resolves links and dots, and lets the last part be missing", () => {
    symlinkSync("nowhere", at("dangling"));
    mkdirSync(at("many"));
    const real = (path: string): string => {
      const response = ask({ type: "realpath", path: Buffer.from(path) });
      return response.type === "name" ? String(response.files[0]?.name) : response.type;
    };
    expect(real(join(dir, "many/../one"))).toBe(join(dir, "one"));
    expect(real(join(dir, "missing"))).toBe(join(dir, "missing"));
    expect(real(join(dir, "dangling"))).toBe(join(dir, "nowhere"));
    expect(real(join(dir, "missing/x"))).toBe("status");
    expect(real("/")).toBe("/");
    const expanded = ask({ type: "extended", name: extensionNames.expandPath, data: string("~/one") });
    expect(expanded).toMatchObject({ files: [{ name: at("one") }] });
    expect(status({ type: "extended", name: extensionNames.expandPath, data: string("~nobody-here/x") })).toBe("no_such_file");
  });

  test("reports are bounded by kind, and the summary counts all of them", () => {
    for (let index = 0; index < 300; index += 1) status({ type: "remove", path: at("missing") });
    status({ type: "mkdir", path: at("made"), attributes: {} });
    context.reporter.finish([]);
    expect(reports).toHaveLength(256 + 1 + 1);
    expect(reports.at(-2)).toMatchObject({ action: "mkdir", path: join(dir, "made") });
    expect(reports[0]).toMatchObject({ action: "remove", error: "No such file or directory" });
    expect(reports.at(-1)).toMatchObject({ actions: 301, failed: 300, left_out: 44 });
  });

  test("any message of any bytes is answered or refused, and only refusals are thrown", () => {
    const fields = fc.oneof(fc.constant(u32(0)), fc.constant(string("x")), fc.constant(u64(7)), fc.uint8Array({ maxLength: 20 }).map(Buffer.from));
    // No file names: these bytes must not reach real files.
    const types = fc.constantFrom(4, 5, 6, 8, 10, 12, 99, 200);
    fc.assert(
      fc.property(types, fc.array(fields, { maxLength: 5 }), (type, parts) => {
        const packet = Buffer.concat([Buffer.of(type), u32(1), ...parts]);
        let request: Request;
        try {
          request = decodeRequest(packet);
        } catch {
          return;
        }
        expect(answer(context, request).id).toBe(1);
      }),
    );
  });

  test("different paths are shown differently", () => {
    expect(shownPath(Buffer.from("/a/ü"))).toBe("/a/ü");
    expect(shownPath(Buffer.from([0x2f, 0xff, 0x61]))).toBe("/\\xffa");
  });
});
