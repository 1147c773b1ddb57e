import { Lightbulb } from "lucide-react";
import { useState } from "react";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { ProposalBody, useProposals } from "./proposals.tsx";

const words = defineWords({
  often: (count: number) => [
    `You have said yes ${count} times to calls like this one.`,
    `你已 ${count} 次同意类似的调用。`,
  ],
  saved: ["The rules are saved. This call still waits for your answer.", "规则已保存。此调用仍在等待你的回答。"],
});

const MIN_SAVED = 5;

/** A rule that would have saved this question, after the fifth yes to one like it. */
export default function CardProposal({ approval }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const canChange = useScope("approve");
  const [isSaved, setSaved] = useState(false);
  const { data } = useProposals();
  const { toolName: tool, callId, caller } = approval;
  const proposal = data?.items.find((each) => each.tool === tool && each.saved >= MIN_SAVED);
  // The judge of the gate says whether the rules cover this call: it waits, so it is among the first.
  const rule = proposal?.rules.join("\n") ?? "";
  const { data: effect } = useApi("policy", "effect", proposal && [{ rule, tool, session: caller.session }]);
  const covers = effect?.samples.some((sample) => sample.callId === callId) ?? false;
  if (isSaved) return <p className="notice">{w.saved}</p>;
  if (!proposal || !covers) return null;
  return (
    <section className="notice card-proposal" aria-label={w.often(proposal.saved)}>
      <Lightbulb size={16} aria-hidden />
      <div className="proposal-row">
        <p className="proposal-facts">{w.often(proposal.saved)}</p>
        <ProposalBody proposal={proposal} canChange={canChange} hasKey onAccepted={() => setSaved(true)} />
      </div>
    </section>
  );
}
