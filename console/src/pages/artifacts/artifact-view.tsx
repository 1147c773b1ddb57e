import { History } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { ArtifactDetail, ArtifactVersionInfo } from "../../../../src/contracts/artifacts.ts";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import { api, endpointUrl, queries, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CodeText } from "../../parts/code-text.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { Failure } from "../../parts/failure.tsx";
import { languageOf } from "../../parts/highlight.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Select } from "../../parts/select.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useThemeFragment } from "../../theme.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { VersionList } from "./version-list.tsx";

const words = defineWords({
  views: ["What to show", "显示内容"],
  rendered: ["Document", "文档"],
  source: ["Source", "源码"],
  frame: ["The document, isolated from this console", "文档，与此控制台隔离"],
  changes: ["Changes", "改动"],
  compare: ["Compare with", "对比版本"],
  copy: ["Copy text", "复制正文"],
  back: ["All artifacts", "全部文档"],
  version: (shown: number, newest: number) => [
    shown === newest ? `version ${shown}` : `version ${shown} of ${newest}`,
    shown === newest ? `版本 ${shown}` : `版本 ${shown}（最新为 ${newest}）`,
  ],
  first: ["This is the first version.", "这是第一个版本，之前没有内容。"],
  same: ["The two versions are the same.", "两个版本相同。"],
  cut: ["The rest of the diff is omitted.", "其余差异已省略。"],
  restore: ["Restore this version", "恢复此版本"],
  restored: ["Restored as a new version.", "已恢复为新版本。"],
});

interface Shown {
  id: string;
  session: string;
}

/** One version of a document, and the difference to another version. */
export function ArtifactView({ id, session }: Shown) {
  const w = useWords(words);
  const mayCall = useScope("call");
  const [params, setParams] = useSearchParams();
  const chosen = Number(params.get("version")) || undefined;
  const query = useApi("artifacts", "get", [id, { session, version: chosen }]);
  const { data } = query;
  const look = data ? lookOf(data) : "source";
  const tab = TABS.find((one) => one === params.get("view")) ?? (look === "source" ? "source" : "rendered");
  const set = (name: string, value: string | undefined): void =>
    setParams(
      (now) => {
        if (value === undefined) now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  const tabs = { rendered: w.rendered, source: w.source, changes: w.changes };
  const versions = useApi("artifacts", "versions", [id, { session }]).data?.items ?? [];
  return (
    <PageFrame
      title={data?.title ?? id}
      lead={
        data ? (
          <VisibleText text={`${id} · ${w.version(data.shown.version, data.version)} · ${data.contentType}`} />
        ) : undefined
      }
      actions={
        <>
          {data ? <CopyButton text={data.content} label={w.copy} /> : null}
          {mayCall && data && data.shown.version < data.version ? <Restore artifact={data} session={session} /> : null}
          <Button text={w.back} href="/artifacts" />
        </>
      }
    >
      <Loaded query={query}>
        {(shown) => (
          <>
            <VersionList
              versions={versions}
              shown={shown.shown.version}
              onChoose={(version) => set("version", version === versions[0]?.version ? undefined : String(version))}
            />
            <Tabs
              label={w.views}
              tabs={look === "source" ? { source: w.source, changes: w.changes } : tabs}
              chosen={tab}
              onChoose={(one) => set("view", one)}
            />
            {tab === "rendered" ? <Rendered artifact={shown} session={session} /> : null}
            {tab === "source" ? <Source artifact={shown} /> : null}
            {tab === "changes" ? (
              <Changes
                key={shown.shown.version}
                id={id}
                session={session}
                to={shown.shown.version}
                versions={versions}
              />
            ) : null}
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

const TABS = ["rendered", "source", "changes"] as const;
/** The server draws these. */
const DRAWN = /^(?:text\/(?:markdown|html|vnd\.mermaid)|image\/svg\+xml)\b/i;
const PICTURE = /^image\/(?:png|jpeg|gif|webp|avif|bmp)\b/i;
/** How a document can be shown: drawn in a sealed frame, as a picture, or as its source. */
function lookOf({ contentType, content }: ArtifactDetail): "frame" | "picture" | "source" {
  if (DRAWN.test(contentType)) return "frame";
  return PICTURE.test(contentType) && /^[\w+/=\s]+$/.test(content) ? "picture" : "source";
}

function Rendered({ artifact, session }: { artifact: ArtifactDetail; session: string }) {
  const w = useWords(words);
  const { id, title, contentType, content, shown } = artifact;
  const dark = useThemeFragment();
  if (lookOf(artifact) === "picture") {
    return <img className="picture" src={`data:${contentType};base64,${content.replaceAll(/\s/g, "")}`} alt={title} />;
  }
  const query = { session: session || undefined, version: String(shown.version) };
  return (
    // Without allow-same-origin it has no origin: no cookie, no storage, nothing of this page.
    <iframe
      key={`${shown.version}${dark}`}
      className="canvas"
      title={w.frame}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      src={`${endpointUrl(`/api/artifacts/${encodeURIComponent(id)}/document`, query).href}${dark}`}
    />
  );
}

function Source({ artifact: { id, contentType, content } }: { artifact: ArtifactDetail }) {
  const w = useWords(words);
  // `image/svg+xml`, `text/x-python`: by its name, or as a file with that ending.
  const type = contentType.split(/[/;]/)[1]?.trim().toLowerCase().split(/\+|x-/).at(-1) ?? "";
  return (
    <pre className="code artifact" tabIndex={0} aria-label={w.source}>
      <CodeText
        text={content}
        language={languageOf(`.${type}`) ?? (type === "plain" ? (languageOf(id) ?? "") : type)}
      />
    </pre>
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
        <Select
          value={String(from)}
          options={others.map((version) => [String(version), `v${version}`] as const)}
          onChoose={(version) => setFrom(Number(version))}
        />
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
      <span role="status" className={result.status === "completed" ? "badge ok" : "badge bad"}>
        {result.status === "completed" ? w.restored : result.display}
      </span>
    );
  }
  return <Button icon={History} text={w.restore} onClick={() => void restore()} />;
}
