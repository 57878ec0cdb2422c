import { expect, onTestFinished, test } from "vitest";
import { memberFile } from "../../test/inside/member-file.ts";
import type { SeekPoint } from "./plan-seek.ts";
import { RecordingSource } from "./recording-source.ts";
import { TerminalPlayer } from "./terminal-player.ts";
import { openScreen } from "./testing/open-screen.ts";

const mib = 1024 * 1024;
const header = `${JSON.stringify({ version: 2, width: 40, height: 5, timestamp: 0 })}\n`;
const shows = (time: number, data: string): string => `${JSON.stringify([time, "o", data])}\n`;
/** A MiB that takes a terminal little time: titles. */
const much = `\u001b]0;${"x".repeat(mib / 4)}\u0007`;

interface Played {
  readonly player: TerminalPlayer;
  /** Offsets at which parts were asked for. */
  readonly asked: readonly number[];
  picture(): string;
  /** What the recording has from now on. */
  grow(texts: readonly string[], isRunning: boolean): void;
}

/** Plays members of these texts, at each of which reading can begin; paused at the beginning. */
function play(texts: readonly string[], { isRunning = false, length = texts.length } = {}): Played {
  const terminal = openScreen();
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
    terminal[Symbol.dispose]();
  });
  let [file, goesOn] = [memberFile(texts), isRunning];
  const asked: number[] = [];
  const source = new RecordingSource(async ({ offset, length }) => {
    asked.push(offset);
    return { bytes: new Uint8Array(file.subarray(offset, offset + length)), isRunning: goesOn };
  });
  const points: SeekPoint[] = texts.map((text, at) => ({
    offset: memberFile(texts.slice(0, at)).length,
    time: Math.max(0, at - 1),
    text: text.length,
  }));
  const nextFrame = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const player = new TerminalPlayer({ screen: terminal.screen, source, points, length, isRunning, nextFrame });
  player.setPaused(true);
  player.run(stop.signal).catch((thrown: unknown) => stop.signal.aborted || expect.unreachable(String(thrown)));
  const grow = (more: readonly string[], isStill: boolean): void => {
    [file, goesOn] = [memberFile(more), isStill];
  };
  return { player, asked, picture: () => terminal.picture().slice(1).join("\n").trim(), grow };
}

/** A line at the top that stays, then much that moves below it. */
const long = [
  header,
  shows(0, "\u001b[2J\u001b[Hstays\u001b[2;5r\u001b[5;1H"),
  ...Array.from({ length: 30 }, (_, at) => shows(at + 1, `${much}${at + 1}\r\n`.repeat(2))),
];

test("a far jump shows what is known in time, all of it when asked for, and what was seen once is there at once", async () => {
  const { player, picture } = play(long);
  player.seek(25);
  await expect.poll(() => player.position.value).toBe(25);
  expect([picture().includes("stays"), picture().includes("25"), player.isPartial.value]).toEqual([false, true, true]);
  player.showWhole();
  await expect.poll(() => player.isPartial.value).toBe(false);
  await expect.poll(picture).toMatch(/^stays\n.*25$/s);
  await expect.poll(() => player.progress.value).toBe(undefined);
  for (const second of [12, 24, 3, 18]) {
    player.seek(second);
    await expect.poll(() => player.position.value).toBe(second);
    expect(picture()).toBe(second === 3 ? "stays\n2\n3\n3" : `stays\n${second - 1}\n${second}\n${second}`);
    expect(player.isPartial.value).toBe(false);
  }
});

test("a jump that another one replaces leaves no picture of its own", async () => {
  const { player, picture } = play(long);
  player.seek(25);
  await expect.poll(() => player.position.value).toBe(25);
  player.showWhole();
  await expect.poll(() => player.progress.value, { interval: 1 }).toBeGreaterThan(0);
  player.seek(2);
  await expect.poll(() => player.position.value).toBe(2);
  expect(picture()).toBe("stays\n1\n2\n2");
});

test("a session that goes on is followed until its end", async () => {
  const begun = [header, shows(1, "first\r\n"), shows(100, "second\r\n")];
  const { player, picture, grow } = play(begun, { isRunning: true });
  player.follow();
  await expect.poll(picture).toBe("first\nsecond");
  expect([player.isFollowing.value, player.isPaused.value]).toEqual([true, false]);
  grow([...begun, shows(5000, "third\r\n")], true);
  await expect.poll(picture).toBe("first\nsecond\nthird");
  expect([player.position.value, player.isRunning.value]).toEqual([5000, true]);
  player.seek(50);
  await expect.poll(picture).toBe("first");
  expect(player.isFollowing.value).toBe(false);
  player.press("end");
  grow([...begun, shows(5000, "third\r\n"), shows(5001, "last\r\n")], false);
  await expect.poll(picture).toBe("first\nsecond\nthird\nlast");
  await expect.poll(() => [player.isRunning.value, player.isFollowing.value, player.isPaused.value]).toEqual([false, false, true]);
});

test("it plays at its speed to the end, and from the beginning again", async () => {
  const { player, picture } = play([header, shows(0, "a"), shows(3600, "b")], { length: 3600 });
  await expect.poll(picture).toBe("a");
  player.speed.value = 8;
  player.setPaused(false);
  await expect.poll(picture).toBe("ab");
  await expect.poll(() => player.isPaused.value).toBe(true);
  expect(player.position.value).toBeGreaterThanOrEqual(3600);
  player.skipsIdle.value = false;
  player.setPaused(false);
  await expect.poll(picture).toBe("a");
  expect(player.position.value).toBeLessThan(3600);
});
