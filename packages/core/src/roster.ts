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
