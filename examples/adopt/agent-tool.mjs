// A tool whose code takes the call's id first.
import { createHaft } from "haft";
import { Type } from "typebox";

const send = {
  name: "send",
  label: "Send",
  description: "Sends a mail",
  parameters: Type.Object({ to: Type.String() }),
  needsApproval: false, // without it, each call waits for a person
  async execute(toolCallId, params, signal, onUpdate) {
    onUpdate({ content: [{ type: "text", text: "half" }] });
    return { content: [{ type: "text", text: `sent to ${params.to}` }] };
  },
};
const haft = createHaft({ tools: [send] });
const onUpdate = ({ content }) => console.log(content[0].text); //> half
console.log((await haft.execute("send", { to: "ann" }, { onUpdate })).display); //> sent to ann
