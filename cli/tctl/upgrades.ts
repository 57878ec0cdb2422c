import { readDocument } from "../../core/resources/document.ts";
import { upgradePlanDocument } from "../../core/resources/upgrade-plan.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { withAdmin } from "./connect.ts";
import { planText, standing, statusText } from "./upgrades-tables.ts";

/** `tctl upgrades plan`: which hosts are upgraded when, which are not, and why. */
export async function showPlan(call: Call): Promise<Result> {
  const { options } = call;
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.getUpgradePlan({ channel: options.text("channel") ?? "", version: options.text("to") ?? "", brief: false });
    const plan = readDocument(upgradePlanDocument, json);
    return { data: plan, text: planText(plan) };
  });
}

/** `tctl upgrades status`: the progress of each channel's version. */
export async function showStatus(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.getUpgradePlan({ channel: call.options.text("channel") ?? "", brief: true });
    const plan = readDocument(upgradePlanDocument, json);
    return { data: plan, text: statusText(plan) };
  });
}

/** `tctl upgrades pause | resume | promote`. */
export async function changeRollout(call: Call, action: "pause" | "resume" | "promote"): Promise<Result> {
  const { options } = call;
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.changeRollout({ action, group: options.text("group") ?? "", channel: options.text("channel") ?? "" });
    const plan = readDocument(upgradePlanDocument, json);
    const lines = plan.channels.map((channel) => `channel ${channel.channel}, v${channel.version}: ${standing(channel)}`);
    return { data: plan, text: lines.join("\n") };
  });
}
