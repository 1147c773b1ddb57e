import { createChain } from "../../core/chain.ts";
import { textOf } from "../../core/content.ts";
import type { TourStep } from "../tour.ts";

export const chainTools: TourStep = {
  title: ["Chain: several tools are one tool", "工具链：多个工具组成一个工具"],
  async run({ haft, example, page }) {
    const { steps, input, gives } = example.chain;
    const parameters = { type: "object", additionalProperties: true } as const;
    haft.register(createChain({ name: "tour_chain", description: "Run the steps in order", parameters, steps }));
    const result = await haft.execute("tour_chain", input);
    page.print(["Steps", "步骤"], steps.map(({ tool }) => tool).join(" → "));
    page.check(
      ["Result", "结果"],
      result.success && textOf(result.content).includes(gives),
      [gives, gives],
      result.display,
    );
    const denied = await haft.execute("tour_chain", input, { policy: { deny: [steps[1]!.tool] } });
    page.check(
      ["Step 2 denied", "第 2 步被拒绝"],
      denied.status === "failed" && denied.error.code === "denied" && denied.metadata["stoppedAt"] === 2,
      ["stops there, and says so", "停在那里，并说明原因"],
      denied.display,
    );
    haft.registry.unregister("tour_chain");
  },
};
