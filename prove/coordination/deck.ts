import type { Random } from './random.ts';

/** Every item comes once, in an order of the dice, before chance alone decides. */
export class Deck<Item extends string | object> {
  readonly #choose: () => Item;
  readonly #due: Item[];

  constructor(
    items: readonly [Item, ...Item[]],
    random: Random,
    choose: () => Item = () => random.pick(items),
  ) {
    this.#due = random.shuffle(items);
    this.#choose = choose;
  }

  /** Has every item come? */
  get isThrough(): boolean {
    return this.#due.length === 0;
  }

  draw(): Item {
    return this.#due.shift() ?? this.#choose();
  }
}
