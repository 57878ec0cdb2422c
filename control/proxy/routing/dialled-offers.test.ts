import fc from "fast-check";
import { expect, test } from "vitest";
import { type DialledOffer, DialledOffers } from "./dialled-offers.ts";

const offerOf = (id: string, name: string): DialledOffer => ({
  target: { via: "dial", identity: { id }, facts: { hostname: id, labels: {} }, addresses: [], shared: [], peer: "" },
  offered: { kind: "kube", name, labels: {} },
  isNamed: false,
});

test("a host is found by what it offers now, whatever it offered before", () => {
  const name = fc.constantFrom("prod", "dev", "constructor", "a/b");
  const change = fc.record({ id: fc.constantFrom("one", "two", "three"), names: fc.option(fc.uniqueArray(name), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const offers = new DialledOffers();
      const now = new Map<string, readonly string[]>();
      for (const { id, names } of changes) {
        if (names === undefined) offers.delete(id);
        else
          offers.set(
            id,
            names.map((one) => offerOf(id, one)),
          );
        now.set(id, names ?? []);
      }
      for (const one of ["prod", "dev", "constructor", "a/b"]) {
        const expected = [...now].filter(([, names]) => names.includes(one)).map(([id]) => id);
        expect(new Set(offers.offering("kube", one).map(({ target }) => target.identity.id))).toEqual(new Set(expected));
        expect(offers.offering("db", one)).toEqual([]);
      }
    }),
  );
});
