import type { ReactNode } from "react";
import { Failure } from "./failure.tsx";
import { Skeleton } from "./skeleton.tsx";

interface Query<Data> {
  data: Data | undefined;
  error: Error | null;
  refetch(): unknown;
}

/** The three states of what a page fetches: loading, failed, there. A failed refresh keeps what is there below the error. */
export function Loaded<Data>(props: { query: Query<Data>; lines?: number; children: (data: Data) => ReactNode }) {
  const { data, error, refetch } = props.query;
  return (
    <>
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data !== undefined ? props.children(data) : error ? null : <Skeleton lines={props.lines} />}
    </>
  );
}
