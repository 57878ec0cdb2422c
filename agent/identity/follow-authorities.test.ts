import { expect, test } from "vitest";
import { type TrustedKeys, trustedDigest } from "../../core/api/trusted-keys.ts";
import { silentLog } from "../../core/log/log.ts";
import type { Access } from "../access/access-source.ts";
import { followAuthorities } from "./follow-authorities.ts";

const keys = (name: string): TrustedKeys => ({ hostCaPem: [name], userCaPem: [name], hostCaSsh: [name], userCaSsh: [name] });

const newest: Access = { ...keys("new"), revision: "2", roles: [], unreadable: [], locks: [], sessionRecording: "off" };

function world() {
  const known = { now: keys("old") };
  const answers: PromiseWithResolvers<Access>[] = [];
  const access = {
    follow: () => {},
    refresh: () => {
      const answer = Promise.withResolvers<Access>();
      answers.push(answer);
      return answer.promise;
    },
  };
  const identity = { current: () => known.now, learn: () => {} };
  const follower = followAuthorities({ access, identity, log: silentLog }, new AbortController().signal);
  return { known, answers, follower };
}

test("a known digest causes no request, and neither does a missing one", () => {
  const { follower, answers, known } = world();
  follower.announced(trustedDigest(known.now));
  follower.announced("");
  expect(answers).toHaveLength(0);
});

test("a different digest causes one request at a time, and another after an answer or a failure", async () => {
  const { follower, answers } = world();
  follower.announced("other");
  follower.announced("another");
  expect(answers).toHaveLength(1);
  const asked = follower.ask();
  answers[0]?.reject(new Error("away"));
  await expect(asked).resolves.toBeUndefined();
  follower.announced("other");
  expect(answers).toHaveLength(2);
  const again = follower.ask();
  answers[1]?.resolve(newest);
  await again;
  expect(answers).toHaveLength(2);
});
