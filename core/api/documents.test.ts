import { getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { auditEventDocument } from "../audit/audit-event.ts";
import { channelAnswersDocument, channelTroublesDocument } from "../resources/channel-report.ts";
import { directHostDocument, recordedHostDocument, tunnelledHostDocument } from "../resources/directory-host.ts";
import { resourceDocument } from "../resources/document.ts";
import { hostStatusDocument } from "../resources/host-status.ts";
import { instanceDocument } from "../resources/instance.ts";
import { lockDocument } from "../resources/lock.ts";
import { nodeDocument } from "../resources/node.ts";
import { proxyDocument, proxyStateDocument } from "../resources/proxy.ts";
import { proxyCertificateDocument, proxyFactsDocument } from "../resources/proxy-facts.ts";
import { recordingDocument, recordingEndDocument, recordingFactsDocument } from "../resources/recording.ts";
import { roleDocument } from "../resources/role.ts";
import { rotationDocument } from "../resources/rotation.ts";
import { listedSessionDocument, sessionDocument } from "../resources/session.ts";
import { upgradePlanDocument } from "../resources/upgrade-plan.ts";
import { document, file_platform_auth_v1_auth } from "./generated/platform/auth/v1/auth_pb.ts";

const kinds = [
  auditEventDocument,
  channelAnswersDocument,
  channelTroublesDocument,
  directHostDocument,
  hostStatusDocument,
  instanceDocument,
  listedSessionDocument,
  lockDocument,
  nodeDocument,
  proxyCertificateDocument,
  proxyDocument,
  proxyFactsDocument,
  proxyStateDocument,
  recordedHostDocument,
  recordingDocument,
  recordingEndDocument,
  recordingFactsDocument,
  resourceDocument,
  roleDocument,
  rotationDocument,
  sessionDocument,
  tunnelledHostDocument,
  upgradePlanDocument,
];

/** `message.field` → kind, as the compiled API says. */
const declared = new Map(
  file_platform_auth_v1_auth.messages.flatMap((message) =>
    message.fields.flatMap((field) => (hasOption(field, document) ? [[`${message.name}.${field.name}`, getOption(field, document)] as const] : [])),
  ),
);

test("every document of the API has its kind here, and every kind is used", () => {
  expect(declared.size).toBeGreaterThan(20);
  expect([...new Set(declared.values())].sort()).toEqual(kinds.map(({ name }) => name).sort());
});

test("JSON in the API is a declared document, by its name and its type", () => {
  const fields = file_platform_auth_v1_auth.messages.flatMap((message) => message.fields.map((field) => ({ message: message.name, field })));
  const named = fields.filter(({ field }) => /(^|_)json$/.test(field.name)).map(({ message, field }) => `${message}.${field.name}`);
  expect(named.sort()).toEqual([...declared.keys()].sort());
});
