import { spawnSync } from "node:child_process";
import type { Input } from "./io.ts";

/**
 * Puts a terminal into raw mode, so that bytes pass unchanged both ways; the returned function restores it, and so does the end
 * of the process by a signal. On anything but a terminal both do nothing.
 */
export function enterRawMode(stdin: Input): () => void {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined) return () => {};
  const before = stdin.isRaw === true;
  stdin.setRawMode(true);
  // Node's raw mode leaves output processing on, which puts a CR before each LF, and some of the input's; leaving restores all of it.
  stty(stdin, ["-opost", "-inlcr", "-igncr", "-ixany", "-ixoff"]);
  let done = false;
  const leave = (): void => {
    if (done) return;
    done = true;
    process.off("exit", leave);
    for (const signal of endings) process.off(signal, ended);
    stdin.setRawMode?.(before);
  };
  const ended = (signal: NodeJS.Signals): void => {
    leave();
    process.kill(process.pid, signal);
  };
  process.on("exit", leave);
  for (const signal of endings) process.on(signal, ended);
  return leave;
}

const endings = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const;

/** Modes of a terminal for the remote side, see `encodeTerminalModes`; undefined where they are unreadable. */
export function terminalModes(stdin: Input): Buffer | undefined {
  const printed = stty(stdin, ["-a"]);
  return printed === undefined ? undefined : encodeTerminalModes(printed);
}

/** Time limit of stty(1), ms. */
const sttyMs = 2000;

/** Runs stty(1) on a terminal, for what Node does not support. Undefined on failure: the terminal then stays unchanged. */
function stty(stdin: Input, args: readonly string[]): string | undefined {
  if (stdin.isTTY !== true || stdin.fd === undefined) return undefined;
  const { status, stdout } = spawnSync("stty", args, {
    stdio: [stdin.fd, "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin:/usr/local/bin", LC_ALL: "C" },
    encoding: "utf8",
    timeout: sttyMs,
  });
  return status === 0 ? stdout : undefined;
}

/** Opcodes of RFC 4254, section 8, and of RFC 8160, by the names that stty(1) gives them. */
const characters: Readonly<Record<string, number>> = {
  ...{ intr: 1, quit: 2, erase: 3, kill: 4, eof: 5, eol: 6, eol2: 7, start: 8, stop: 9, susp: 10, dsusp: 11, rprnt: 12, reprint: 12 },
  ...{ werase: 13, lnext: 14, flush: 15, swtch: 16, status: 17, discard: 18 },
};
const flags: Readonly<Record<string, number>> = {
  ...{
    ignpar: 30,
    parmrk: 31,
    inpck: 32,
    istrip: 33,
    inlcr: 34,
    igncr: 35,
    icrnl: 36,
    iuclc: 37,
    ixon: 38,
    ixany: 39,
    ixoff: 40,
    imaxbel: 41,
    iutf8: 42,
  },
  ...{
    isig: 50,
    icanon: 51,
    xcase: 52,
    echo: 53,
    echoe: 54,
    echok: 55,
    echonl: 56,
    noflsh: 57,
    tostop: 58,
    iexten: 59,
    echoctl: 60,
    echoke: 61,
    pendin: 62,
  },
  ...{ opost: 70, olcuc: 71, onlcr: 72, ocrnl: 73, onocr: 74, onlret: 75, cs7: 90, cs8: 91, parenb: 92, parodd: 93 },
};
const [inputSpeed, outputSpeed] = [128, 129];
/** A disabled character. */
const disabled = 255;

/**
 * The output of `stty -a` (GNU, busybox or BSD) as the modes of a pty-req:
 *   ( u8 opcode | u32 value )… u8 0
 * Names unknown to SSH are left out. Pure.
 */
export function encodeTerminalModes(stty: string): Buffer {
  const modes = new Map<number, number>();
  const speed = /\bspeed (\d{1,9}) baud/.exec(stty)?.[1];
  if (speed !== undefined) {
    modes.set(inputSpeed, Number(speed));
    modes.set(outputSpeed, Number(speed));
  }
  for (const [, name = "", value = ""] of stty.matchAll(/\b([a-z0-9]+) = (\S+?)(?=;|\s|$)/g)) {
    const [opcode, code] = [characters[name], characterOf(value)];
    if (opcode !== undefined && code !== undefined) modes.set(opcode, code);
  }
  for (const [, sign = "", name = ""] of stty.matchAll(/(?<=^|\s)(-?)([a-z][a-z0-9]*)(?=$|[\s;])(?! = )/gm)) {
    const opcode = flags[name];
    if (opcode !== undefined) modes.set(opcode, sign === "" ? 1 : 0);
  }
  return Buffer.concat([...[...modes].map(([opcode, value]) => mode(opcode, value)), Buffer.of(0)]);
}

function mode(opcode: number, value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(opcode);
  bytes.writeUInt32BE(value >>> 0, 1);
  return bytes;
}

/** `^C`, `^?`, `M-^?`, `a`, `<undef>`. */
function characterOf(text: string): number | undefined {
  if (text === "<undef>" || text === "undef" || text === "^-") return disabled;
  if (text.startsWith("M-")) {
    const low = characterOf(text.slice(2));
    return low === undefined ? undefined : low | 0x80;
  }
  if (text === "^?") return 127;
  if (/^\^[@-_a-z]$/.test(text)) return text.charCodeAt(1) & 31;
  return text.length === 1 ? text.charCodeAt(0) : undefined;
}
