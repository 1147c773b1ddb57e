import type { ReactNode } from "react";

export function PageFrame(props: { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{props.title}</h1>
          {props.lead ? <p>{props.lead}</p> : null}
        </div>
        {props.actions ? <div className="row">{props.actions}</div> : null}
      </header>
      {props.children}
    </div>
  );
}
