import { FileStack } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { ArtifactInfo } from "../../../../src/contracts/artifacts.ts";
import { useApi } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { countOf } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Select } from "../../parts/select.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { ArtifactView } from "./artifact-view.tsx";

const words = defineWords({
  title: ["Artifacts", "文档"],
  lead: [
    "Documents that agents create and change. Every version is kept.",
    "由代理创建和修改的文档；每个版本都会保留。",
  ],
  none: ["No artifacts yet", "还没有文档"],
  noneLead: ["Agents create them with the tool create_artifact.", "代理用工具 create_artifact 创建文档。"],
  session: ["Session", "会话"],
  anySession: ["All sessions", "全部会话"],
  versions: (count: number) => [countOf(count, "version"), `${count} 个版本`],
  output: ["output of a call", "调用的输出"],
  newest: ["Newest", "最新"],
  more: ["More", "更多"],
});

/** `/artifacts/{id}/{session}`. The session is optional. */
export default function ArtifactsView() {
  const [location] = useLocation();
  const id = pathPart(location, 2);
  if (id === "") return <ArtifactList />;
  return <ArtifactView key={location} id={id} session={pathPart(location, 3)} />;
}

function ArtifactList() {
  const w = useWords(words);
  const [params, setParams] = useSearchParams();
  const session = params.get("session") ?? "";
  const [cursor, setCursor] = useState<string>();
  const query = useApi("artifacts", "list", [{ session: session || undefined, cursor, limit: 100 }]);
  const { data } = query;
  const artifacts = data?.items ?? [];
  const sessions = [
    ...new Set([...artifacts.flatMap((one) => one.session ?? []), ...(session ? [session] : [])]),
  ].sort();
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        sessions.length > 0 ? (
          <Select
            label={w.session}
            value={session}
            options={[["", w.anySession], ...sessions]}
            onChoose={(name) => {
              setParams(name === "" ? {} : { session: name }, { replace: true });
              setCursor(undefined);
            }}
          />
        ) : null
      }
    >
      <Loaded query={query}>{() => null}</Loaded>
      {data && artifacts.length === 0 ? <Empty isPanel icon={FileStack} title={w.none} lead={w.noneLead} /> : null}
      {artifacts.length > 0 ? (
        <div className="panel">
          <ul className="stack rows">
            {artifacts.map((artifact) => (
              <Row key={`${artifact.session ?? ""}/${artifact.id}`} artifact={artifact} />
            ))}
          </ul>
        </div>
      ) : null}
      <div className="row">
        {cursor === undefined ? null : <Button text={w.newest} onClick={() => setCursor(undefined)} />}
        {data?.next ? <Button text={w.more} onClick={() => setCursor(data.next)} /> : null}
      </div>
    </PageFrame>
  );
}

function Row({ artifact }: { artifact: ArtifactInfo }) {
  const w = useWords(words);
  const { id, session = "", title, version, origin, contentType, updatedAt } = artifact;
  const facts = [title === id ? "" : id, contentType.split(";")[0], session && `${w.session}: ${session}`];
  return (
    <li>
      <Link href={`/artifacts/${encodeURIComponent(id)}/${encodeURIComponent(session)}`}>
        <span className="row">
          <VisibleText as="strong" className="cut" text={title} />
          {origin === "output" ? <span className="badge">{w.output}</span> : null}
          <span className="grow" />
          <span className="badge">{w.versions(version)}</span>
        </span>
        <span className="row small muted">
          <VisibleText className="grow cut" text={facts.filter(Boolean).join(" · ")} />
          <TimeAgo at={updatedAt} />
        </span>
      </Link>
    </li>
  );
}
