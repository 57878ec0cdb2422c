import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import { serviceKinds, serviceNames } from "../kinds/service-kinds.ts";
import { authorize, isGrant } from "./authorize.ts";
import { matchLabels } from "./match-labels.ts";
import { expandTemplate } from "./templates.ts";
import { askOf, labelsOf, roleOf } from "./testing/role-of.ts";

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2", "role-3", "role-4"],
  traits: { logins: ["alice", "root"], env: ["dev"] },
  principals: {},
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

const login = fc.constantFrom("root", "alice", "admin", "{{internal.logins}}", "{{external.none}}", "{{broken", "*");
const matcher = fc.constantFrom(
  "*=*",
  "env=prod",
  "env=prod|dev",
  "env=p*",
  "env=^(prod|dev)$",
  "env=^($",
  "env={{external.env}}",
  "app=web",
  "env=prod app=web",
);
const side = fc
  .tuple(fc.array(login, { maxLength: 2 }), fc.option(matcher))
  .map(([logins, on]) => `${logins.join(",")}${on === null ? "" : ` on ${on}`}`);
const allow = side.map((one) => `allow ${one}`);
const deny = side.map((one) => `deny ${one}`);
const line = fc.oneof(
  allow,
  deny,
  fc.tuple(allow, deny).map((both) => both.join("; ")),
);
const lines = fc.array(line, { maxLength: 3 });
const host = fc.constantFrom("", "env=prod", "env=dev", "env=prod app=web", "app=web", "env=qa");
const wanted = fc.constantFrom("root", "alice", "admin", "nobody");

describe.for(serviceNames)("access to %s", (kind) => {
  const hasNames = Object.keys(serviceKinds[kind].names).length > 0;

  function allows(held: readonly string[], asked: string, labels: string): boolean {
    const roles = held.map((one, index) => roleOf(one, `role-${index + 1}`, kind));
    try {
      const grant = authorize({ identity, locks: [], roles, ask: askOf(kind, asked, labels), now: new Date("2026-11-20T12:00:00Z") });
      expect(isGrant(grant)).toBe(true);
      expect(grant.rules).toBeDefined();
      return true;
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "denied" });
      return false;
    }
  }

  test("deny always wins: no other role can allow a login or host that one role denies", () => {
    fc.assert(
      fc.property(lines, host, wanted, fc.nat(), (held, labels, asked, at) => {
        const place = at % (held.length + 1);
        const refuses = (denial: string): void => expect(allows(held.toSpliced(place, 0, denial), asked, labels)).toBe(false);
        if (hasNames) for (const denial of [`deny ${asked}`, "deny *"]) refuses(denial);
        refuses("deny on *=*");
        if (labels !== "") refuses(`deny on ${labels}`);
      }),
    );
  });

  test("adding a role that denies never widens", () => {
    fc.assert(
      fc.property(lines, deny, host, wanted, (held, denial, labels, asked) => {
        if (allows([...held, denial], asked, labels)) expect(allows(held, asked, labels)).toBe(true);
      }),
    );
  });

  test("adding a deny to a role never widens", () => {
    fc.assert(
      fc.property(fc.array(allow, { minLength: 1, maxLength: 3 }), deny, host, wanted, ([first = "", ...others], denial, labels, asked) => {
        if (allows([`${first}; ${denial}`, ...others], asked, labels)) expect(allows([first, ...others], asked, labels)).toBe(true);
      }),
    );
  });

  test("adding a role that only allows never narrows", () => {
    fc.assert(
      fc.property(lines, allow, host, wanted, (held, more, labels, asked) => {
        if (allows(held, asked, labels)) expect(allows([...held, more], asked, labels)).toBe(true);
      }),
    );
  });

  test("a demand for a code changes no decision but to ask, and only where its role allows the resource or none at all", () => {
    const outcome = (held: readonly string[], asked: string, labels: string, marked: boolean): string => {
      const roles = held.map((one, index) => roleOf(one, `role-${index + 1}`, kind));
      const mark = { device: "otp", kind, name: kind === "ssh" ? "1" : "n", until: "2026-11-20T13:00:00Z" };
      try {
        authorize({
          identity: { ...identity, ...(marked && { mfa: mark }) },
          locks: [],
          roles,
          ask: askOf(kind, asked, labels),
          now: new Date("2026-11-20T12:00:00Z"),
        });
        return "yes";
      } catch (thrown) {
        return thrown instanceof PlatformError ? thrown.code : "bug";
      }
    };
    fc.assert(
      fc.property(lines, fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), host, wanted, (held, demands, labels, asked) => {
        const demanding = held.map((one, index) => (demands[index] ? `${one}; require_session_mfa=true` : one));
        const before = outcome(held, asked, labels, false);
        const after = outcome(demanding, asked, labels, false);
        if (before === "denied") {
          expect(after).toBe("denied");
          return;
        }
        // The code given, nothing else is refused.
        expect(outcome(demanding, asked, labels, true)).toBe("yes");
        const granting = held.some((one, index) => demands[index] && outcome([one.replace(/deny.*/, "")], asked, labels, false) === "yes");
        if (granting) expect(after).toBe("mfa_required");
        const mayCount = held.some((one, index) => demands[index] && (!/allow[^;]* on /.test(one) || mayMatch(one, labels)));
        if (!mayCount) expect(after).toBe("yes");
      }),
    );
    function mayMatch(one: string, labels: string): boolean {
      const role = roleOf(one, "role-1", kind);
      const { labels: condition } = serviceKinds[kind];
      return matchLabels(role.spec.allow?.[condition], labelsOf(labels), { traits: identity.traits, unreadable: true });
    }
  });

  test("nothing is allowed without a role that allows it", () => {
    fc.assert(
      fc.property(fc.array(deny, { maxLength: 4 }), host, wanted, (held, labels, asked) => {
        expect(allows(held, asked, labels)).toBe(false);
      }),
    );
  });
});

const traits = fc.dictionary(fc.constantFrom("a", "b", "logins"), fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }));
const odd = fc.array(fc.constantFrom("{{", "}}", "{", "}", "internal.", "external.", "a", "logins", "email.local(", ")", '["', '"]', " ", "x*"), {
  maxLength: 9,
});

test("any text is a template, plain text or refused as invalid; the result contains a value of the trait", () => {
  fc.assert(
    fc.property(odd, traits, (parts, known) => {
      const text = parts.join("");
      try {
        const values = expandTemplate(text, known);
        const possible = Object.values(known).flat();
        if (text.includes("{{")) expect(values.every((value) => possible.some((one) => value.includes(one.split("@")[0] ?? "")))).toBe(true);
        else expect(values).toEqual([text]);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});

test("any matcher against any label has an answer, and in a deny it matches at least as much", () => {
  const pattern = fc.oneof(
    fc.string({ maxLength: 20 }),
    odd.map((parts) => parts.join("")),
    fc.string({ maxLength: 20 }).map((text) => `^${text}$`),
  );
  fc.assert(
    fc.property(pattern, fc.string({ maxLength: 20 }), traits, (wantedValue, value, known) => {
      const asAllow = matchLabels({ k: wantedValue }, { k: value }, { traits: known });
      const asDeny = matchLabels({ k: wantedValue }, { k: value }, { traits: known, unreadable: true });
      if (asAllow) expect(asDeny).toBe(true);
    }),
  );
});
