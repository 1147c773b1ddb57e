import { History } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { ArtifactDetail, ArtifactVersionInfo } from "../../../../src/contracts/artifacts.ts";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { VersionList } from "./version-list.tsx";

const words = defineWords({
  en: {
    views: "What to show",
    content: "Text",
    changes: "Changes",
    compare: "Compare with",
    copy: "Copy text",
    back: "All artifacts",
    version: (shown: number, newest: number) =>
      shown === newest ? `version ${shown}` : `version ${shown} of ${newest}`,
    first: "This is the first version: there is nothing before it.",
    same: "The two versions are the same.",
    cut: "The rest of the difference is left out.",
    restore: "Restore this version",
    restored: "Restored as a new version.",
  },
  zh: {
    views: "显示内容",
    content: "正文",
    changes: "改动",
    compare: "对比版本",
    copy: "复制正文",
    back: "全部文档",
    version: (shown: number, newest: number) =>
      shown === newest ? `版本 ${shown}` : `版本 ${shown}（最新为 ${newest}）`,
    first: "这是第一个版本，之前没有内容。",
    same: "两个版本相同。",
    cut: "其余差异已省略。",
    restore: "恢复此版本",
    restored: "已恢复为新版本。",
  },
});

interface Shown {
  id: string;
  session: string;
}

/** One version of a document, and the difference to another version. */
export function ArtifactView({ id, session }: Shown) {
  const w = useWords(words);
  const [chosen, setChosen] = useState<number>();
  const [tab, setTab] = useState<"content" | "changes">("content");
  const { data, error } = useApi("artifacts", "get", [id, { session, version: chosen }]);
  const versions = useApi("artifacts", "versions", [id, { session }]).data?.items ?? [];
  return (
    <PageFrame
      title={id}
      lead={data ? <VisibleText text={`${data.title} · ${w.version(data.shown.version, data.version)}`} /> : undefined}
      actions={
        <>
          {data ? <CopyButton text={data.content} label={w.copy} /> : null}
          {data && data.shown.version < data.version ? <Restore artifact={data} session={session} /> : null}
          <Link className="button" href="/artifacts">
            {w.back}
          </Link>
        </>
      }
    >
      {error ? <Failure error={error} /> : null}
      <VersionList
        versions={versions}
        shown={data?.shown.version}
        onChoose={(version) => setChosen(version === versions[0]?.version ? undefined : version)}
      />
      <Tabs
        label={w.views}
        tabs={[
          ["content", w.content],
          ["changes", w.changes],
        ]}
        chosen={tab}
        onChoose={setTab}
      />
      {data && tab === "content" ? (
        <pre className="code artifact" tabIndex={0} aria-label={w.content}>
          <VisibleText text={data.content} />
        </pre>
      ) : null}
      {data && tab === "changes" ? (
        <Changes key={data.shown.version} id={id} session={session} to={data.shown.version} versions={versions} />
      ) : null}
    </PageFrame>
  );
}

function Changes(props: { id: string; session: string; to: number; versions: readonly ArtifactVersionInfo[] }) {
  const w = useWords(words);
  const { id, session, to, versions } = props;
  const others = versions.map(({ version }) => version).filter((version) => version !== to);
  const [from, setFrom] = useState(to > 1 ? to - 1 : others[0]);
  const { data, error } = useApi("artifacts", "diff", from === undefined ? undefined : [id, { session, from, to }]);
  if (from === undefined) return <p className="muted">{w.first}</p>;
  return (
    <>
      <label className="row">
        <span className="small muted">{w.compare}</span>
        <select className="select narrow" value={from} onChange={({ target }) => setFrom(Number(target.value))}>
          {others.map((version) => (
            <option key={version} value={version}>
              v{version}
            </option>
          ))}
        </select>
        {data ? (
          <span className="small muted mono">
            +{data.added} −{data.removed}
          </span>
        ) : null}
      </label>
      {error ? <Failure error={error} /> : null}
      {data && data.text === "" ? <p className="muted">{w.same}</p> : null}
      {data && data.text !== "" ? <DiffView text={data.text} /> : null}
      {data?.truncated ? <p className="muted">{w.cut}</p> : null}
    </>
  );
}

/** An ordinary call through the gate. It fails if someone else changed the document in the meantime. */
function Restore({ artifact, session }: { artifact: ArtifactDetail; session: string }) {
  const w = useWords(words);
  const [result, setResult] = useState<ToolResult>();
  const [error, setError] = useState<Error>();
  const restore = async (): Promise<void> => {
    const input = { id: artifact.id, content: artifact.content, expected_version: artifact.version };
    try {
      setResult(await api.calls.execute({ tool: "rewrite_artifact", input, session: session || undefined }));
      await queries.invalidateQueries({ queryKey: ["artifacts"] });
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  if (error) return <Failure error={error} />;
  if (result) {
    return (
      <span role="status" className={result.success ? "badge ok" : "badge bad"}>
        {result.success ? w.restored : result.display}
      </span>
    );
  }
  return (
    <button className="button" onClick={() => void restore()}>
      <History size={15} aria-hidden /> {w.restore}
    </button>
  );
}
