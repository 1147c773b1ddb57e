import { useState } from "react";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { formatNumber } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { Table } from "../../parts/table.tsx";

const words = defineWords({
  title: ["What tools cost the context", "工具占用的上下文"],
  shown: ["Shown to a model", "向模型展示"],
  all: ["All definitions", "全部定义"],
  returned: ["Returned", "返回"],
  about: ["about", "约"],
  tokens: ["tokens", "词元"],
  tool: ["Tool", "工具"],
  definition: ["Definition", "定义"],
  compact: ["Compact", "精简"],
  seen: ["Shown", "展示"],
  yes: ["yes", "是"],
  bySearch: ["by search", "需搜索"],
  calls: ["Calls", "调用"],
  more: ["Show all", "显示全部"],
  counted: ["Definitions are counted in", "定义的计数方式："],
  estimated: [
    "Definitions are estimated; install gpt-tokenizer to count them.",
    "定义为估算值；安装 gpt-tokenizer 以精确计数。",
  ],
  fromBytes: ["What was returned is estimated from its bytes.", "返回内容按字节数估算。"],
});

const FIRST = 15;

/** A model pays for definitions at every step, and for a result from the step after it. */
export function TokenCosts({ from, to }: { from: number; to: number }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const { data, error, refetch } = useApi("statistics", "tokens", [{ from, to }]);
  if (error) return <Failure error={error} again={() => void refetch()} />;
  if (!data) return null;
  const shown = data.tools.filter(({ isShown }) => isShown).length;
  const rows = isWhole ? data.tools : data.tools.slice(0, FIRST);
  return (
    <Panel title={w.title} isBare>
      <div className="body">
        <p className="small muted">
          {w.shown}: {shown} / {data.tools.length}, {formatNumber(data.shownTokens, language)} {w.tokens}. {w.all}:{" "}
          {formatNumber(data.allTokens, language)}. {w.returned}: {w.about} {formatNumber(data.resultTokens, language)}.{" "}
          {data.counter === "estimate" ? w.estimated : `${w.counted} ${data.counter}.`} {w.fromBytes}
        </p>
      </div>
      <Table
        label={w.title}
        isNumbers
        rows={rows}
        keyOf={({ tool }) => tool}
        columns={[
          { head: w.tool, look: "mono", cell: ({ tool }) => tool },
          { head: w.definition, cell: (row) => row.definitionTokens },
          { head: w.compact, look: "muted", cell: (row) => row.compactTokens },
          {
            head: w.seen,
            look: ({ isShown }) => (isShown ? "" : "muted"),
            cell: ({ isShown }) => (isShown ? w.yes : w.bySearch),
          },
          { head: w.calls, cell: (row) => row.calls },
          { head: w.returned, look: "muted", cell: (row) => `~${row.resultTokens}` },
        ]}
      />
      {rows.length < data.tools.length ? (
        <div className="body">
          <Button look="small" text={`${w.more} (${data.tools.length})`} onClick={() => setWhole(true)} />
        </div>
      ) : null}
    </Panel>
  );
}
