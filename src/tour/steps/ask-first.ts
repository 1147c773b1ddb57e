import type { TourStep } from "../tour.ts";

export const askFirst: TourStep = {
  title: ["Ask a person first", "先征求用户确认"],
  async run({ haft, page }) {
    const sent: string[] = [];
    haft.register({
      name: "send_letter",
      description: "Send a letter",
      kind: "execute",
      permission: "confirm",
      parameters: [{ name: "to", type: "string", description: "Whom to write to" }],
      run: (input) => {
        sent.push(String((input as { to: string }).to));
        return "sent";
      },
    });
    const asked = await haft.execute("send_letter", { to: "ada" });
    page.check(
      ["Called", "调用"],
      asked.status === "pending" && sent.length === 0,
      ["pending, has not run", "等待确认，尚未执行"],
      asked.status,
    );
    const open = haft.approvals.list("open");
    page.check(
      ["Question", "请求"],
      open.length === 1 && open[0]!.toolName === "send_letter" && JSON.stringify(open[0]!.input) === '{"to":"ada"}',
      ["shows the call, exactly", "显示完整的调用"],
    );
    const approved = await haft.approve(open[0]!.id, "tour");
    page.check(
      ["Approved", "同意后"],
      approved.success && sent.join() === "ada",
      ["ran once", "执行一次"],
      approved.display,
    );
    await haft.execute("send_letter", { to: "bob" });
    const declined = await haft.decline(haft.approvals.list("open")[0]!.id, "not today");
    page.check(
      ["Declined", "拒绝后"],
      declined.status === "failed" && declined.error.code === "declined" && sent.length === 1,
      ["never ran", "没有执行"],
      declined.display,
    );
    haft.registry.unregister("send_letter");
  },
};
