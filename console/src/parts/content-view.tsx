import type { ToolResult } from "../../../src/contracts/basics.ts";
import { DiffView } from "./diff-view.tsx";
import { looksLikeDiff } from "./diff/parse-diff.ts";
import { TerminalText } from "./terminal-text.tsx";
import { VisibleText } from "./visible-text.tsx";

type Block = ToolResult["content"][number];

/** The content of a result. Nothing of it is executed or read as markup. */
export function ContentView({ content }: { content: readonly Block[] }) {
  return (
    <div className="stack">
      {content.map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { block: Block }) {
  switch (block.type) {
    case "text":
      return looksLikeDiff(block.text) ? (
        <DiffView text={block.text} />
      ) : (
        <pre className="code">
          <TerminalText text={block.text} />
        </pre>
      );
    case "image":
      return isPicture(block.mimeType) ? (
        <img className="picture" src={`data:${block.mimeType};base64,${block.data}`} alt={block.mimeType} />
      ) : (
        <Named kind={block.mimeType} />
      );
    case "audio":
      return <audio controls src={`data:${block.mimeType};base64,${block.data}`} />;
    case "resource":
      return typeof block.resource.text === "string" ? (
        <VisibleText as="pre" className="code" text={block.resource.text} />
      ) : (
        <Named kind={block.resource.uri} />
      );
    case "resource_link":
      return <Named kind={block.uri} />;
  }
}

function Named({ kind }: { kind: string }) {
  return <VisibleText as="p" className="mono small muted" text={kind} />;
}

/** No SVG: it can contain scripts, which run when the image is opened on its own. */
function isPicture(mimeType: string): boolean {
  return /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/.test(mimeType);
}
