import { EyeOff, Presentation } from "lucide-react";
import { useSearchParams } from "wouter";
import type { CanvasSurface } from "../../../../src/contracts/canvas.ts";
import { api, endpointUrl, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Select } from "../../parts/select.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useThemeFragment } from "../../theme.ts";
import { OneLine } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Canvas", "画布"],
  lead: [
    "What agents show you. It is isolated: it cannot reach this console or the network.",
    "代理展示给你的内容。内容已被隔离，无法访问此控制台和网络。",
  ],
  none: ["Nothing is shown", "没有展示内容"],
  noneLead: [
    "Agents use the tool canvas to show a page, a picture, text or a diagram.",
    "代理用工具 canvas 展示网页、图片、文本或图表。",
  ],
  session: ["Session", "会话"],
  noSession: ["(no session)", "（无会话）"],
  hide: ["Hide", "隐藏"],
  artifact: ["All versions", "全部版本"],
  open: ["Open the page", "打开网页"],
  frame: ["What the agent shows", "代理展示的内容"],
});

export default function CanvasView() {
  const w = useWords(words);
  const [params, setParams] = useSearchParams();
  const chosen = params.get("session") ?? undefined;
  const query = useApi("canvas", "list", []);
  const { data } = query;
  const surfaces = data?.items ?? [];
  const surface = surfaces.find(({ session = "" }) => session === chosen) ?? surfaces[0];
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        surfaces.length > 1 ? (
          <Select
            label={w.session}
            value={surface?.session ?? ""}
            options={surfaces.map(({ session = "" }) => [session, session || w.noSession] as const)}
            onChoose={(session) => setParams({ session }, { replace: true })}
          />
        ) : null
      }
    >
      <Loaded query={query}>{() => null}</Loaded>
      {data && !surface ? <Empty isPanel icon={Presentation} title={w.none} lead={w.noneLead} /> : null}
      {surface ? <Shown surface={surface} /> : null}
    </PageFrame>
  );
}

function Shown({ surface }: { surface: CanvasSurface }) {
  const w = useWords(words);
  const [failure, act] = useAction("canvas");
  const mayCall = useScope("call");
  const { session = "", artifact, version, kind, title, url, at } = surface;
  const dark = useThemeFragment();
  const v = `${artifact}-${version}-${at}`;
  const hide = (): void =>
    act(api.calls.execute({ tool: "canvas", input: { action: "hide" }, session: session || undefined }));
  return (
    <section className="stack" aria-label={title}>
      <div className="row">
        <h2 className="grow canvas-title">
          <OneLine text={title} />
        </h2>
        <span className="small muted">
          {kind} · <TimeAgo at={at} />
        </span>
        {url !== undefined && /^https?:\/\//.test(url) ? (
          <a className="button small" href={url} target="_blank" rel="noopener noreferrer">
            {w.open}
          </a>
        ) : null}
        <Button look="small" href={`/artifacts/${encodeURIComponent(artifact)}/${encodeURIComponent(session)}`}>
          {w.artifact}
        </Button>
        <Button look="small" icon={EyeOff} text={w.hide} disabled={!mayCall} onClick={hide} />
      </div>
      {failure}
      {/* Without allow-same-origin it has no origin: no cookie, no storage, nothing of this page. */}
      <iframe
        key={`${v}${dark}`}
        className="canvas"
        title={w.frame}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        src={`${endpointUrl("/api/canvas/document", { session: session || undefined, v: `${v}` }).href}${dark}`}
      />
    </section>
  );
}
