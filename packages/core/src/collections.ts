/**
 * What is open at the moment, with quick coming and going. A `Set` makes a new table every few changes,
 * and each old table keeps the next one and all its members alive until a full garbage collection: with
 * members that hold on to a whole call, that costs more than the calls themselves.
 */
export class Roster<Member> {
  readonly #members: (Member | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#members.length - this.#free.length;
  }

  /** Returns the place to give back. */
  add(member: Member): number {
    const place = this.#free.pop() ?? this.#members.length;
    this.#members[place] = member;
    return place;
  }

  /** Only once for each place. */
  remove(place: number): void {
    this.#members[place] = undefined;
    this.#free.push(place);
  }

  /** Those that are there now, whatever becomes of them meanwhile. */
  members(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }
}

/**
 * Keeps at least as many values as it is asked to, those that were used last, and never more than
 * twice as many. Two generations instead of one exact order: using a value that was used lately
 * changes nothing, so looking one up costs no more than in any map.
 */
export class RecentMap<Value> {
  readonly #size: number;
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    if (this.#recent.size >= this.#size && !this.#recent.has(key)) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }

  delete(key: string): void {
    this.#recent.delete(key);
    this.#older.delete(key);
  }
}
