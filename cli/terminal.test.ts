import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeTerminalModes } from "./terminal.ts";

const gnu = `speed 38400 baud; rows 24; columns 80; line = 0;
intr = ^X; quit = ^\\; erase = ^H; kill = ^U; eof = ^D; eol = <undef>;
eol2 = M-^?; swtch = <undef>; start = ^Q; stop = ^S; susp = ^Z; rprnt = ^R;
werase = ^W; lnext = ^V; discard = ^O; min = 1; time = 0;
-parenb -parodd -cmspar cs8 -hupcl -cstopb cread -clocal -crtscts
-ignbrk -brkint -ignpar -parmrk -inpck -istrip -inlcr -igncr icrnl -ixon -ixoff
-iuclc -ixany -imaxbel iutf8
opost -olcuc -ocrnl onlcr -onocr -onlret -ofill -ofdel nl0 cr0 tab0 bs0 vt0 ff0
isig icanon iexten -echo echoe echok -echonl -noflsh -xcase -tostop -echoprt
echoctl echoke -flusho -extproc
`;
const bsd = `speed 9600 baud; 24 rows; 80 columns;
lflags: icanon isig iexten echo echoe -echok echoke -echonl echoctl
	-echoprt -altwerase -noflsh -tostop -flusho pendin -nokerninfo
	-extproc
iflags: -istrip icrnl -inlcr -igncr ixon -ixoff ixany imaxbel iutf8
	-ignbrk brkint -inpck -ignpar -parmrk
oflags: opost onlcr -oxtabs -onocr -onlret
cflags: cread cs8 -parenb -parodd hupcl -clocal -cstopb -crtscts -dsrflow
	-dtrflow -mdmbuf
cchars: discard = ^O; dsusp = ^Y; eof = ^D; eol = <undef>;
	eol2 = <undef>; erase = ^?; intr = ^C; kill = ^U; lnext = ^V;
	min = 1; quit = ^\\; reprint = ^R; start = ^Q; status = ^T;
	stop = ^S; susp = ^Z; time = 0; werase = ^W;
`;

function decoded(bytes: Buffer): ReadonlyMap<number, number> {
  const modes = new Map<number, number>();
  expect(bytes.length % 5).toBe(1);
  expect(bytes.at(-1)).toBe(0);
  for (let at = 0; at < bytes.length - 1; at += 5) modes.set(bytes.readUInt8(at), bytes.readUInt32BE(at + 1));
  return modes;
}

test.for([
  ["GNU", gnu, { 1: 24, 2: 28, 3: 8, 6: 255, 7: 255, 36: 1, 38: 0, 42: 1, 53: 0, 54: 1, 70: 1, 72: 1, 91: 1, 92: 0, 128: 38400, 129: 38400 }, 15],
  ["BSD", bsd, { 1: 3, 3: 127, 11: 25, 12: 18, 17: 20, 38: 1, 39: 1, 53: 1, 55: 0, 62: 1, 72: 1, 91: 1, 128: 9600 }, 16],
] as const)("what %s stty prints becomes the modes of RFC 4254", ([, text, some, characters]) => {
  const modes = decoded(encodeTerminalModes(text));
  for (const [opcode, value] of Object.entries(some)) expect([opcode, modes.get(Number(opcode))]).toEqual([opcode, value]);
  expect([...modes.keys()].filter((opcode) => opcode < 30)).toHaveLength(characters);
  expect([...modes.keys()].every((opcode) => opcode > 0 && opcode < 160)).toBe(true);
});

test("whatever is printed, the modes are well formed", () => {
  fc.assert(fc.property(fc.string(), (text) => void decoded(encodeTerminalModes(text))));
  expect(encodeTerminalModes("").toString("hex")).toBe("00");
});
