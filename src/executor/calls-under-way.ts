import type { GateCall } from "./gate-call.ts";

/** The calls that were taken and not answered yet. A linked list: a set would rehash itself under the load of every call. */
export class ActiveCalls {
  #last: GateCall | undefined;

  add(call: GateCall): void {
    call.previous = this.#last;
    if (this.#last) this.#last.next = call;
    this.#last = call;
  }

  remove(call: GateCall): void {
    if (call.previous) call.previous.next = call.next;
    if (call.next) call.next.previous = call.previous;
    else if (this.#last === call) this.#last = call.previous;
    call.previous = undefined;
    call.next = undefined;
  }

  *[Symbol.iterator](): Generator<GateCall> {
    for (let call = this.#last; call;) {
      // Read first: whoever is given the call may remove it.
      const { previous } = call;
      yield call;
      call = previous;
    }
  }
}
