import { Check, EyeOff } from "lucide-react";
import type { PolicyProposal } from "../../../../src/contracts/policy.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button, SureButton } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import "./policy.css";

const words = defineWords({
  title: ["Proposed rules", "建议的规则"],
  lead: ["Learned from your answers. Nothing applies until you accept it.", "根据你的回答得出。接受之前不会生效。"],
  saves: (saved: number, sessions: number) => [
    `Would have saved ${countOf(saved, "question")} in ${countOf(sessions, "session")}.`,
    `可省去 ${sessions} 个会话中的 ${saved} 次询问。`,
  ],
  also: (count: number) => [
    `Would also allow ${countOf(count, "recorded call")} without a yes.`,
    `还会允许 ${count} 次未经同意的已记录调用。`,
  ],
  open: [
    "Values at *, <name>, <number>, <id>, <hex> and <text> are open: nobody is asked about new ones.",
    "*、<name>、<number>、<id>、<hex> 和 <text> 处的值是开放的：新值不再询问。",
  ],
  exact: [
    "Only calls with exactly these values, and numbers between the smallest and the largest that were seen.",
    "仅限这些确切的值，以及已出现的最小值与最大值之间的数字。",
  ],
  changes: ["Other tools may change or delete these files as well.", "其他工具也可以更改或删除这些文件。"],
  tried: (count: number) => [
    `None of ${countOf(count, "made-up call")} beside it is allowed.`,
    `旁边的 ${count} 个虚构调用均不被允许。`,
  ],
  such: ["such as", "例如"],
  accept: ["Accept", "接受"],
  never: ["Never propose this", "不再建议"],
  sure: ["Really never?", "确定不再建议？"],
  keyAccept: ["Accept the first proposed rule", "接受第一条建议的规则"],
});

/** Of the last 30 days. */
export function useProposals() {
  return useApi("policy", "proposals", [{}]);
}

/** Nothing is shown while there is nothing to propose. */
export function Proposals({ canChange }: { canChange: boolean }) {
  const w = useWords(words);
  const { data } = useProposals();
  if (!data || data.items.length === 0) return null;
  return (
    <Panel title={w.title} isBare>
      <p className="small muted rule-none">{w.lead}</p>
      <ul className="plain-list">
        {data.items.map((proposal, at) => (
          <li key={proposal.id} className="list-row proposal-row" aria-label={proposal.rules.join(", ")}>
            <ProposalBody proposal={proposal} canChange={canChange} hasKey={at === 0} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** What it saves, what it leaves open, and the answers. */
export function ProposalBody(props: {
  proposal: PolicyProposal;
  canChange: boolean;
  hasKey: boolean;
  onAccepted?: () => void;
}) {
  const w = useWords(words);
  const { proposal, canChange, hasKey, onAccepted } = props;
  const { id, rules, saved, sessions, unanswered, neighbours, examples } = proposal;
  const [failure, act] = useAction("policy");
  const accept = (): void => act(api.policy.answerProposal({ id, answer: "accept" }), onAccepted);
  useKeys(canChange && hasKey ? { p: { label: w.keyAccept, run: accept } } : {});
  const isOpen = rules.some((rule) => /\*|<(?:hex|id|name|number|text)>/.test(rule));
  return (
    <>
      <code className="rule-text">
        {rules.map((rule) => (
          <div key={rule}>
            <VisibleText text={rule} />
          </div>
        ))}
      </code>
      <div className="small muted proposal-facts">
        <div>
          {w.saves(saved, sessions)} {w.tried(neighbours)}
        </div>
        <div>
          {isOpen ? w.open : w.exact} {rules.some((rule) => rule.startsWith("Edit(")) ? w.changes : null}
        </div>
        {unanswered > 0 ? <div className="field-error">{w.also(unanswered)}</div> : null}
        {examples.length === 0 ? null : (
          <div>
            {w.such} <VisibleText className="mono" text={examples.slice(0, 2).join(", ")} />
          </div>
        )}
      </div>
      {canChange ? (
        <span className="row proposal-actions">
          <Button
            look="small primary"
            icon={Check}
            hotkey={hasKey ? "p" : undefined}
            text={w.accept}
            onClick={accept}
          />
          <SureButton
            look="small plain"
            icon={EyeOff}
            text={w.never}
            sure={w.sure}
            onSure={() => act(api.policy.answerProposal({ id, answer: "never" }))}
          />
        </span>
      ) : null}
      {failure}
    </>
  );
}
