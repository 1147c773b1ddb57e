import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";
import { CodeText } from "./code-text.tsx";
import { VisibleText } from "./visible-text.tsx";

/** Longer or deeper texts are shown as they are: nobody reads them, and drawing them may take long. */
const MAX_LENGTH = 50_000;
const MAX_DEPTH = 20;

/**
 * Markdown that a model wrote, as elements and never as HTML: tags are shown as text, pictures are not fetched, and a link
 * says where it leads.
 */
export default function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => read(text), [text]);
  if (!tokens) return <VisibleText as="p" className="pre words" text={text} />;
  return <div className="markdown words">{draw(tokens, 0)}</div>;
}

function read(text: string): Token[] | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return lexer(text, { gfm: true, breaks: true });
  } catch {
    // Its nesting is too deep to be read.
    return undefined;
  }
}

function draw(tokens: readonly Token[] = [], depth: number): ReactNode {
  return tokens.map((token, at) => (
    <Fragment key={at}>
      {depth > MAX_DEPTH ? <VisibleText text={token.raw} /> : drawOne(token as MarkedToken, depth + 1)}
    </Fragment>
  ));
}

function drawOne(token: MarkedToken, depth: number): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "heading":
      // The page has its own headings: these are parts of what somebody said.
      return <p className={`markdown-heading level-${Math.min(token.depth, 4)}`}>{draw(token.tokens, depth)}</p>;
    case "paragraph":
      return <p>{draw(token.tokens, depth)}</p>;
    case "blockquote":
      return <blockquote>{draw(token.tokens, depth)}</blockquote>;
    case "list":
      return drawList(token, depth);
    case "list_item":
      return draw(token.tokens, depth);
    case "code":
      return (
        <pre className="code" tabIndex={0}>
          <CodeText text={token.text} language={token.lang ?? ""} />
        </pre>
      );
    case "table":
      return drawTable(token, depth);
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{draw(token.tokens, depth)}</strong>;
    case "em":
      return <em>{draw(token.tokens, depth)}</em>;
    case "del":
      return <del>{draw(token.tokens, depth)}</del>;
    case "codespan":
      return <VisibleText as="code" text={token.text} />;
    case "link":
    case "image":
      return <Link token={token} depth={depth} />;
    case "text":
      return token.tokens ? draw(token.tokens, depth) : <VisibleText text={token.text} />;
    case "escape":
      return <VisibleText text={token.text} />;
    case "html":
      return <VisibleText text={token.raw} />;
  }
}

function drawList({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const lines = items.map(({ tokens, task, checked }, at) => (
    <li key={at}>
      {task ? (checked ? "☑ " : "☐ ") : null}
      {draw(tokens, depth)}
    </li>
  ));
  return ordered ? <ol start={Number(start) || 1}>{lines}</ol> : <ul>{lines}</ul>;
}

function drawTable({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    <div className="scroll-x" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              <th key={at}>{draw(tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, at) => (
                <td key={at}>{draw(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Link({ token: { href, text, tokens }, depth }: { token: Tokens.Link | Tokens.Image; depth: number }) {
  const shown = tokens && tokens.length > 0 ? draw(tokens, depth) : <VisibleText text={text || href} />;
  const host = URL.canParse(href) && /^https?:/i.test(href) ? new URL(href).host : undefined;
  if (host === undefined) return text === href ? shown : <span title={href}>{shown}</span>;
  return (
    <>
      <a href={href} target="_blank" rel="noreferrer noopener" title={href}>
        {shown}
      </a>
      {text.includes(host) ? null : <span className="muted small"> ({host})</span>}
    </>
  );
}
