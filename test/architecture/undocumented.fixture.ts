export interface Bare {
  value: string;
}

/** Documented. */
export type Shape = {
  /** Documented. */
  name: string;
  side: number;
};

/** Documented. */
export class Machine {
  #speed = 0;

  constructor(
    readonly maker: string,
    private readonly model: string,
    /** Documented. */
    readonly year: number,
  ) {}

  /** Documented. */
  start(): void;
  start(speed: number): void;
  start(speed = 1): void {
    this.#speed = speed;
  }

  stop(): void {
    this.#speed = 0;
  }

  /** Documented. */
  get speed(): number {
    return this.#speed;
  }

  private tune(): void {
    this.#speed += this.model.length;
  }

  /** Documented. */
  readonly tuned = this.tune();
}
