import type { ReactNode } from "react";
import { OneLine } from "./visible-text.tsx";

export function PageFrame(props: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  return (
    <div className={props.className === undefined ? "stack page" : `stack page ${props.className}`}>
      <header className="page-head">
        <div>
          <h1>
            <OneLine text={props.title} />
          </h1>
          {props.lead ? <p>{props.lead}</p> : null}
        </div>
        {props.actions ? <div className="row">{props.actions}</div> : null}
      </header>
      {props.children}
    </div>
  );
}
