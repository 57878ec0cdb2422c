import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Download, DownloadPlaces, type DownloadPlacesOptions } from "./download-places.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const options: DownloadPlacesOptions = { places: 2, line: 3, waitMs: 20_000, lookMs: 5000, leastBytes: 1000 };

/** A client that takes so many bytes a second. */
class Client implements Download {
  readonly #began = Date.now();
  readonly #gone = new AbortController();
  readonly #speed: number;
  /** Or the words of its refusal. */
  state = "waits";

  constructor(places: DownloadPlaces, speed = 1_000_000) {
    this.#speed = speed;
    places.take(this, this.#gone.signal).then(
      () => (this.state = "downloads"),
      (thrown: unknown) => (this.state = thrown instanceof Error ? thrown.message : "left"),
    );
  }

  sent(): number {
    return ((Date.now() - this.#began) / 1000) * this.#speed;
  }

  end(): void {
    this.state = "ended";
  }

  leave(): void {
    if (this.state === "downloads") this.state = "left";
    this.#gone.abort("left");
  }
}

const passes = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const states = (clients: readonly Client[]): readonly string[] => clients.map(({ state }) => state);
const refused = "too many simultaneous downloads";

describe("places for downloads", () => {
  test("as many as there are; the others wait in line, and beyond that are refused", async () => {
    const places = new DownloadPlaces(options);
    const clients = Array.from({ length: 7 }, () => new Client(places));
    await passes(0);
    expect(states(clients)).toEqual(["downloads", "downloads", "waits", "waits", "waits", refused, refused]);
    clients[0]?.leave();
    clients[3]?.leave();
    clients[1]?.leave();
    await passes(0);
    expect(states(clients)).toEqual(["left", "left", "downloads", "left", "downloads", refused, refused]);
  });

  test("who waits too long is refused, and gets none later", async () => {
    const places = new DownloadPlaces(options);
    const clients = Array.from({ length: 3 }, () => new Client(places));
    await passes(19_999);
    expect(states(clients)).toEqual(["downloads", "downloads", "waits"]);
    await passes(1);
    expect(states(clients)).toEqual(["downloads", "downloads", refused]);
    clients[0]?.leave();
    const later = [new Client(places), new Client(places)];
    await passes(0);
    expect(states(later)).toEqual(["downloads", "waits"]);
  });

  test("a slow one is left alone while nobody waits, and gives way to who does: the slowest first", async () => {
    const places = new DownloadPlaces(options);
    const [slow, slower] = [new Client(places, 150), new Client(places, 10)];
    await passes(3_600_000);
    expect(states([slow, slower])).toEqual(["downloads", "downloads"]);
    const one = new Client(places);
    await passes(5000);
    expect(states([slow, slower, one])).toEqual(["downloads", "ended", "downloads"]);
    await passes(60_000);
    const another = new Client(places);
    await passes(5000);
    expect(states([slow, one, another])).toEqual(["ended", "downloads", "downloads"]);
  });

  test("one that has just begun is not judged by less than a whole look", async () => {
    const places = new DownloadPlaces({ ...options, places: 1 });
    const first = new Client(places);
    const second = new Client(places, 250);
    await passes(4999);
    first.leave();
    const third = new Client(places);
    await passes(5001);
    expect(states([second, third])).toEqual(["downloads", "waits"]);
    await passes(10_000);
    expect(states([second, third])).toEqual(["downloads", "waits"]);
  });

  test("clients come, go and dawdle: never more than there are slots, no request waits while one is free, and none is lost", async () => {
    const step = fc.record({ does: fc.constantFrom("comes", "dawdles", "leaves", "waits"), which: fc.nat(30) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const places = new DownloadPlaces(options);
        const clients: Client[] = [];
        const count = (state: string): number => clients.filter((client) => client.state === state).length;
        for (const { does, which } of steps) {
          if (does === "comes" || does === "dawdles") clients.push(new Client(places, does === "comes" ? 1_000_000 : 1));
          if (does === "leaves") clients[which]?.leave();
          await passes(does === "waits" ? which * 500 : 0);
          expect(count("downloads")).toBeLessThanOrEqual(options.places);
          expect(count("waits")).toBeLessThanOrEqual(options.line);
          expect(count("waits") > 0 && count("downloads") < options.places).toBe(false);
        }
        for (const client of clients) client.leave();
        await passes(0);
        const next = [new Client(places), new Client(places)];
        await passes(0);
        expect(states(next)).toEqual(["downloads", "downloads"]);
      }),
    );
  });
});
