import fc from "fast-check";
import { expect, test } from "vitest";
import { openScreen } from "./testing/open-screen.ts";

/** Output of which some changes only what is not to be seen. */
const pieces = [
  ..."abc 漢é😀\r\n\t\b\u000e\u000f",
  "\r\n",
  "lqk",
  "\u001b]0;x\u0007",
  ..."31m 38;2;1;2;3m 7;9m 1;44m m 2J H 3;5H K 2A 999C 2;4r r s u 3g !p ?1049h ?1049l ?25l ?25h ?7l ?7h 4h 4l ?6h ?6l"
    .split(" ")
    .map((one) => `\u001b[${one}`),
  ..."M 7 8 H (0 (B )0 c".split(" ").map((one) => `\u001b${one}`),
];

test("a state brings another terminal to where it shows the same, then and later", async () => {
  const output = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join(""));
  let [taken, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(output, output, fc.nat(80), async (before, after, cut) => {
      using one = openScreen({ columns: 20, rows: 6 });
      using other = openScreen();
      // Wherever the output is cut, also in a sequence.
      const all = before + after;
      const place = Math.min(all.length, before.length + (cut % 4));
      await one.screen.write(all.slice(0, place));
      const state = one.screen.take();
      if (state === undefined) {
        refused += 1;
        return;
      }
      taken += 1;
      await other.screen.write("\u001b[?1049h\u001b(0left over");
      await other.screen.put(state);
      expect(other.picture()).toEqual(one.picture());
      await one.screen.write(all.slice(place));
      await other.screen.write(all.slice(place));
      expect(other.picture()).toEqual(one.picture());
    }),
  );
  expect([taken > 0, refused > 0]).toEqual([true, true]);
});
