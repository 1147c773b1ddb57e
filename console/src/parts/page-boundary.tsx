import { Component, type ReactNode, useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";
import { queries } from "../api.ts";
import { useConnection } from "../connection.ts";
import { defineWords, useWords } from "../language.tsx";
import { ChunkError } from "../lazy-page.tsx";
import { Button } from "./button.tsx";
import { Failure } from "./failure.tsx";
import { PageFrame } from "./page-frame.tsx";

const words = defineWords({
  title: ["This page failed", "此页面出错"],
  lead: ["The other pages work. Try again, or reload the console.", "其他页面仍可使用。请重试，或重新加载控制台。"],
  chunk: [
    "The code of this page could not be loaded. The server may have been upgraded: reload the console.",
    "无法加载此页面的代码。服务器可能已升级：请重新加载控制台。",
  ],
  reload: ["Reload", "重新加载"],
});

interface BoundaryProps {
  children: ReactNode;
  /** Before the page is shown again. */
  onRetry?: () => void;
}

/** A page that throws shows what went wrong; the rest of the console stays usable. Give it the path of the page as key. */
export class PageBoundary extends Component<BoundaryProps, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(thrown: unknown): { error: Error } {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  readonly #retry = (): void => {
    this.props.onRetry?.();
    // A page that cannot show what it fetched starts without it.
    queries.removeQueries({ type: "inactive" });
    void queries.invalidateQueries();
    this.setState({ error: undefined });
  };

  override render(): ReactNode {
    const { error } = this.state;
    return error ? <BrokenPage error={error} retry={this.#retry} /> : this.props.children;
  }
}

function BrokenPage({ error, retry }: { error: Error; retry: () => void }) {
  const w = useWords(words);
  const { isReachable } = useConnection();
  const isChunk = error instanceof ChunkError;
  const wasAway = useRef(false);
  useEffect(() => {
    if (isChunk && isReachable && wasAway.current) retry();
    wasAway.current = !isReachable;
  }, [isChunk, isReachable, retry]);
  const [path] = useLocation();
  const place = `${path}?${useSearch()}`;
  const brokenAt = useRef(place);
  useEffect(() => {
    // Another address of the same page may work.
    if (brokenAt.current !== place) retry();
    brokenAt.current = place;
  }, [place, retry]);
  return (
    <PageFrame
      title={w.title}
      lead={isChunk ? w.chunk : w.lead}
      actions={<Button text={w.reload} onClick={() => location.reload()} />}
    >
      <Failure error={error} again={retry} />
    </PageFrame>
  );
}
