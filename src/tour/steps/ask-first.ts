import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import type { TourStep } from "../tour.ts";

export const askFirst: TourStep = {
  title: ["Ask a person first", "先征求用户确认"],
  async run({ example, page }) {
    const { tool, approved: first, declined: second, shows, happened } = example.requested;
    // Without an approver who answers at once the question stays open.
    const haft = createHaft({ tools: example.tools });
    const requested = await haft.execute(tool, first);
    page.check(
      [`${tool} called`, `调用 ${tool}`],
      requested.status === "pending" && !happened(first),
      ["pending, has not run", "等待确认，尚未执行"],
      requested.status,
    );
    const [question] = await haft.approvals.list("open");
    const preview = textOf(question!.preview?.content ?? []);
    page.check(
      ["Question", "请求"],
      preview.includes(shows),
      [`shows what will change: ${shows}`, `显示将要发生的改动：${shows}`],
      preview,
    );
    const approved = await haft.approve(question!.id, "tour");
    page.check(["Approved", "同意后"], approved.success && happened(first), ["ran once", "执行一次"], approved.display);
    await haft.execute(tool, second);
    const declined = await haft.deny((await haft.approvals.list("open"))[0]!.id, "not today");
    page.check(
      ["Declined", "拒绝后"],
      declined.status === "failed" && declined.error.code === "declined" && !happened(second),
      ["never ran", "没有执行"],
      declined.display,
    );
  },
};
