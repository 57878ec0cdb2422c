import { u8, u32 } from "../bytes/fields.ts";

/**
 * Modes of a terminal as `pty-req` carries them (RFC 4254 section 8, RFC 8160):
 *
 *   byte opcode (1 to 159), u32 value; …; byte 0 (end)
 *
 * From opcode 160 on nothing can be read, because the length is not known.
 */
const opcodes = {
  VINTR: 1,
  VQUIT: 2,
  VERASE: 3,
  VKILL: 4,
  VEOF: 5,
  VEOL: 6,
  VEOL2: 7,
  VSTART: 8,
  VSTOP: 9,
  VSUSP: 10,
  VDSUSP: 11,
  VREPRINT: 12,
  VWERASE: 13,
  VLNEXT: 14,
  VFLUSH: 15,
  VSWTCH: 16,
  VSTATUS: 17,
  VDISCARD: 18,
  IGNPAR: 30,
  PARMRK: 31,
  INPCK: 32,
  ISTRIP: 33,
  INLCR: 34,
  IGNCR: 35,
  ICRNL: 36,
  IUCLC: 37,
  IXON: 38,
  IXANY: 39,
  IXOFF: 40,
  IMAXBEL: 41,
  IUTF8: 42,
  ISIG: 50,
  ICANON: 51,
  XCASE: 52,
  ECHO: 53,
  ECHOE: 54,
  ECHOK: 55,
  ECHONL: 56,
  NOFLSH: 57,
  TOSTOP: 58,
  IEXTEN: 59,
  ECHOCTL: 60,
  ECHOKE: 61,
  PENDIN: 62,
  OPOST: 70,
  OLCUC: 71,
  ONLCR: 72,
  OCRNL: 73,
  ONOCR: 74,
  ONLRET: 75,
  CS7: 90,
  CS8: 91,
  PARENB: 92,
  PARODD: 93,
  TTY_OP_ISPEED: 128,
  TTY_OP_OSPEED: 129,
} as const;

export type TerminalMode = keyof typeof opcodes;

/**
 * By the names of the RFC. Those with V are characters, 0 to 255, where 255 switches one off; the two speeds are bits per second; the
 * rest are flags, 1 or 0. A mode that is missing stays as the system has it.
 */
export type TerminalModes = Readonly<Partial<Record<TerminalMode, number>>>;

const end = 0;
const firstUnreadable = 160;
const named = new Map(Object.entries(opcodes).map(([name, opcode]) => [opcode as number, name as TerminalMode]));

export function encodeTerminalModes(modes: TerminalModes): Buffer {
  const parts = Object.entries(modes).flatMap(([name, value]) => [u8(opcodes[name as TerminalMode]), u32(value)]);
  return Buffer.concat([...parts, u8(end)]);
}

/** Never throws: modes without a name are left out, and a truncated one ends the list, as in sshd(8). */
export function decodeTerminalModes(bytes: Buffer): TerminalModes {
  const modes: Partial<Record<TerminalMode, number>> = {};
  for (let at = 0; at + 5 <= bytes.length; at += 5) {
    const opcode = bytes.readUInt8(at);
    if (opcode === end || opcode >= firstUnreadable) break;
    const name = named.get(opcode);
    if (name !== undefined) modes[name] = bytes.readUInt32BE(at + 1);
  }
  return modes;
}

/** The modes as pairs of opcode and value, e.g. `1:3,3:127`, which is how session-start takes them. */
export function listTerminalModes(modes: TerminalModes): string {
  return Object.entries(modes)
    .map(([name, value]) => `${opcodes[name as TerminalMode]}:${value}`)
    .join(",");
}
