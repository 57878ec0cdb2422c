import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Pulse } from "./pulse.ts";

describe("a pulse", () => {
  let asked = 0;
  let lost = 0;
  let pulse: Pulse;

  beforeEach(() => {
    vi.useFakeTimers();
    asked = 0;
    lost = 0;
    pulse = new Pulse({
      ask: () => {
        asked += 1;
      },
      lost: () => {
        lost += 1;
      },
    });
    pulse.start();
  });
  afterEach(() => {
    pulse.stop();
    vi.useRealTimers();
  });

  test("asks at once, and again after every 20 s of silence", () => {
    expect(asked).toBe(1);
    for (let turn = 2; turn < 50; turn += 1) {
      pulse.heard(true);
      vi.advanceTimersByTime(19_999);
      expect(asked).toBe(turn - 1);
      vi.advanceTimersByTime(1);
      expect(asked).toBe(turn);
    }
    expect(lost).toBe(0);
  });

  test("that hears anything at all is not lost", () => {
    pulse.heard(true);
    for (let turn = 0; turn < 100; turn += 1) {
      vi.advanceTimersByTime(15_000);
      pulse.heard(false);
    }
    expect(lost).toBe(0);
    expect(asked).toBe(1);
  });

  test("is lost once, after three questions without an answer", () => {
    pulse.heard(true);
    vi.advanceTimersByTime(20_000 + 3 * 8_000 - 1);
    expect([asked, lost]).toEqual([4, 0]);
    vi.advanceTimersByTime(1);
    expect(lost).toBe(1);
    vi.advanceTimersByTime(1_000_000);
    expect([asked, lost]).toEqual([4, 1]);
  });

  test("an answer to the last question saves it", () => {
    pulse.heard(true);
    vi.advanceTimersByTime(20_000 + 3 * 8_000 - 1);
    pulse.heard(true);
    vi.advanceTimersByTime(20_000 + 3 * 8_000 - 1);
    expect(lost).toBe(0);
  });

  test("never ends a connection to a proxy that gives no answers", () => {
    pulse.heard(false);
    vi.advanceTimersByTime(1_000_000);
    expect(lost).toBe(0);
  });

  test("is checked at once when the page is seen again, and only once for one silence", () => {
    pulse.heard(true);
    pulse.check();
    pulse.check();
    expect(asked).toBe(2);
    vi.advanceTimersByTime(3 * 8_000);
    expect(lost).toBe(1);
    pulse.check();
    expect(asked).toBe(4);
  });

  test("that is stopped asks nothing", () => {
    pulse.stop();
    pulse.check();
    vi.advanceTimersByTime(1_000_000);
    expect([asked, lost]).toEqual([1, 0]);
  });
});
