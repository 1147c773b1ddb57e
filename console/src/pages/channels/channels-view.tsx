import { Send } from "lucide-react";
import { useState } from "react";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import type { ChannelInfo } from "../../../../src/contracts/channels.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { Select } from "../../parts/select.tsx";
import { OneLine, VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Channels", "消息渠道"],
  lead: [
    "Where agents can send messages: only these channels, and only to the targets in the configuration.",
    "代理只能通过这些渠道发消息，且只能发给配置中的目标。",
  ],
  ready: ["ready", "就绪"],
  notReady: ["not ready", "未就绪"],
  incomplete: ["The configuration is not complete:", "配置不完整："],
  target: ["Target", "目标"],
  test: ["Send a test message", "发送测试消息"],
  sending: ["Sending…", "发送中…"],
  targets: ["Who gets messages", "收件人"],
  can: ["What agents can do", "代理可以做什么"],
  none: ["No channel is set up", "还没有设置渠道"],
  noneLead: [
    "Add one under message.channels in haft.config.yml. Without a channel, there is no message tool.",
    "在 haft.config.yml 的 message.channels 中添加一个。在此之前没有 message 工具。",
  ],
});

const EXAMPLE = `message:
  channels:
    team:
      type: slack
      token: \${SLACK_BOT_TOKEN}
      targets: { general: C0123456789 }`;

export default function ChannelsView() {
  const w = useWords(words);
  const query = useApi("channels", "list", []);
  return (
    <PageFrame title={w.title} lead={w.lead}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon={Send} title={w.none} lead={w.noneLead}>
              <pre className="code">{EXAMPLE}</pre>
            </Empty>
          ) : (
            items.map((channel) => <ChannelPanel key={channel.name} channel={channel} />)
          )
        }
      </Loaded>
    </PageFrame>
  );
}

function ChannelPanel({ channel: { name, type, targets, actions, problem } }: { channel: ChannelInfo }) {
  const w = useWords(words);
  const mayCall = useScope("call");
  const [to, setTo] = useState(targets[0] ?? "");
  const [isSending, setSending] = useState(false);
  const [result, setResult] = useState<ToolResult>();
  const [error, setError] = useState<Error>();
  const test = (): void => {
    setSending(true);
    setResult(undefined);
    setError(undefined);
    api.channels
      .test(name, { to })
      .then(setResult, setError)
      .finally(() => setSending(false));
  };
  return (
    <section className="panel" aria-label={name}>
      <header>
        <h2>
          <OneLine text={name} />
        </h2>
        <span className="badge">{type}</span>
        <span className={`badge ${problem === undefined ? "ok" : "warn"}`}>
          {problem === undefined ? w.ready : w.notReady}
        </span>
        <span className="grow" />
        {targets.length > 1 ? (
          <Select label={`${w.target}: ${name}`} value={to} options={targets} onChoose={setTo} />
        ) : null}
        <Button look="small" icon={Send} disabled={!mayCall || problem !== undefined || isSending} onClick={test}>
          {isSending ? w.sending : w.test}
        </Button>
      </header>
      <div className="body">
        {problem === undefined ? null : (
          <p className="notice warn">
            <span>
              {w.incomplete} <VisibleText lang="en" text={problem} />
            </span>
          </p>
        )}
        <Facts
          facts={[
            [w.targets, <VisibleText text={targets.join(", ")} />],
            [w.can, actions.join(", "), "mono"],
          ]}
        />
        {error ? <Failure error={error} /> : null}
        {result ? (
          <div aria-live="polite">
            <ResultView result={result} />
          </div>
        ) : null}
      </div>
    </section>
  );
}
